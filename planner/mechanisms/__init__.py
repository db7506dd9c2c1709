"""Mechanisms: randomise answers, and estimate from randomised answers.

Every mechanism offers the same small interface:

- ``perturb(values, rng)``    one report per user, law stated in the class docstring
- ``aggregate(reports)``      a mergeable :class:`Aggregate`
- ``estimate(aggregate)``     estimates with standard errors
- ``variance(...)``           the variance of those estimates for given true data
- ``privacy_loss()``          the budget that the output law really spends, in nats
"""

from planner.mechanisms.counting import Aggregate

__all__ = ["Aggregate"]
