"""Mechanisms: randomise answers, and estimate from randomised answers.

A law with NumPy (:mod:`.collected`, :mod:`.subset_design`, :mod:`.set_design`) draws many reports,
counts and estimates; a mechanism holds a law and says what is expected of it:

- ``law``                          its whole numbers, and the budgets that they really spend
- ``estimate(aggregate)``          estimates with standard errors
- ``bias(...)``, ``variance(...)`` of those estimates for given true data
- ``draw_aggregate(...)``          sums as everybody's reports would give them
"""
