"""Where a Korean sentence invites misreading: negation, contrast, irony."""

from collections.abc import Iterator

from parley.agents.absa.korean.knowledge import knowledge
from parley.agents.absa.korean.opinions import KoreanOpinion, Scene
from parley.agents.absa.reading import Cue, CueKind, Place

_MOCKING = frozenset(("참", "얼마나", "역시", "잘도", "아주", "퍽이나", "어련히"))
_PRAISE = 2


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
    """A possibility, never a verdict: mocking praise, and a misfortune told in the same breath."""
    mocking = {unit.start for unit in scene.units if unit.lemma in _MOCKING}
    for praise in opinions:
        if praise.score < _PRAISE or not any(start < praise.end for start in mocking):
            continue
        for blame in opinions:
            if blame.score <= -_PRAISE and blame.start > praise.end:
                yield _cue(text, "IRONY", praise.start, blame.end)
                return


def _cue(text: str, kind: CueKind, start: int, end: int) -> Cue:
    return Cue(kind, Place(start, end), text[start:end])
