"""Table II of the ID-LDP paper: the toy health survey, one severe and four common answers."""

from __future__ import annotations

from math import log

import numpy as np
from reproduction.literal import solve_literal
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner import PrivacyPolicy, UnaryTable, baseline, solve
from planner.planning.choice import rivals
from planner.policy import logodds

ITEMS = np.array([1, 4])
POLICY = PrivacyPolicy([log(4), log(6)], ITEMS, names=["HIV", "others"])
# The row of IDUE as printed: probabilities, terms "3.27 n + 0.31 c", range of the total.
PRINTED_A = (0.59, 0.67)
PRINTED_B = (0.33, 0.28)
PRINTED_NOISE = (3.27, 1.32)
PRINTED_SIGNAL = (0.31, 0.13)
PRINTED_RANGE = [8.68, 8.86]


def reproduce(setting: Setting) -> Result:  # noqa: ARG001 - small as it is
    """Table II of the ID-LDP paper."""
    best = solve(POLICY)
    rounded = UnaryTable(POLICY, PRINTED_A, PRINTED_B, "opt0", "printed")
    tables = {
        "RAPPOR": baseline(POLICY, "rappor"),
        "OUE": baseline(POLICY, "oue"),
        "IDUE opt0": best,
        "opt0, boxed": solve_literal(POLICY, box=True),
        "as printed": rounded,
    }
    ranges = {name: total_range(one.noise, one.signal) for name, one in tables.items()}
    rappor, oue, idue = (ranges[name] for name in ("RAPPOR", "OUE", "IDUE opt0"))
    noise, signal = logodds.noise_and_signal(*rivals(POLICY)["grr"].shape.chances)
    direct = float(noise.sum() + signal.max())
    claims = [
        Claim(
            "The total variance of RAPPOR is 10 n, that of OUE 9.9 n.",
            "Table II",
            round(rappor[1], 6) == 10 and round(oue[1], 1) == 9.9,
            f"{rappor[1]:.6f} n and {oue[1]:.6f} n.",
        ),
        _range_of_idue(best, rounded),
        Claim(
            "Even in its worst case IDUE is better than RAPPOR and OUE.",
            "section V-E",
            idue[1] < min(rappor[1], oue[1]),
            f"{idue[1]:.4f} n against {rappor[1]:.4f} n and {oue[1]:.4f} n.",
        ),
        Claim(
            "The sensitive answer gets a larger variance than with RAPPOR or OUE, so that "
            "the others get a smaller one.",
            "section V-E",
            bool(best.noise[0] > tables["RAPPOR"].noise[0] > best.noise[1])
            and bool(best.noise[0] > tables["OUE"].noise[0] > best.noise[1]),
            f"{best.noise[0]:.2f} n and {best.noise[1]:.2f} n; RAPPOR "
            f"{tables['RAPPOR'].noise[0]:.2f} n, OUE {tables['OUE'].noise[0]:.2f} n.",
        ),
    ]
    rows = [
        (name, *map(_pair, (one.a, one.b, one.noise, one.signal, ranges[name])))
        for name, one in tables.items()
    ]
    return Result(
        "ID-LDP, Table II: the toy example",
        "Budgets ln 4 (one answer, HIV) and ln 6 (four answers), rule min. Per level the "
        "probabilities a, b and the variance n noise + c signal of a count; last the range of "
        "the total variance, per person.",
        claims,
        [
            Table(
                "Per person", ("mechanism", "a", "b", "noise", "signal", "total"), rows
            )
        ],
        notes=[
            f"The box a >= 1/2 >= b costs nothing here ({ranges['opt0, boxed'][1]:.6f} n). "
            f"What the table leaves out: with five items plain generalised randomised response "
            f"at ln 4 has {direct:.4f} n and beats every unary encoding."
        ],
    )


def total_range(noise: np.ndarray, signal: np.ndarray) -> tuple[float, float]:
    """Total variance per person if all have the most, and the least, favourable answer."""
    total = float(ITEMS @ np.asarray(noise))
    return total + float(np.min(signal)), total + float(np.max(signal))


def _range_of_idue(best: UnaryTable, rounded: UnaryTable) -> Claim:
    exact = total_range(best.noise, best.signal)
    printed = total_range(rounded.noise, rounded.signal)
    by_terms = total_range(PRINTED_NOISE, PRINTED_SIGNAL)
    by_rounding = (
        np.array_equal(np.round([best.a, best.b], 2), [PRINTED_A, PRINTED_B])
        and bool(np.all(np.abs(rounded.noise - PRINTED_NOISE) < 0.01))
        and bool(np.all(np.abs(rounded.signal - PRINTED_SIGNAL) < 0.01))
        and np.round(by_terms, 2).tolist() == PRINTED_RANGE
    )
    return Claim(
        "The total variance of IDUE is 8.68 n to 8.86 n.",
        "Table II",
        np.round(exact, 2).tolist() == PRINTED_RANGE,
        f"The optimum has {exact[0]:.6f} n to {exact[1]:.6f} n, proven to a relative "
        f"{best.certificate.relative_gap:.0e}. Its probabilities rounded to two digits have "
        f"{printed[0]:.2f} n to {printed[1]:.2f} n; adding up the printed terms, which are cut to "
        f"two digits again, gives {by_terms[0]:.2f} n to {by_terms[1]:.2f} n.",
        "by rounding probabilities and terms to two digits" if by_rounding else "",
    )


def _pair(values: np.ndarray) -> str:
    return " ".join(f"{abs(value):.3f}" for value in values)


if __name__ == "__main__":
    main(reproduce)
