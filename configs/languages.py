"""Pattern files, one per language: `languages/{code}.yaml`."""

import re
from functools import cache
from importlib.resources import files

import yaml

from parley.bus.contracts.absa.params import LanguagePatterns

FALLBACK = "en"
_CODE = re.compile(r"[a-z]{2,3}")


@cache
def language_patterns(language_code: str) -> LanguagePatterns:
    """The patterns of a language (`ko`, `ko-KR`); English stands in for one without a file."""
    code = re.split(r"[-_]", language_code.strip().lower())[0]
    folder = files("parley.configs") / "languages"
    known = _CODE.fullmatch(code) and (folder / f"{code}.yaml").is_file()
    text = (folder / f"{code if known else FALLBACK}.yaml").read_text(encoding="utf-8")
    return LanguagePatterns.model_validate(yaml.safe_load(text))
