"""The mechanisms that can be deployed: a line each, joined to a device's half by its law."""

from __future__ import annotations

from typing import Any

from planner.deployment.client.mechanisms.law import Law
from planner.deployment.client.mechanisms.registry import LAWS
from planner.deployment.mechanisms.channel import DeployedMeanChannel, DeployedOrderedChannel
from planner.deployment.mechanisms.deployed import Deployed
from planner.deployment.mechanisms.design import DeployedDesign
from planner.deployment.mechanisms.item_sets import DeployedDesignSets, DeployedSets
from planner.deployment.mechanisms.numbers import DeployedSign
from planner.deployment.mechanisms.one_ratio import (
    DeployedHashing,
    DeployedResponse,
    DeployedSubset,
)
from planner.deployment.mechanisms.sampling import DeployedSampling
from planner.deployment.mechanisms.unary import DeployedUnary
from planner.mechanisms.catalogue import CATALOGUE, Offer

_BY_NAME: dict[str, type[Deployed[Any]]] = {}
_BY_SOURCE: dict[type, dict[str, type[Deployed[Any]]]] = {}


def register(half: type[Deployed[Any]], offer: Offer | None = None) -> None:
    """Make a mechanism known by its name in the file, and by what it is described from.

    Its law is made known to clients in this process too; those elsewhere need it in their own
    list, :data:`~planner.deployment.client.mechanisms.registry.LAWS`. With an ``offer``,
    surveys may ask for it by that name; what is shipped stands in the catalogue already.
    """
    if offer is not None:
        CATALOGUE[offer.name] = offer
    LAWS.setdefault(half.law_type.mechanism, half.law_type)
    _BY_NAME[half.law_type.mechanism] = half
    for source in half.sources:
        _BY_SOURCE[source] = _BY_SOURCE.get(source, {}) | {half.law_type.kind: half}


def deployed(law: Law) -> Deployed[Any]:
    """The planner's half of the mechanism of a proven law."""
    return _BY_NAME[law.mechanism](law)


def half_for(source: Any, kind: str) -> type[Deployed[Any]] | None:
    """What describes a mechanism, table or plan; ``None`` if it cannot be deployed.

    Of those for several kinds of question, the one for this ``kind``.
    """
    halves = _BY_SOURCE.get(type(source), {})
    return halves.get(kind) or next(iter(halves.values()), None)


for _half in (
    DeployedUnary,
    DeployedSets,
    DeployedResponse,
    DeployedHashing,
    DeployedSubset,
    DeployedDesign,
    DeployedDesignSets,
    DeployedSign,
    DeployedMeanChannel,
    DeployedOrderedChannel,
    DeployedSampling,
):
    register(_half)
