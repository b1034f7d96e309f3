"""
Results of pure functions, kept for as long as they are likely to be asked for again.

A flow decides several times on the same facts. Facts never change and live as long as the state
that holds them, so that "the same arguments" means the same objects: comparing them costs nothing,
however large they are.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Result = TypeVar("Result")

# Debates that are decided on in turns.
DEBATES_AT_ONCE = 512


class Memo(Generic[Result]):
    def __init__(self, size: int = DEBATES_AT_ONCE) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, tuple[tuple[object, ...], Result]] = OrderedDict()

    def of(self, arguments: tuple[object, ...], compute: Callable[[], Result]) -> Result:
        """What was computed of these very objects; they are kept alive, so that none is mistaken."""
        found = self._kept.get(tuple(map(id, arguments)))
        return found[1] if found is not None else self.keep(arguments, compute())

    def kept(self, *arguments: object) -> Result | None:
        found = self._kept.get(tuple(map(id, arguments)))
        return found[1] if found is not None else None

    def keep(self, arguments: tuple[object, ...], result: Result) -> Result:
        self._kept[tuple(map(id, arguments))] = (arguments, result)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return result
