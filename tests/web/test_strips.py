"""Frames for many viewers: contiguous for each of them, or an honest end."""

from hypothesis import given, settings
from hypothesis import strategies as st

from parley.bus.subjects import DebateRef
from parley.console.web.timeline import Frame, Timeline

REF = DebateRef("forensic", "one")

# How many frames come, then how many viewers look.
STEPS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=30)


@settings(deadline=None, max_examples=200)
@given(steps=STEPS, most=st.integers(1, 6), after=st.integers(0, 40), gap=st.integers(1, 3))
async def test_a_viewer_gets_every_frame_in_order_or_is_told_that_it_cannot(
    steps: list[tuple[int, int]], most: int, after: int, gap: int
):
    strip = Timeline(most)
    written: list[int] = []
    got: list[int] = []
    place = None
    for count, looks in steps:
        for _ in range(count):
            number = (written[-1] if written else 0) + gap
            written.append(number)
            strip.append(Frame(number, REF, b""))
        for _ in range(looks):
            if place is None:
                if after < strip.floor:
                    return
                place = strip.place_after(after)
            frames = strip.since(place, after)
            if frames is None:
                assert strip.end - place > most
                return
            place = strip.end
            got += [one.sequence for one in frames]
            assert got == [number for number in written if number > after]


async def test_an_unlimited_strip_holds_everything():
    strip = Timeline()
    for number in range(1, 5001):
        strip.append(Frame(number, REF, b""))
    frames = strip.since(0, 0)
    assert frames is not None
    assert [one.sequence for one in frames] == list(range(1, 5001))
    assert strip.floor == 0
