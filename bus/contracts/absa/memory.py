"""Episodic memory: what past debates taught, offered to a later one as advice and never as a label."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from parley.bus.contracts.absa.sentiment import Polarity
from parley.bus.contracts.base import Contract, Share, Whole, Word

Structure = Literal["negation", "contrast", "none"]
LengthBucket = Literal["short", "medium", "long"]
Outcome = Literal["improved", "failed", "harmful", "risk_worsened", "unknown"]

StoreReason = Literal["failure_asset", "utility", "novelty"]


class MemoryCondition(Word):
    """What a run may do with the memory. C1 is off; C2_silent is also known as C3."""

    C1 = "C1"
    C2 = "C2"
    C2_SILENT = "C2_silent"
    C2_EVAL_ONLY = "C2_eval_only"

    @property
    def retrieves(self) -> bool:
        return self is not MemoryCondition.C1

    @property
    def shows(self) -> bool:
        return self is MemoryCondition.C2

    @property
    def writes(self) -> bool:
        return self in (MemoryCondition.C2, MemoryCondition.C2_SILENT)


class Signature(Contract):
    """What makes two sentences comparable without keeping either of them."""

    language: str
    detected_structure: tuple[Structure, ...] = ("none",)
    has_negation: bool = False
    num_aspects: Whole = 0
    length_bucket: LengthBucket = "short"


class EpisodeTuple(Contract):
    aspect: str
    polarity: Polarity


class Episode(Contract):
    """One debate as it is remembered. It holds no sentence, no gold label and no chain of thought."""

    schema_version: Literal["1.1"] = "1.1"
    episode_id: str
    signature: Signature
    keywords: tuple[str, ...] = ()
    risk_tags: tuple[str, ...] = ()
    severity_sum: Whole = 0
    symptom: str = ""
    final_tuples: tuple[EpisodeTuple, ...] = ()
    override_applied: bool = False
    override_tuple: EpisodeTuple | None = None
    outcome: Outcome = "unknown"
    principle_id: str = ""
    reason_stored: StoreReason | None = None


AdvisoryType = Literal["successful_override", "failed_override_warning", "consistency_anchor"]


class AdvisoryEvidence(Contract):
    source_episode_ids: tuple[str, ...]
    risk_tags: tuple[str, ...] = ()
    principle_id: str = ""


class AdvisoryConstraints(Contract):
    """Said aloud in every advisory, so that no reader may take advice for an answer."""

    no_label_hint: Literal[True] = True
    no_forcing: Literal[True] = True
    no_confidence_boost: Literal[True] = True


class Advisory(Contract):
    advisory_id: Annotated[str, StringConstraints(pattern=r"^adv_\d{6}$")]
    advisory_type: AdvisoryType
    message: Annotated[str, StringConstraints(max_length=800)]
    strength: Literal["weak", "moderate", "strong"]
    relevance_score: Share
    evidence: AdvisoryEvidence
    constraints: AdvisoryConstraints = AdvisoryConstraints()


class BundleMeta(Contract):
    memory_mode: Literal["off", "on", "silent"] = "off"
    topk: Whole = 3
    masked_injection: bool = True
    retrieval_executed: bool = False


class AdvisoryBundle(Contract):
    """The content of a memory slot."""

    schema_version: Literal["1.1"] = "1.1"
    memory_on: bool = False
    retrieved: Annotated[tuple[Advisory, ...], Field(max_length=3)] = ()
    warnings: Annotated[tuple[str, ...], Field(max_length=5)] = ()
    meta: BundleMeta = BundleMeta()


class Recollection(Contract):
    """The bundle for the slot, the episodes behind it, and what the gate should beware of."""

    bundle: AdvisoryBundle = AdvisoryBundle()
    retrieved_ids: tuple[str, ...] = ()
    block_reason: str | None = None
    # Sorted, so that the same memories are the same recollection.
    blocked: tuple[EpisodeTuple, ...] = ()
    # Advisories that the cap on injected characters had no room for.
    left_out: Whole = 0


class MemoryAccessPolicy(Contract):
    debate: Literal["cj_only"] = "cj_only"


class MemoryMeta(Contract):
    """What the memory did in one sample, as the output record reports it."""

    condition: MemoryCondition = MemoryCondition.C1
    retrieved_k: Whole = 0
    retrieved_ids: tuple[str, ...] = ()
    exposed_to_debate: bool = False
    exposed_to_stage2: bool = False
    injection_trigger_reason: str | None = None
    prompt_injection_chars: Whole = 0
    # How many advisories the cap on injected characters left out.
    prompt_injection_left_out: Whole = 0
    memory_block_reason: str | None = None
    memory_access_policy: MemoryAccessPolicy = MemoryAccessPolicy()
    # None when the run may not write.
    stored: bool | None = None
    store_reason: StoreReason | None = None
