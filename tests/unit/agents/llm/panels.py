"""One request of every kind, but for single verdicts, with peers who say a text."""

from parley.agents.brain import Task
from parley.agents.llm.absa.questions import AbsaQuestions
from parley.agents.llm.deliberation.questions import DeliberationQuestions
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.bus.contracts.absa.debate import (
    DebatePersona,
    DebateSummary,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    SharedContext,
)
from parley.bus.contracts.absa.requests import (
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.review import ReviewContext
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AteOutput,
    AtsaOutput,
    ValidatorOutput,
)
from parley.bus.contracts.deliberation.content import (
    AxesRequest,
    DeliberateRequest,
    ExploredAxis,
    ForceRequest,
    Proposal,
    RegimeReason,
    ScoreRequest,
    SenseRequest,
    Spoken,
    SummaryRequest,
)
from parley.bus.contracts.deliberation.regimes import Candidate, Theta
from parley.bus.contracts.panel import DebateInput, Persona
from parley.bus.contracts.verdicts.content import (
    FollowUp,
    Localization,
    ManagerDecision,
    ReportRequest,
    Standing,
)
from parley.bus.subjects import DebateRef
from tests.model_minds import ENGLISH
from tests.unit.agents.llm.asking import BRIEF
from tests.unit.agents.llm.asking import task as verdict_task

QUESTIONS = (AbsaQuestions(), DeliberationQuestions(), VerdictQuestions())
PHOTO = "a photograph"
QUESTION = "Should the library open at night?"
DEBATERS = (Persona(name="critic", stance="con"), Persona(name="empath", stance="pro"))
PERSONA = DebatePersona(name="EPM", role="mapper", goal="evidence only", stance="neutral")
CANDIDATES = ("daily", "weekly", "never")


def absa_requests(said: str, text: str = ENGLISH, language: str = "en"):
    """By the persona that is asked and what it is asked; `said` is what Stage 1 and peers wrote."""
    ate = AteOutput(aspects=(AspectItem(term="food", rationale=said), AspectItem(term="service")))
    atsa = AtsaOutput(
        aspect_sentiments=(
            AspectSentiment(aspect_ref="food", polarity="neutral", confidence=0.4),
            AspectSentiment(aspect_ref="service", polarity="negative", evidence=said),
        )
    )
    context = SharedContext(
        text=text,
        stage1_aspects=ate.aspects,
        stage1_aspect_sentiments=atsa.aspect_sentiments,
    )
    edit = ProposedEdit(op="drop_tuple", target=EditTarget(aspect_ref=said), evidence=said)
    turns = (
        DebateTurn(speaker="TAN", agent="TAN", message=said, stance="con", key_points=(said,)),
        DebateTurn(agent="CJ", proposed_edits=(edit,)),
    )
    common = {"language_code": language}
    debate = common | {"context": context, "persona": PERSONA, "round": 1, "history": turns}
    judge = common | {"context": context, "turns": turns}
    review = ReviewRequest(
        **common,
        ate=ate,
        atsa=atsa,
        validator=ValidatorOutput(),
        review_context=ReviewContext(summary=DebateSummary(rationale=said)),
    )
    return {
        "s1-ate": ("ate", AteRequest(**common)),
        "s1-atsa": ("atsa", AtsaRequest(**common, ate=ate)),
        "s1-validator": ("validator", ValidationRequest(**common, ate=ate, atsa=atsa)),
        "turn-v1": ("critic", DebateTurnRequest(protocol="v1", key="critic", **debate)),
        "turn-v2": ("epm", DebateTurnRequest(protocol="v2", key="epm", **debate)),
        "judge-v1": ("judge", JudgeRequest(protocol="v1", **judge)),
        "judge-v2": ("judge", JudgeRequest(protocol="v2", **judge)),
        "s2-ate": ("ate", review),
        "s2-atsa": ("atsa", review),
        "s2-validator": ("validator", review),
    }


def deliberation_requests(said: str):
    spoken = tuple(
        Spoken(agent=one.name, position=said, message=said, arguments=(said,)) for one in DEBATERS
    )
    known = {"theta": Theta.L3, "iteration": 2}
    axes = ("yearly cost", said[:200])
    proposals = tuple(Proposal(id=one, text=said) for one in CANDIDATES)
    scored = tuple(Candidate(id=one, score=0.5, reason=said) for one in CANDIDATES)
    think = DeliberateRequest(
        **known,
        personas=DEBATERS,
        conclusion=said,
        axes=axes,
        forced_perspective=said,
        decisive_axis=said,
        last_turns=spoken,
    )
    propose = think.model_copy(update={"theta": Theta.L2, "candidates": proposals[:1]})
    return {
        "think": ("critic", think),
        "propose": ("critic", propose),
        "score": (
            "critic",
            ScoreRequest(**known, personas=DEBATERS, axes=axes, candidates=proposals),
        ),
        "axes": (
            "facilitator",
            AxesRequest(**known, axes=axes, conclusion=said, turns=spoken, candidates=scored),
        ),
        "force": (
            "facilitator",
            ForceRequest(**known, axes=axes, d_current=2, d_min=6, conclusion=said),
        ),
        "sense": (
            "facilitator",
            SenseRequest(**known, axes=axes, conclusion=said, unexplored=(said,)),
        ),
        "summarise": (
            "judge",
            SummaryRequest(
                theta=Theta.L3,
                reason=RegimeReason.MAX_ITERATIONS,
                conclusion=said,
                axes=(ExploredAxis(name=said[:200], iteration=1),),
                unexplored=(said,),
                turns=spoken,
                candidates=scored,
            ),
        ),
    }


def forensic_requests(said: str):
    reason = "high_confidence_deadlock"
    found = FollowUp(
        agent="spatial",
        action="localize_manipulation",
        reason=reason,
        answer=Localization(summary=said),
    )
    decision = ManagerDecision(
        final_verdict="manipulated",
        confidence=0.7,
        termination_reason=reason,
        rationale=f"noise says authentic (90% confident, key evidence: {said}).",
        follow_ups=(found,),
    )
    standing = (
        Standing(
            agent="noise",
            verdict="authentic",
            confidence=0.9,
            reasoning=said,
            evidence={"note": said},
            arguments=(said,),
        ),
        Standing(agent="spatial", verdict="manipulated", confidence=0.9, reasoning="a hard edge"),
    )
    return {"report": ("manager", ReportRequest(brief=BRIEF, decision=decision, standing=standing))}


def task(panel: str, persona: str, request, text: str) -> Task:
    return verdict_task(
        request,
        ref=DebateRef(panel, "d1"),
        persona=persona,
        input=DebateInput(text=text),
    )


def family_of(request):
    return next(one for one in QUESTIONS if one.knows(request))
