"""Everything in deploy/ that can be checked without a container engine."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from parley.bus.embedded import find_binary
from parley.bus.jetstream.accounts import CORE, accounts, save
from parley.configs.panels import panel_path, read_panel
from tests.bus.worlds import NatsServer
from tests.deploy.cluster import write_routes
from tests.deploy.guarded import COORDINATOR, DEPLOY, LAYOUT, PANELS, WEB, monitored, somebody

FORENSIC, _ = read_panel(panel_path("forensic"))
ROSTERS = {
    name: read_panel(panel_path(name))[0].everybody for name in ("forensic", "absa", "deliberation")
}
SEATS = [f"{panel}-{name}" for panel, roster in ROSTERS.items() for name in roster]
PROJECT = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
VERSION = PROJECT["project"]["version"]
IMAGES = {
    "forensic": f"parley-forensic:{VERSION}",
    "absa": f"parley-absa:{VERSION}",
    "deliberation": f"parley-coordinator:{VERSION}",
}
# A tag that names one release, down to its last number.
EXACT = re.compile(r"[a-z-]+:[0-9]+\.[0-9]+\.[0-9]+(-[a-z-]+)?")
EXTRAS = set(PROJECT["project"]["optional-dependencies"])
KUBERNETES = DEPLOY / "kubernetes"
COMPOSE_FILES = ("compose.yaml", "compose.model.yaml", "compose.cluster.yaml")
MANIFESTS = sorted(path for path in KUBERNETES.rglob("*.yaml") if path.name != "kustomization.yaml")
MODEL_DEADLINE_S = 180
RENDERED = (*ROSTERS, "web", "deliberation-model", "forensic-streams")
A_NATS_SERVER = {"key": "app.kubernetes.io/name", "operator": "In", "values": ["nats"]}
COUNTED_WITHIN_S = 30.0
KEDA_FIELDS = {
    "natsServerMonitoringEndpoint",
    "account",
    "stream",
    "consumer",
    "lagThreshold",
    "activationLagThreshold",
}


def run(*command: str | Path, cwd: Path = DEPLOY) -> str:
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, check=False, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def documents(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


@pytest.mark.parametrize("name", ["one-node", "cluster-1", "cluster-2", "cluster-3"])
def test_nats_takes_every_configuration(tmp_path: Path, name: str) -> None:
    for path in (DEPLOY / "nats").glob("*.conf"):
        (tmp_path / path.name).write_text(path.read_text().replace("/etc/nats", str(tmp_path)))
    save(accounts({"forensic": FORENSIC.everybody}, LAYOUT), tmp_path)
    write_routes(tmp_path, ("nats-1:6222", "nats-2:6222", "nats-3:6222"))
    run(find_binary(), "-t", "-c", tmp_path / f"{name}.conf", cwd=tmp_path)


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_the_compose_files_follow_their_specification(name: str) -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    run(*check, DEPLOY / name)


def test_the_compose_file_has_a_service_and_a_secret_for_every_persona() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    assert set(services) == {"nats", "infra", "coordinator", "web", *SEATS}
    assert not [name for name, service in services.items() if "container_name" in service]
    for seat in SEATS:
        panel, _, _ = seat.partition("-")
        assert services[seat]["command"] == ["agent", seat.replace("-", "/", 1)]
        assert services[seat].get("profiles", ["forensic"]) == [panel]
        assert services[seat]["secrets"] == [{"source": seat, "target": "login"}]
        assert compose["secrets"][seat] == {"file": f"./secrets/{seat}.nk"}
        assert int(services[seat]["stop_grace_period"].removesuffix("s")) > MODEL_DEADLINE_S


def test_the_models_file_lays_a_model_over_every_persona_and_nobody_else() -> None:
    services = yaml.safe_load((DEPLOY / "compose.model.yaml").read_text())["services"]
    assert set(services) == set(SEATS)
    for seat, service in services.items():
        assert service["command"] == ["agent", seat.replace("-", "/", 1), "--brain", "model"]
        assert service["env_file"] == ["./secrets/model.env"]
        assert set(service["build"]["args"]["EXTRAS"].split(",")) <= EXTRAS
        assert "model" in service["build"]["args"]["EXTRAS"].split(",")


def started(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The services that a file starts, without those that it only changes."""
    for name, service in yaml.safe_load((DEPLOY / file).read_text())["services"].items():
        if "image" in service:
            yield name, service


