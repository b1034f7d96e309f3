import pytest

from parley.bus.metrics import BUCKETS, Metric, Metrics, exposition

TURNS = Metric("turns_total", "Turns.", ("persona", "kind"))
SECONDS = Metric("turn_seconds", "Seconds.", ("persona",), seconds=True)
UP = Metric("up", "Up.", gauge=True)


def test_counters_of_several_tallies_are_added_up() -> None:
    one, other = Metrics(), Metrics()
    one.add(TURNS, "noise", "reply")
    one.add(TURNS, "noise", "reply")
    other.add(TURNS, "noise", "reply")
    other.add(TURNS, "spatial", "failure")
    other.put(UP, 1.0)
    assert exposition([one, other]).splitlines() == [
        "# HELP turns_total Turns.",
        "# TYPE turns_total counter",
        'turns_total{persona="noise",kind="reply"} 3',
        'turns_total{persona="spatial",kind="failure"} 1',
        "# HELP up Up.",
        "# TYPE up gauge",
        "up 1",
    ]
    assert one.total(TURNS) == 2
    assert one.total(UP) == 0


def test_a_histogram_counts_up_to_each_bound() -> None:
    metrics = Metrics()
    for seconds in (0.001, BUCKETS[0], 0.3, 1000.0):
        metrics.observe(SECONDS, seconds, "noise")
    lines = exposition([metrics, metrics]).splitlines()
    assert 'turn_seconds_bucket{persona="noise",le="0.005"} 4' in lines
    assert 'turn_seconds_bucket{persona="noise",le="0.5"} 6' in lines
    assert 'turn_seconds_bucket{persona="noise",le="180.0"} 6' in lines
    assert 'turn_seconds_bucket{persona="noise",le="+Inf"} 8' in lines
    assert 'turn_seconds_count{persona="noise"} 8' in lines
    assert 'turn_seconds_sum{persona="noise"} 2000.612' in lines


@pytest.mark.parametrize(
    ("text", "shown"), [('a"b', r"a\"b"), ("a\\b", r"a\\b"), ("a\nb", r"a\nb")]
)
def test_labels_cannot_break_out(text: str, shown: str) -> None:
    metrics = Metrics()
    metrics.add(TURNS, text, "x")
    assert f'persona="{shown}"' in exposition([metrics])
