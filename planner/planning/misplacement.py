"""What it does if some items were put in the wrong level.

An item that is less sensitive than its level costs error; an item that is more
sensitive is told apart more easily than it should be. Both are computed for every pair
of levels, and summed for a given share of misplaced items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.planning.certified import Certified, CertifiedSolver, solve_named
from planner.policy.objective import Objective

Array = NDArray[np.float64]
_MOST_LEVELS = 1_000
_ROUNDING = 1e-8  # nats: less is the rounding of a solver


@dataclass(frozen=True, slots=True, eq=False)
class Misplacement:
    """What follows if ``share`` of every level's items belong to another level, any alike.

    Attributes
    ----------
    share:
        Share of items in the wrong level, 0 to 1.
    exposed_items:
        Expected number of items whose promised budget is broken.
    largest_excess:
        Largest break of a promise, in nats; 0 if none.
    wasted_error:
        How much smaller the total error (:func:`compared_by`) would be with every item in its
        right level and solved for that, as a share of the error now; negative if larger.
    """

    share: float
    exposed_items: float
    largest_excess: float
    wasted_error: float


def excess_loss(certified: Certified) -> Array:
    """By how much the loss of an item of level ``i``, put in level ``j``, exceeds its promise.

    Shape ``(t, t)``, nats, at least 0, 0 on the diagonal. The item is reported like those of
    level ``j``, so against an item of level ``l`` its loss is that of the pair ``(j, l)`` where
    ``r_il`` was promised.

    Raises
    ------
    InputError
        More than 1,000 levels: the answer would be too large to read.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> table = solve(PrivacyPolicy([1.0, 2.0], [5, 90]))
    >>> excess_loss(table).round(3).tolist()
    [[0.0, 0.421], [0.0, 0.0]]
    """
    policy = certified.policy
    t = policy.size
    if t > _MOST_LEVELS:
        remedy = "Merge levels that have the same budget."
        raise InputError("levels", t, f"at most {_MOST_LEVELS} for this view", remedy)
    loss = certified.pair_losses  # of an item placed in j against one in l
    promised = policy.bounds()[:, None, :]
    over = np.where(np.isinf(promised), 0.0, loss[None, :, :]) - promised
    excess = np.max(over, axis=2)
    np.fill_diagonal(excess, 0.0)
    return np.where(excess > _ROUNDING, excess, 0.0)


def misplaced(
    certified: Certified, share: float, solver: CertifiedSolver = solve_named
) -> Misplacement:
    """The consequences of ``share`` of the items being in a wrong level, any other alike.

    Parameters
    ----------
    certified:
        The planned table or design; its policy has at least two levels.
    share:
        Share of every level's items that belong elsewhere, 0 to 1.
    solver:
        Solves: :func:`~planner.planning.certified.solve_named`, or one that remembers.

    Raises
    ------
    InputError
        ``share`` out of range, or only one level.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    >>> view = misplaced(solve(policy), 0.1)
    >>> round(view.exposed_items, 2), round(view.largest_excess, 2)
    (9.25, 0.39)
    """
    policy = certified.policy
    if not 0 <= share <= 1:
        remedy = "Give the share of misplaced people, such as 0.05 for 5 %."
        raise InputError("share", share, "from 0 to 1", remedy)
    if policy.size < 2:
        raise InputError(
            "levels", policy.size, "at least 2", "With one level no item is misplaced."
        )
    excess = excess_loss(certified)
    # moved[i, j]: expected number of items of true level i that were put in level j.
    moved = np.tile(share * policy.item_counts / (policy.size - 1), (policy.size, 1))
    np.fill_diagonal(moved, (1 - share) * policy.item_counts)
    wrong = moved * ~np.eye(policy.size, dtype=bool)
    exposed = float(np.sum(wrong * (excess > 0)))
    largest = float(excess.max()) if share > 0 else 0.0
    right = policy.with_changes(item_counts=np.maximum(np.rint(moved.sum(axis=1)), 1).astype(int))
    same = compared_by(certified.objective)
    after = same
    if same.prior is not None:  # people's items move with them
        prior = moved @ (np.array(same.prior) / policy.item_counts)
        after = replace(after, prior=tuple(np.minimum(prior, right.item_counts).tolist()))
    ideal = solver(right, certified.model, objective=after).value(after)
    return Misplacement(share, exposed, largest, 1 - ideal / certified.value(same))


def compared_by(objective: Objective) -> Objective:
    """In which sense errors are compared: for the people assumed, if any are, else the worst case.

    Weights are of levels, which misplaced items change.

    Examples
    --------
    >>> compared_by(Objective(weights=(1.0, 2.0))) == Objective()
    True
    """
    kind = objective.kind if objective.prior else Objective().kind
    return Objective(kind, prior=objective.prior)
