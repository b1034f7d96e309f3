"""Where a Korean sentence invites misreading: negation, contrast, irony."""

from collections.abc import Iterator

from parley.agents.absa import lexicon
from parley.agents.absa.korean.knowledge import knowledge
from parley.agents.absa.korean.opinions import KoreanOpinion, Scene
from parley.agents.absa.reading import Cue, CueKind, Place

_PRAISE = 2
# How many mocking turns of phrase make praise beside harm suspicious.
_ENOUGH_MOCKERY = 2


def find_cues(text: str, scene: Scene, opinions: list[KoreanOpinion]) -> tuple[Cue, ...]:
    return (*_negations(text, opinions), *_contrasts(text, scene), *_ironies(text, scene, opinions))


def _negations(text: str, opinions: list[KoreanOpinion]) -> Iterator[Cue]:
    for opinion in opinions:
        if opinion.negated or opinion.doubly:
            yield _cue(text, "NEGATION", opinion.start, opinion.end)


def _contrasts(text: str, scene: Scene) -> Iterator[Cue]:
    units = scene.units
    for clause in scene.clauses:
        if clause.joint == "contrast":
            yield _cue(text, "CONTRAST", units[clause.last].start, units[clause.last].end)
    for unit in units:
        if unit.kind == "adverb" and unit.lemma in knowledge().contrast_adverbs:
            yield _cue(text, "CONTRAST", unit.start, unit.end)


def _ironies(text: str, scene: Scene, opinions: list[KoreanOpinion]) -> Iterator[Cue]:
    """A possibility, never a verdict: praise in a mocking turn, and a misfortune in the same breath."""
    praise = [one for one in opinions if one.score >= _PRAISE and not one.doubly]
    blame = [Place(one.start, one.end) for one in opinions if one.score <= -_PRAISE]
    harm = [*blame, *(place for place, score in find_events(text) if score < 0)]
    if not praise or not harm or any(clause.joint == "contrast" for clause in scene.clauses):
        return
    mocking = sum(
        pattern.search(text) is not None for pattern, _ in lexicon.turns("turns_ko.json", "mock")
    )
    if mocking >= _ENOUGH_MOCKERY:
        places = [Place(one.start, one.end) for one in praise] + harm
        yield _cue(text, "IRONY", min(p.start for p in places), max(p.end for p in places))


def find_events(text: str) -> list[tuple[Place, int]]:
    """What happened, as told, and whether it speaks for or against what it happened with."""
    return [
        (Place(match.start(), match.end()), score)
        for pattern, score in lexicon.turns("turns_ko.json", "event")
        for match in pattern.finditer(text)
    ]


def _cue(text: str, kind: CueKind, start: int, end: int) -> Cue:
    return Cue(kind, Place(start, end), text[start:end])
