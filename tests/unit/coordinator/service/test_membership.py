from collections import Counter

from parley.bus.subjects import DebateRef
from parley.coordinator.service.membership import SILENCE_S, Beacon, Membership

REFS = [DebateRef("forensic", f"d{number}") for number in range(300)]


def team(*names: str) -> dict[str, Membership]:
    peers = {name: Membership(name) for name in names}
    for one in peers.values():
        for name in names:
            one.hear(Beacon(name=name), now=0.0)
    return peers


def owners(peers: dict[str, Membership]) -> dict[DebateRef, str]:
    owned = {ref: [name for name, one in peers.items() if one.mine(ref)] for ref in REFS}
    assert all(len(names) == 1 for names in owned.values())
    return {ref: names[0] for ref, names in owned.items()}


def test_each_debate_has_one_first_actor_and_the_load_is_shared():
    counts = Counter(owners(team("a", "b", "c")).values())
    assert set(counts) == {"a", "b", "c"}
    assert min(counts.values()) > 60


def test_a_death_moves_only_the_debates_of_the_dead():
    before = owners(team("a", "b", "c"))
    after = owners(team("a", "b"))
    assert all(after[ref] == owner for ref, owner in before.items() if owner != "c")


def test_one_who_is_silent_is_taken_for_dead_and_one_who_leaves_at_once():
    peers = Membership("a")
    assert peers.hear(Beacon(name="b"), now=0.0)
    assert not peers.hear(Beacon(name="b"), now=1.0)
    assert not peers.forget_silent(now=1.0 + SILENCE_S)
    assert peers.forget_silent(now=1.1 + SILENCE_S)
    assert peers.living == ("a",)
    assert peers.hear(Beacon(name="b"), now=5.0)
    assert peers.hear(Beacon(name="b", leaving=True), now=5.1)
    assert all(peers.mine(ref) for ref in REFS)
