"""A budget planner for local differential privacy.

A survey file says how sensitive each answer is; a plan, how exact results will be:

>>> from planner import plan_survey
>>> plan = plan_survey("examples/clinic.toml")
>>> round(plan.questions[0].total_error, 1)  # people
1093.5

The command ``ldp-planner`` does the same, and deploys it. Levels without a survey:

>>> from planner import PrivacyPolicy, best_design, solve
>>> policy = PrivacyPolicy(["ln 4", "ln 6"], [1, 4], names=["severe", "common"])
>>> round(solve(policy).worst_case_mse, 6), round(best_design(policy).worst_case_mse, 6)
(8.567495, 3.870237)

More: ``help(planner.plan_survey)``, and the names in ``dir(planner)``.
"""

from __future__ import annotations

from planner.on_first_use import on_first_use

__version__ = "0.1.0"
__getattr__, __dir__, _ = on_first_use(__name__, __path__[0])
