"""Deployment: from a plan to a collection that can be trusted.

The client needs the standard library alone; names load on first use so that importing
this package does not load more.
"""

from __future__ import annotations

from planner.on_first_use import on_first_use

__getattr__, __dir__, __all__ = on_first_use(__name__, __path__[0])
