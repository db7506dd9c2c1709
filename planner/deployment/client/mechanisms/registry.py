"""The mechanisms that a parameter file may name: a line each, and nothing else knows them all."""

from __future__ import annotations

from planner.deployment.client.mechanisms.channel import MeanChannelLaw
from planner.deployment.client.mechanisms.design import DesignLaw
from planner.deployment.client.mechanisms.hashing import HashingLaw
from planner.deployment.client.mechanisms.item_sets import DesignSetLaw, SetLaw
from planner.deployment.client.mechanisms.law import Law
from planner.deployment.client.mechanisms.ordered_channel import OrderedChannelLaw
from planner.deployment.client.mechanisms.response import ResponseLaw
from planner.deployment.client.mechanisms.sampling import SamplingLaw
from planner.deployment.client.mechanisms.sign import SignLaw
from planner.deployment.client.mechanisms.subset import SubsetLaw
from planner.deployment.client.mechanisms.unary import UnaryLaw

_ALL: tuple[type[Law], ...] = (
    UnaryLaw,
    SetLaw,
    ResponseLaw,
    HashingLaw,
    SubsetLaw,
    DesignLaw,
    DesignSetLaw,
    SignLaw,
    MeanChannelLaw,
    OrderedChannelLaw,
    SamplingLaw,
)
LAWS: dict[str, type[Law]] = {law.mechanism: law for law in _ALL}
"""By the name in the file."""
