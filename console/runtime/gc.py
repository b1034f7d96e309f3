"""The cyclic garbage collector in commands that work through many debates."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Objects made and not freed before a search. Facts and records hold no cycles: what a debate leaves
# behind is freed by counting, so that searching it every few hundred objects only costs time.
SELDOM = 100_000


@contextmanager
def gc_tuned() -> Iterator[None]:
    """What is loaded by now stays for good and is not searched at all."""
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(SELDOM, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
