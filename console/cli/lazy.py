"""Commands that are imported when they are called, so that `parley --help` needs none of them."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

from typer._click.shell_completion import CompletionItem
from typer.core import TyperGroup
from typer.main import get_command
from typing_extensions import override

from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.console.cli.completion import completed
from parley.console.cli.overview import Lazy


class LazyGroup(TyperGroup):
    """Every command also takes the group's own options."""

    sections: ClassVar[Mapping[str, Mapping[str, Lazy]]] = {}
    shared: ClassVar[tuple[str, ...]] = ()

    def _by_name(self) -> dict[str, Lazy]:
        return {name: lazy for part in self.sections.values() for name, lazy in part.items()}

    @override
    def list_commands(self, ctx: Any) -> list[str]:
        return list(self._by_name())

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = self._by_name()
        if cmd_name not in known:
            raise BadInput(name_unknown("command", cmd_name, known))
        if ctx is not None and ctx.resilient_parsing:
            words = completed(cmd_name, known[cmd_name].module)
            if words is not None:
                return words
        command = get_command(import_module(known[cmd_name].module).app)
        command.name = cmd_name
        self._share_options(command)
        return command

    @override
    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The commands as they stand in the table: none is imported for its name."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=one.summary)
            for name, one in self._by_name().items()
            if name.startswith(incomplete)
        ]

    def _share_options(self, command: Any) -> None:
        inner = getattr(command, "commands", None)
        if inner is None:
            command.params.extend(one for one in self.params if one.name in self.shared)
        else:
            for one in inner.values():
                self._share_options(one)
