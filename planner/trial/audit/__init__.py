"""Audits: what a mechanism's output law really spends, and what its samples give away.

The exact audits read probabilities, never the formula that a mechanism was built from.
The empirical audit reads nothing but samples: it proves a lower bound on the loss with a
stated confidence, and so catches a mechanism that is broken. The audit of a client asks a black
box, anybody's, and judges it by a parameter file.
"""

from planner.trial.audit.client import ClientAudit, audit_client, plan_audit
from planner.trial.audit.empirical import EmpiricalAudit, audit_samples
from planner.trial.audit.exact import LevelPair, SetAudit, audit_levels, audit_sets, law_loss

__all__ = [
    "ClientAudit",
    "EmpiricalAudit",
    "LevelPair",
    "SetAudit",
    "audit_client",
    "audit_levels",
    "audit_samples",
    "audit_sets",
    "law_loss",
    "plan_audit",
]
