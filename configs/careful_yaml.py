"""
YAML from people and from the bus, read so that no text can do worse than be refused.

PyYAML raises whatever its constructors happen to raise, and a few lines of aliases that refer to
aliases stand for more values than any memory holds. Here everything that is no usable YAML raises
one error, before anything is built from it.
"""

import re

import yaml

from parley.bus.errors import BadInput

# Values in one text, with every alias written out.
MOST_VALUES = 100_000
# A password that begins with *, ! or & is taken for one of these, and quoted behind the word.
_NAMED = re.compile(r"\b(alias|tag|handle|anchor)\b.*", re.DOTALL)
# A longer number, in whatever base, cannot even be named in a message.
MOST_DIGITS = 1000
_NUMBER = "tag:yaml.org,2002:int"


class Unusable(BadInput):
    """The text is no YAML, or too much of it."""


def construct(loader: yaml.SafeLoader) -> object:
    """What the loader's one document says; raises Unusable."""
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _written_out(node, {})
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        raise Unusable(place_and_problem(error)) from error
    except RecursionError as error:
        raise Unusable("it is nested too deeply") from error
    except (ValueError, LookupError, AttributeError, TypeError, ArithmeticError) as error:
        raise Unusable("a value cannot be read; put it in quotes if it is a text") from error
    finally:
        loader.dispose()


def parse_yaml(text: str | bytes, source: str) -> object:
    try:
        return construct(yaml.SafeLoader(text))
    except yaml.YAMLError as error:
        raise BadInput(f"{source}: not YAML: {place_and_problem(error)}") from error
    except Unusable as error:
        raise BadInput(f"{source}: not YAML: {error}") from error


def place_and_problem(error: yaml.YAMLError) -> str:
    """Without the text itself, which PyYAML likes to quote: it may hold a password."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "is no YAML"
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    return place + " ".join(_NAMED.sub(r"\1", str(problem)).split())


def _written_out(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node stands for; 0 marks one that is being counted."""
    if id(node) in known:
        if known[id(node)] == 0:
            raise Unusable("an alias refers to what it is part of")
        return known[id(node)]
    known[id(node)] = 0
    if node.tag == _NUMBER and len(node.value) > MOST_DIGITS:
        raise Unusable(f"a number has more than {MOST_DIGITS:,} digits")
    parts = node.value if isinstance(node, yaml.SequenceNode | yaml.MappingNode) else ()
    count = 1
    for part in parts:
        for one in part if isinstance(part, tuple) else (part,):
            count += _written_out(one, known)
            if count > MOST_VALUES:
                raise Unusable(f"it stands for more than {MOST_VALUES:,} values")
    known[id(node)] = count
    return count
