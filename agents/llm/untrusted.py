"""
Text that somebody else wrote, marked so that a model can tell it from its instructions.

The fence around a text carries a digest of it: a text that wanted to close its own fence would
have to contain its own digest. It is spelt in letters, which models read in fewer pieces than digits.
"""

import hashlib
import re
import string

# Colours, cursor moves, texts that run backwards and letters that no reader sees hide what a reader
# is shown.
_CONTROLS = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff]"
)
_DIGEST_BYTES = 8
_LETTERS = string.ascii_lowercase
# As many as eight bytes need.
_MARK_LETTERS = 14


def plain(text: str) -> str:
    """Without anything that is not text; half a surrogate pair cannot travel either."""
    kept = _CONTROLS.sub("", text.replace("\r\n", "\n"))
    return kept.encode("utf-8", "replace").decode("utf-8")


def fenced(source: str, text: str) -> str:
    """`source` is ours, the text is theirs."""
    body = plain(text)
    mark = _mark(body)
    return f'<untrusted from="{source}" mark="{mark}">\n{body}\n</untrusted mark="{mark}">'


def _mark(body: str) -> str:
    left = int.from_bytes(hashlib.sha256(body.encode()).digest()[:_DIGEST_BYTES])
    letters = []
    for _ in range(_MARK_LETTERS):
        left, place = divmod(left, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "".join(letters)
