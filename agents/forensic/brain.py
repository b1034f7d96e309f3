"""
The forensic personas by rule: each measures the image with its own skill and argues from that.

What touches the image runs in threads, so that the agent goes on telling the server that it is
alive; the untrusted bytes themselves are decoded in a subprocess. An image that several debates or
several personas of one process look at is decoded once.
"""

import os
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import anyio.to_thread
import cv2

from parley.agents.brain import Answer, BrainFailure, FetchBlob, Task
from parley.agents.forensic.argue import localize, open_debate, reply
from parley.agents.forensic.calibration import assess, shipped
from parley.agents.forensic.evidence import Evidence, Findings, Skill
from parley.agents.forensic.image import Decoder, ImageLimits, Picture, check_length
from parley.agents.forensic.korean import Phrase, phrases_in
from parley.agents.forensic.noise import match_camera
from parley.agents.forensic.skills import ANALYSES
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Content, FailureReason
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import (
    LocalizeRequest,
    OpeningRequest,
    RoundRequest,
    Standing,
    VerdictRequest,
)
from parley.bus.errors import BadInput

IMAGE_BLOB = "image"
# Photographs taken by the camera in question travel as ref-1, ref-2, …
REFERENCE_PREFIX = "ref-"

SKILLS = {skill.value: skill for skill in Skill} | {"fatformer": Skill.WATERMARK}

# A decoded picture takes at most 6 MB (two million pixels), evidence some kilobytes.
_PICTURES_KEPT = 8
_EVIDENCE_KEPT = 512

Key = TypeVar("Key")
Kept = TypeVar("Kept")
Done = TypeVar("Done")


class Recent(Generic[Key, Kept]):
    """The last few things made; the one longest unused makes room."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[Key, Kept] = {}

    def get(self, key: Key) -> Kept | None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._kept[key] = kept
        return kept

    def put(self, key: Key, kept: Kept) -> None:
        while len(self._kept) >= self._size:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = kept


class ForensicBrain:
    name = "rule"

    def __init__(self, limits: ImageLimits | None = None) -> None:
        self._limits = limits or ImageLimits()
        self._decoder = Decoder(self._limits)
        weakref.finalize(self, self._decoder.close)
        self._decoding = anyio.Lock()
        self._threads = anyio.CapacityLimiter(os.cpu_count() or 1)
        self._pictures: Recent[str, Picture] = Recent(_PICTURES_KEPT)
        self._evidence: Recent[tuple[Skill, tuple[str, ...]], Evidence] = Recent(_EVIDENCE_KEPT)
        # The personas already run side by side; threads inside each would only fight over cores.
        cv2.setNumThreads(1)

    async def speak(self, task: Task) -> Answer:
        skill = SKILLS.get(task.persona)
        if skill is None:
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST,
                f"{task.persona} measures nothing; the rules know {', '.join(SKILLS)}",
            )
        try:
            evidence = await self._evidence_of(task.input, skill, task.fetch)
        except BadInput as error:
            raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, str(error)) from error
        return Answer(answer(evidence, task))

    async def _evidence_of(self, given: DebateInput, skill: Skill, fetch: FetchBlob) -> Evidence:
        image = given.blobs.get(IMAGE_BLOB)
        if image is None:
            raise BadInput("the debate carries no image")
        references = _references(given) if skill is Skill.NOISE else ()
        key = skill, tuple(ref.sha256 for ref in (image, *references))
        evidence = self._evidence.get(key)
        if evidence is None:
            picture = await self._picture(image, fetch)
            findings = await self._in_thread(lambda: ANALYSES[skill](picture))
            if references:
                findings = await self._matched(findings, picture, references, fetch)
            evidence = assess(findings, shipped())
            self._evidence.put(key, evidence)
        return evidence

    async def _matched(
        self,
        findings: Findings,
        picture: Picture,
        references: tuple[BlobRef, ...],
        fetch: FetchBlob,
    ) -> Findings:
        """References that do not fit the image are no reason to say nothing about it."""
        try:
            known = [await self._picture(ref, fetch) for ref in references]
            return await self._in_thread(lambda: match_camera(findings, picture, known))
        except BadInput as error:
            said = f"the reference photographs could not be used: {error}"
            return findings.model_copy(update={"limitations": (*findings.limitations, said)})

    async def _picture(self, ref: BlobRef, fetch: FetchBlob) -> Picture:
        check_length(ref.size, self._limits)
        async with self._decoding:
            picture = self._pictures.get(ref.sha256)
            if picture is None:
                data = await fetch(ref)
                picture = await self._in_thread(lambda: self._decoder.decode(data))
                self._pictures.put(ref.sha256, picture)
            return picture

    async def _in_thread(self, work: Callable[[], Done]) -> Done:
        return await anyio.to_thread.run_sync(work, limiter=self._threads)


def answer(evidence: Evidence, task: Task) -> Content:
    match task.request:
        case OpeningRequest() as request:
            return open_debate(evidence, _told(request))
        case RoundRequest() as request:
            own = _own(evidence, task.persona, request)
            return reply(evidence, own, request, shipped(), _told(request))
        case LocalizeRequest() as request:
            return localize(evidence, _told(request))
        case _:
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST,
                f"a look at an image answers no {task.request.kind}",
            )


def _told(request: VerdictRequest) -> Phrase:
    return phrases_in(request.briefed().language)


def _own(evidence: Evidence, persona: str, request: RoundRequest) -> Standing:
    """Who missed the opening starts from what it would have said there."""
    for standing in request.standing:
        if standing.agent == persona:
            return standing
    opening = open_debate(evidence, _told(request))
    return Standing(agent=persona, **opening.model_dump(exclude={"kind"}))


def _references(given: DebateInput) -> tuple[BlobRef, ...]:
    return tuple(
        ref for name, ref in sorted(given.blobs.items()) if name.startswith(REFERENCE_PREFIX)
    )
