"""A deliberation declares what a plain run over the same iterations declares."""

from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.deliberation.script import DeliberationScript
from parley.coordinator.protocols.deliberation.result import result_of
from tests.deliberations import REF, comparable, panel, play, reference, scripted
from tests.vectors_c import GO, Vector

shares = st.sampled_from([0.0, 0.05, 0.1, 0.15, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 1.0])
axes = st.lists(
    st.sampled_from(["cost", "risk", "high_risk", "ethics", "law", "time horizon", "cost risk"]),
    max_size=3,
)
candidates = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from("abcde"), "score": shares}),
    max_size=4,
    unique_by=lambda one: one["id"],
)
forcing = st.one_of(
    st.just("TRULY_SATURATED"), st.sampled_from(["law", "society"]).map(lambda name: {"axis": name})
)
iterations = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "axes": axes,
            "orthogonality": shares,
            "d_current": st.integers(0, 9),
            "delta_coverage": shares,
            "delta_sem": shares,
            "confidence": shares,
            "candidates": candidates,
            "sensitivity": st.sampled_from(["low", "medium", "high"]),
            "forcing": forcing,
            "conclusion": st.sampled_from(["lease", "buy", "buy later", "STABLE"]),
            "axes_remaining_estimate": st.integers(0, 5),
        },
    ),
    min_size=1,
    max_size=5,
)
params = st.fixed_dictionaries(
    {},
    optional={
        "cooldown": st.integers(1, 3),
        "d_min": st.integers(1, 6),
        "max_iterations": st.integers(1, 6),
        "truly_saturated_checks_sensitivity": st.booleans(),
    },
)


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(["L0", "L1", "L2", "L3", "L4"]), iterations, params)
def test_flow_and_plain_run_agree(theta, entries, overrides):
    vector = Vector("any", "", theta, tuple(entries), (GO,), params=overrides)
    script = DeliberationScript.model_validate(vector.line)
    chosen = panel(theta, **overrides)
    _, state = play(chosen, scripted(script))
    result = result_of(REF, state)
    expected = reference(vector)
    assert comparable(result.declarations) == comparable(expected.declarations)
    assert result.logical_axes == expected.records
    assert result.total_iterations <= chosen.params.max_iterations
    assert all(one.details.rule in one.justification for one in result.declarations)
    dimensions = [one.details.d_current or 0 for one in result.declarations]
    assert dimensions == sorted(dimensions)
