"""Deployment: from a plan to a collection that can be trusted.

The client needs the standard library alone; names load on first use so that importing
this package does not load more.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.deployment.client.client import Client, Report
    from planner.deployment.client.sealed import Memory
    from planner.deployment.parameters import Parameters, read_parameters, write_parameters

_HOME_OF = {
    "Client": "client.client",
    "Memory": "client.sealed",
    "Parameters": "parameters",
    "Report": "client.client",
    "read_parameters": "parameters",
    "write_parameters": "parameters",
}

__all__ = ["Client", "Memory", "Parameters", "Report", "read_parameters", "write_parameters"]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'planner.deployment' has no attribute {name!r}")
    return getattr(import_module(f"planner.deployment.{_HOME_OF[name]}"), name)
