"""
000 §1, 003 §6 and behaviour A8 against an implementation that shares no line with Parley's.

On drawn inputs. What the documents leave open is read as behaviour.md reads it: candidates of L2 add
up, and D never falls.
"""

import math
from random import Random

import pytest

from tests.fidelity.test_independent_aspects import DRAWN, EPS, Said, asked

# 000 §1: when a debate ends


def history(chance: Random) -> list[list[Said]]:
    verdicts = ["authentic", "manipulated", "ai_generated", "uncertain"]
    seats = ["frequency", "noise", "watermark", "spatial"][: chance.randint(1, 4)]
    said = [[chance.choice(verdicts), chance.choice([0.5, 0.7, 0.86, 0.9, 0.95])] for _ in seats]
    rounds = []
    for _ in range(chance.randint(1, 5)):
        rounds.append(
            [
                {"agent": seat, "verdict": verdict, "confidence": confidence}
                for seat, (verdict, confidence) in zip(seats, said, strict=True)
            ]
        )
        for one in said:
            if chance.random() < 0.15:
                one[0] = chance.choice(verdicts)
            if chance.random() < 0.3:
                one[1] = chance.choice([0.6, 0.85, 0.9])
    return rounds


def end_of(rounds: list[list[Said]], params: Said) -> str | None:
    still, ever = 0, False
    reason = None
    for number, said in enumerate(rounds):
        held = [one["verdict"] for one in said]
        disagreement = (len(set(held)) - 1) / max(len(held) - 1, 1)
        if number:
            changed = held != [one["verdict"] for one in rounds[number - 1]]
            still, ever = 0 if changed else still + 1, ever or changed
        sure = [
            [one["confidence"] for one in said if one["verdict"] == verdict]
            for verdict in set(held)
        ]
        groups = sum(
            sum(one) / len(one) > params["high_confidence_threshold"] + EPS for one in sure
        )
        majority = max(map(held.count, held)) > len(held) / 2
        low = disagreement == 0 or disagreement < params["consensus_threshold"] - EPS
        capped = number >= params["max_rounds"]
        conditions = [
            (low and majority, "consensus_reached"),
            (number and still >= params["stalemate_threshold"], "stalemate"),
            (number and groups >= 2, "high_confidence_deadlock"),
            (capped and not ever, "no_progress"),
            (capped, "max_rounds"),
        ]
        reason = next((name for holds, name in conditions if holds), None)
        if reason is not None:
            del rounds[number + 1 :]
            return reason
    return reason


def test_the_end_of_a_debate() -> None:
    chance, seen = Random(6), set()
    for _ in range(2 * DRAWN):
        rounds = history(chance)
        params = {
            "max_rounds": chance.randint(1, 4),
            "consensus_threshold": chance.choice([0.2, 0.3, 0.34, 0.4]),
            "stalemate_threshold": chance.randint(1, 4),
            "high_confidence_threshold": 0.85,
        }
        expected = end_of(rounds, params)
        seen.add(expected)
        answer = asked("terminate-verdicts", {"params": params, "history": rounds})
        assert (answer["reason"], answer["terminate"]) == (expected, expected is not None), rounds
    assert len(seen) == 6


# 003 §6: the flow chart

D_MIN = {"L2": 4, "L3": 6, "L4": 8}
CAP = {"L0": 3, "L1": 5, "L2": 5, "L3": 12, "L4": 16}


def iterations(chance: Random, theta: str) -> list[Said]:
    dimension, found = chance.randint(0, 7), []
    for number in range(chance.randint(1, CAP[theta])):
        dimension += chance.choice([0, 0, 1, 2])
        named = {"axis": f"axis {number}"}
        found.append(
            {
                "d_current": dimension,
                "orthogonality": chance.choice([0, 0.05, 0.1, 0.15, 0.3, 0.8]),
                "delta_coverage": chance.choice([0.02, 0.05, 0.1, 0.3]),
                "delta_sem": chance.choice([0, 0.05, 0.1, 0.4]),
                "confidence": chance.choice([0.5, 0.8, 0.81, 0.9]),
                "candidates": [
                    {"id": f"c{one}", "score": chance.choice([0.3, 0.6, 0.7, 0.75, 0.9])}
                    for one in range(chance.randint(0, 4))
                ],
                "sensitivity": chance.choice(["low", "low", "medium", "high"]),
                "forcing": chance.choice(["TRULY_SATURATED", named, named]),
            }
        )
    return found