def test_no_container_writes_to_its_root_or_has_a_right_to_spare() -> None:
    for name, service in (*started("compose.yaml"), *started("compose.cluster.yaml")):
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        reads = ["DAC_READ_SEARCH"] if name.startswith("nats") else []
        assert service.get("cap_add", []) == reads, name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "privileged" not in service, name


def test_every_container_has_a_limit_on_its_memory() -> None:
    for name, service in (*started("compose.yaml"), *started("compose.cluster.yaml")):
        assert service["mem_limit"], name
    for name, pod in pods():
        for container in pod["containers"]:
            assert container["resources"]["limits"]["memory"], name


def test_every_image_is_pinned_to_a_release() -> None:
    named = [
        service["image"]
        for file in COMPOSE_FILES
        for service in yaml.safe_load((DEPLOY / file).read_text())["services"].values()
        if "image" in service
    ]
    named += [container["image"] for _, pod in pods() for container in pod["containers"]]
    dockerfile = (DEPLOY / "Dockerfile").read_text().splitlines()
    named += [line.split()[1] for line in dockerfile if line.startswith("FROM")]
    named += re.findall(
        r"parley-[a-z]+:[^ \"}]+", (KUBERNETES / "model/kustomization.yaml").read_text()
    )
    for image in named:
        assert EXACT.fullmatch(image), image
        assert not image.startswith("parley-") or image.endswith(f":{VERSION}")


def test_what_is_published_does_not_hold_the_coordinators_key() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    [login] = [one for one in compose["services"]["web"]["secrets"] if one["target"] == "login"]
    assert compose["secrets"][login["source"]] == {"file": f"./secrets/{WEB}.nk"}


def test_the_dockerfile_has_nothing_to_complain_about() -> None:
    beside_python = Path(sysconfig.get_path("scripts"))
    run(beside_python / "hadolint", DEPLOY / "Dockerfile")


def test_the_dockerfile_runs_as_nobody_special() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("FROM")] == [
        "FROM python:3.13.9-slim-trixie AS build",
        "FROM python:3.13.9-slim-trixie",
    ]
    last_user = [line for line in lines if line.startswith("USER")][-1]
    assert last_user == "USER 10001:10001"
    assert any(line.startswith("HEALTHCHECK") for line in lines)


def test_the_image_gets_everything_the_wheel_is_built_from() -> None:
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    root = DEPLOY.parent
    links = [path for path in (root / "src" / "parley").iterdir() if path.is_symlink()]
    assert links
    for link in links:
        assert f"!{link.resolve().relative_to(root)}" in kept
    named = [PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]]
    sources = PROJECT["tool"]["setuptools"]["packages"]["find"]["where"]
    for needed in ("pyproject.toml", "constraints.txt", *named, *sources):
        assert f"!{needed}" in kept
        assert (root / needed).exists()


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: str(path.relative_to(KUBERNETES)))
def test_kubernetes_takes_every_manifest(path: Path) -> None:
    for document in documents(path.read_text()):
        check(document)


@pytest.mark.parametrize("panel", ROSTERS)
def test_the_rendered_panel_is_valid_and_scales_each_persona_by_its_own_queue(panel: str) -> None:
    found = rendered(panel)
    seats = [f"{panel}-{name}" for name in ROSTERS[panel]]
    by_kind = {
        kind: {one["metadata"]["name"]: one["spec"] for one in found if one["kind"] == kind}
        for kind in ("Deployment", "ScaledObject", "PodDisruptionBudget")
    }
    agents = {f"{seat}-agent" for seat in seats}
    assert set(by_kind["Deployment"]) == {"coordinator", *agents}
    assert set(by_kind["PodDisruptionBudget"]) == {"coordinator", *agents}
    assert set(by_kind["ScaledObject"]) == agents
    for seat in seats:
        deployment = by_kind["Deployment"][f"{seat}-agent"]
        pod = deployment["template"]["spec"]
        assert pod["containers"][0]["args"] == ["agent", seat.replace("-", "/", 1)]
        assert pod["containers"][0]["image"] == IMAGES[panel]
        assert pod["volumes"][0]["secret"]["secretName"] == f"login-{seat}"
        assert pod["terminationGracePeriodSeconds"] > MODEL_DEADLINE_S
        selected = deployment["selector"]["matchLabels"]
        assert selected["app.kubernetes.io/component"] == seat
        assert (
            by_kind["PodDisruptionBudget"][f"{seat}-agent"]["selector"]["matchLabels"] == selected
        )
        scaled = by_kind["ScaledObject"][f"{seat}-agent"]
        assert scaled["scaleTargetRef"] == {"name": f"{seat}-agent"}
        [trigger] = scaled["triggers"]
        assert trigger["metadata"]["consumer"] == seat
        assert trigger["metadata"]["stream"] == LAYOUT.stream


