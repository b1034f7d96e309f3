from parley.bus.contracts.facts import Asked
from parley.bus.contracts.verdicts.content import Brief, VerdictRequest
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.configs.panels import resolve
from tests.debates import DEADLOCK, play


def test_every_request_carries_the_brief() -> None:
    panel = resolve("forensic", models=True).panel
    assert isinstance(panel, VerdictPanel)
    facts, _ = play(panel, DEADLOCK)
    requests = [fact.request for fact in facts if isinstance(fact, Asked)]
    assert [one.kind for one in requests] == ["opening", "round", "localize", "report"]
    for request in requests:
        assert isinstance(request, VerdictRequest)
        brief = request.briefed()
        assert brief == Brief(
            question=panel.title,
            labels=panel.labels,
            undecided=panel.undecided,
            personas=panel.personas,
        )
        assert request.brief == brief.text()
