"""
What packages add to Parley by entry points, Parley's own parts included.

A group holds one kind of object. Entries are loaded when somebody asks for them, so that a process
imports only what it uses.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from typing_extensions import override

from parley.bus.errors import BadInput

T = TypeVar("T")


class Plugins(Mapping[str, T], Generic[T]):
    """The entries of one group by name. Raises BadInput for an entry that cannot be used."""

    def __init__(self, group: str, kind: type[T]) -> None:
        self._group = group
        self._kind = kind
        self._loaded: dict[str, T] = {}

    @override
    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = self._load(self._points[name])
        return self._loaded[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    @override
    def __len__(self) -> int:
        return len(self._points)

    @cached_property
    def _points(self) -> dict[str, EntryPoint]:
        """Sorted by name, so that every process sees the same order."""
        points: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=self._group), key=lambda one: one.name):
            known = points.setdefault(point.name, point)
            if known.value != point.value:
                raise BadInput(
                    f"two packages add {point.name!r} to {self._group}: {known.value} and"
                    f" {point.value}; uninstall one of them"
                )
        return points

    def _load(self, point: EntryPoint) -> T:
        where = f"entry point {point.name!r} of {self._group} ({point.value})"
        try:
            found = point.load()
        except (ImportError, AttributeError) as error:
            raise BadInput(f"{where} cannot be loaded: {error}") from error
        if not isinstance(found, self._kind):
            raise BadInput(
                f"{where} should be a {self._kind.__name__}, not a {type(found).__name__}"
            )
        return found