@cache
def rendered(folder: str) -> list[dict[str, Any]]:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    found = documents(run("kubectl", "kustomize", KUBERNETES / folder))
    for document in found:
        check(document)
        assert document["metadata"]["namespace"] == "parley"
    return found


@pytest.mark.parametrize("folder", RENDERED)
def test_a_network_policy_leaves_every_pod_dns_and_nats_and_nothing_else(folder: str) -> None:
    found = rendered(folder)
    policies = [one["spec"] for one in found if one["kind"] == "NetworkPolicy"]
    for one in found:
        if one["kind"] not in {"Deployment", "Job"}:
            continue
        pod = one["spec"]["template"]
        [policy] = [each for each in policies if selects(each["podSelector"], pod)]
        [container] = pod["spec"]["containers"]
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        assert all("from" not in way for way in policy["ingress"])
        into = {port["port"] for way in policy["ingress"] for port in way["ports"]}
        listens = {port["containerPort"] for port in container.get("ports", ())}
        assert into == (listens or {8080})
        dns, nats, *more = policy["egress"]
        assert {port["port"] for port in dns["ports"]} == {53}
        assert nats == {
            "to": [{"podSelector": {"matchExpressions": [A_NATS_SERVER]}}],
            "ports": [{"port": 4222, "protocol": "TCP"}],
        }
        speaks = container["args"][-2:] == ["--brain", "model"]
        assert more == ([{"ports": [{"port": 443, "protocol": "TCP"}]}] if speaks else [])


def selects(selector: dict[str, Any], pod: dict[str, Any]) -> bool:
    labels = pod["metadata"]["labels"]
    wanted = selector.get("matchLabels", {}).items() <= labels.items()
    return wanted and all(
        labels.get(one["key"]) in one["values"] for one in selector.get("matchExpressions", ())
    )


@pytest.mark.parametrize("folder", RENDERED)
def test_no_rendered_pod_has_more_rights_than_it_needs(folder: str) -> None:
    """What the strictest of Kubernetes' pod security standards asks for, and limits and probes."""
    found = rendered(folder)
    disruptions = [one["spec"]["selector"] for one in found if one["kind"] == "PodDisruptionBudget"]
    for one in found:
        if one["kind"] not in {"Deployment", "Job"}:
            continue
        pod = one["spec"]["template"]["spec"]
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert all({"secret", "emptyDir", "name"} >= set(volume) for volume in pod["volumes"])
        [container] = pod["containers"]
        rights = container["securityContext"]
        assert "privileged" not in rights
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert container["resources"]["limits"]["memory"]
        assert EXACT.fullmatch(container["image"])
        if one["kind"] == "Deployment":
            assert {"livenessProbe", "readinessProbe"} <= set(container)
            assert (
                len([each for each in disruptions if selects(each, one["spec"]["template"])]) == 1
            )


def test_with_four_streams_keda_counts_in_all_of_them() -> None:
    found = rendered("forensic-streams")
    for one in found:
        if one["kind"] in {"Deployment", "Job"}:
            [container] = one["spec"]["template"]["spec"]["containers"]
            assert {"name": "PARLEY_NATS__STREAMS", "value": "4"} in container["env"]
    scaled = [one["spec"] for one in found if one["kind"] == "ScaledObject"]
    assert len(scaled) == len(ROSTERS["forensic"])
    for one in scaled:
        counted = [trigger["metadata"] for trigger in one["triggers"]]
        assert tuple(each["stream"] for each in counted) == replace(LAYOUT, streams=4).logs
        assert {each["consumer"] for each in counted} == {
            one["scaleTargetRef"]["name"].removesuffix("-agent")
        }


