"""Audits: what a mechanism's output law really spends, and what its samples give away.

The exact audits read probabilities, never the formula that a mechanism was built from.
The empirical audit reads nothing but samples: it proves a lower bound on the loss with a
stated confidence, and so catches a mechanism that is broken.
"""

from planner.trial.audit.empirical import EmpiricalAudit, audit_samples
from planner.trial.audit.exact import LevelPair, SetAudit, audit_levels, audit_sets, law_loss

__all__ = [
    "EmpiricalAudit",
    "LevelPair",
    "SetAudit",
    "audit_levels",
    "audit_samples",
    "audit_sets",
    "law_loss",
]
