from collections import Counter
from collections.abc import Mapping

from parley.bus.subjects import PARTITIONS
from parley.coordinator.service.membership import CLAIM_S, SILENCE_S, Beacon, Membership

EVERY = frozenset(range(PARTITIONS))


class Team:
    """Members that hear each other; each reads what falls to it as soon as it is told."""

    def __init__(self, *names: str, protocols: Mapping[str, tuple[str, ...]] | None = None) -> None:
        protocols = protocols or {}
        self.members = {name: Membership(name, protocols.get(name, ())) for name in names}
        self.reads: dict[str, frozenset[int]] = dict.fromkeys(names, frozenset())
        for _ in range(3):
            self.beat(0.0)

    def beat(self, now: float, *silent: str, reads_nothing: frozenset[str] = frozenset()) -> None:
        for name in self.members.keys() - set(silent):
            member = self.members[name]
            read = () if name in reads_nothing else tuple(sorted(self.reads[name]))
            for other in self.members.values():
                other.hear(Beacon(name=name, reads=read, protocols=member.protocols), now)
        for name, member in self.members.items():
            member.forget_silent(now)
            self.reads[name] = member.partitions(self.reads[name], now)

    def owners(self) -> dict[int, str]:
        assert sum(map(len, self.reads.values())) == PARTITIONS
        return {one: name for name, read in self.reads.items() for one in read}


def test_each_partition_has_one_reader_and_the_load_is_shared() -> None:
    for size in (1, 2, 4, 8):
        counts = Counter(Team(*(f"c{n}" for n in range(size))).owners().values())
        assert len(counts) == size
        assert min(counts.values()) >= PARTITIONS // size // 4


def test_a_death_moves_only_the_partitions_of_the_dead() -> None:
    before, after = Team("a", "b", "c").owners(), Team("a", "b").owners()
    assert all(after[one] == owner for one, owner in before.items() if owner != "c")


def test_one_who_is_silent_is_taken_for_dead_and_one_who_leaves_at_once() -> None:
    peers = Membership("a")
    assert peers.hear(Beacon(name="b"), now=0.0)
    assert not peers.hear(Beacon(name="b"), now=1.0)
    assert not peers.forget_silent(now=1.0 + SILENCE_S)
    assert peers.forget_silent(now=1.1 + SILENCE_S)
    assert peers.living == ("a",)
    assert peers.hear(Beacon(name="b"), now=5.0)
    assert peers.hear(Beacon(name="b", reads=(1,)), now=5.1)
    assert peers.hear(Beacon(name="b", leaving=True), now=5.2)
    assert peers.partitions((), now=5.2) == EVERY


def test_what_is_handed_over_is_held_until_it_is_read_there() -> None:
    peers = Membership("a")
    assert peers.partitions((), 0.0) == EVERY
    peers.hear(Beacon(name="b"), 0.0)
    assert peers.partitions(EVERY, 0.0) == EVERY
    share = EVERY - peers.partitions((), 0.0)
    assert len(share) > PARTITIONS // 4
    one, *rest = sorted(share)
    peers.hear(Beacon(name="b", reads=(one,)), 0.1)
    assert peers.partitions(EVERY, 0.1) == EVERY - {one}
    peers.hear(Beacon(name="b", reads=tuple(rest)), 0.2)
    assert EVERY - peers.partitions(EVERY - {one}, 0.2) == share


def test_who_lives_and_does_not_read_is_passed_over_and_gets_its_share_back() -> None:
    team = Team("a", "b", "c")
    before = team.owners()
    idle, now = frozenset({"c"}), 0.0
    while now < CLAIM_S + 1:
        now += 0.5
        team.beat(now, reads_nothing=idle)
    left = team.reads["a"] | team.reads["b"]
    assert left == EVERY
    assert not team.reads["a"] & team.reads["b"]
    for _ in range(3):
        now += 0.5
        team.beat(now)
    assert team.owners() == before


def test_partitions_are_shared_by_those_who_have_the_same_protocols() -> None:
    """Whoever lacks a protocol cannot read for those who have it."""
    protocols = {
        "old": ("verdicts",),
        "new": ("auction", "verdicts"),
        "too": ("auction", "verdicts"),
    }
    team = Team("old", "new", "too", protocols=protocols)
    assert team.reads["old"] == EVERY
    assert team.reads["new"] | team.reads["too"] == EVERY
    assert not team.reads["new"] & team.reads["too"]