def test_the_rendered_page_has_its_own_login_and_a_way_to_it() -> None:
    found = {one["kind"]: one for one in rendered("web")}
    page, service = found["Deployment"], found["Service"]
    pod = page["spec"]["template"]
    assert pod["spec"]["volumes"][0]["secret"]["secretName"] == f"login-{WEB}"
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert service["spec"]["ports"][0]["targetPort"] in {
        port["name"] for port in pod["spec"]["containers"][0]["ports"]
    }


def test_the_rendered_models_speak_for_every_persona_and_nobody_else() -> None:
    speakers = set()
    for one in rendered("deliberation-model"):
        if one["kind"] not in {"Deployment", "Job"}:
            continue
        [container] = one["spec"]["template"]["spec"]["containers"]
        by_model = container["args"][-2:] == ["--brain", "model"]
        assert (container["image"] == f"parley-model:{VERSION}") == by_model
        assert (container.get("envFrom") == [{"secretRef": {"name": "model"}}]) == by_model
        if by_model:
            speakers.add(container["args"][1])
    assert speakers == {f"deliberation/{name}" for name in ROSTERS["deliberation"]}


def check(document: dict[str, Any]) -> None:
    """KEDA's kind is not one of Kubernetes' own: its trigger's fields are compared instead."""
    if document["kind"] != "ScaledObject":
        kubernetes_validate.validate(document, "1.32", strict=True)
        return
    assert document["apiVersion"] == "keda.sh/v1alpha1"
    for trigger in document["spec"]["triggers"]:
        assert trigger["type"] == "nats-jetstream"
        assert set(trigger["metadata"]) == KEDA_FIELDS
        assert all(isinstance(value, str) for value in trigger["metadata"].values())
        assert trigger["metadata"]["account"] == CORE


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in MANIFESTS:
        for document in documents(path.read_text()):
            if "template" in document["spec"]:
                yield document["metadata"]["name"], document["spec"]["template"]["spec"]


def test_no_pod_runs_as_root_or_writes_to_its_root() -> None:
    seen = set()
    for name, pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        seen.add(name)
    assert seen == {"infra", "coordinator", "agent", "web"}


def test_probes_ask_on_the_port_that_the_settings_name() -> None:
    for name, pod in pods():
        if name == "infra":
            continue
        [container] = pod["containers"]
        settings = {one["name"]: one["value"] for one in container["env"]}
        port = container["ports"][0]
        assert str(port["containerPort"]) == settings["PARLEY_HEALTH__PORT"]
        for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            assert container[probe]["httpGet"] == {"path": path, "port": port["name"]}


async def test_keda_finds_the_lag_of_a_queue_where_the_trigger_points(server: NatsServer) -> None:
    """Its own question to the server, with the account, stream and consumer of the trigger."""
    async with somebody(server, COORDINATOR) as core:
        for number in range(3):
            await core.ask(f"debate.0.forensic.lag{number}.ctl.ask.r1.noise", b"{}")
    lags: dict[str, int] = {}
    # The server tells its queues of a record only after it has answered for it.
    with anyio.move_on_after(COUNTED_WITHIN_S):
        while lags.get("forensic-noise") != 3:
            lags = lags_of(server)
            await anyio.sleep(0.01)
    assert set(lags) == {f"{panel}-{name}" for panel, names in PANELS.items() for name in names}
    assert (lags["forensic-noise"], lags["forensic-frequency"]) == (3, 0)


def lags_of(server: NatsServer) -> dict[str, int]:
    """By queue, as KEDA counts them."""
    [account] = monitored(server, f"jsz?acc={CORE}&consumers=true&config=true")["account_details"]
    assert account["name"] == CORE
    [log] = [one for one in account["stream_detail"] if one["name"] == LAYOUT.stream]
    return {
        one["name"]: one["num_pending"] + one["num_ack_pending"] for one in log["consumer_detail"]
    }


def test_nothing_names_a_registry_or_holds_a_secret() -> None:
    for path in DEPLOY.rglob("*"):
        if path.is_dir() or "secrets" in path.parts:
            continue
        text = path.read_text()
        assert "SU" not in [word[:2] for word in text.split() if len(word) == 58], path
        for image in [line.split()[-1] for line in text.splitlines() if " image:" in line]:
            assert "/" not in image, (path, image)