def chart(theta: str, said: list[Said]) -> tuple[int | None, str | None]:  # noqa: C901, PLR0912  the chart
    streak = dimension = 0
    scores: dict[str, float] = {}
    for number, one in enumerate(said, 1):
        ended = None
        settled = one["delta_sem"] < 0.1 - EPS
        match theta:
            case "L0":
                ended = "answer_convergence"
            case "L1" if settled and number >= 2 and one["confidence"] > 0.8 + EPS:
                ended = "answer_convergence"
            case "L2":
                scores |= {each["id"]: each["score"] for each in one["candidates"]}
                best, second, *_ = [*sorted(scores.values(), reverse=True), 0.0, 0.0]
                if len(scores) >= 3 and best > 0.7 + EPS and best - second > 0.1 + EPS:
                    ended = "verification_pass"
            case "L3" | "L4":
                saturated = one["orthogonality"] < 0.15 - EPS
                streak = streak + 1 if saturated else 0
                dimension = max(dimension, one["d_current"])
                if dimension < D_MIN[theta]:
                    if saturated and one["forcing"] != "TRULY_SATURATED":
                        dimension, streak = dimension + 1, 0
                    elif saturated and dimension >= 1:
                        ended = "decision_sufficiency"
                elif streak >= 2 and (settled or one["delta_coverage"] < 0.1 - EPS):
                    ended = "decision_sufficiency" if one["sensitivity"] == "low" else None
                    streak = 0
            case _:
                pass
        if ended is None and number >= CAP[theta]:
            ended = "operational"
        if ended is not None:
            return number, ended
    return None, None


@pytest.mark.parametrize("theta", CAP)
def test_the_regimes(theta: str) -> None:
    chance = Random(7)
    for _ in range(DRAWN // 3):
        said = iterations(chance, theta)
        answer = asked("terminate-regime", {"theta": theta, "iterations": said})
        stopped = answer["stopped_at"]
        kind = answer["declarations"][-1]["termination_type"] if stopped is not None else None
        assert (stopped, kind) == chart(theta, said), said


# behaviour A8: COBRA


def spread(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return sum((one - mean) ** 2 for one in values) / len(values)


def merged(said: list[Said], trust: dict[str, float], algorithm: str) -> tuple[str, float]:
    trusts, sure = [trust[one["agent"]] for one in said], [one["confidence"] for one in said]
    if algorithm == "RoT":
        weights = [
            (1 if t >= 0.7 - EPS else 0.3) * t * c for t, c in zip(trusts, sure, strict=True)
        ]
    elif algorithm == "DRWA":
        doubts = []
        for one in said:
            score = one["evidence"].get("ai_generation_score")
            ai = one["verdict"] == "ai_generated"
            doubts.append(0.5 if score is None else 1 - score if ai else score)
        most = max(doubts)
        eased = [0.2 * (1 - one / most if most else 1) for one in doubts]
        weights = [
            min(1.0, max(0.1, t + e)) * c for t, e, c in zip(trusts, eased, sure, strict=True)
        ]
    else:
        powers = [math.exp(t * c / (1 + spread(sure))) for t, c in zip(trusts, sure, strict=True)]
        weights = [one / sum(powers) for one in powers]
    totals: dict[str, float] = {}
    for one, weight in zip(said, weights, strict=True):
        totals[one["verdict"]] = totals.get(one["verdict"], 0.0) + weight
    best = max(totals, key=lambda verdict: totals[verdict])
    damped = algorithm == "AVGA" and spread(sure) > 0.1 + EPS
    return best, totals[best] / sum(totals.values()) * (1 - 0.2 * spread(sure) if damped else 1)


def test_cobra() -> None:
    chance = Random(8)
    for _ in range(DRAWN):
        seats = ["frequency", "noise", "watermark", "spatial", "fatformer"][: chance.randint(1, 5)]
        said = [
            {
                "agent": seat,
                "verdict": chance.choice(["authentic", "manipulated", "ai_generated"]),
                "confidence": round(chance.uniform(0.05, 1), 2),
                "evidence": chance.choice([{}, {"ai_generation_score": round(chance.random(), 2)}]),
            }
            for seat in seats
        ]
        trust = {seat: chance.choice([0.1, 0.5, 0.69, 0.7, 0.95]) for seat in seats}
        given = chance.choice([None, "RoT", "DRWA", "AVGA"])
        question = {"responses": said, "trust": trust} | ({"algorithm": given} if given else {})
        answer = asked("cobra", question)
        distinct = len({one["verdict"] for one in said})
        auto = "RoT" if spread(list(trust.values())) > 0.1 + EPS else ("DRWA", "AVGA")[distinct > 2]
        assert answer["algorithm"] == (given or auto)
        verdict, confidence = merged(said, trust, given or auto)
        assert answer["final_verdict"] == verdict
        assert answer["confidence"] == pytest.approx(confidence)
