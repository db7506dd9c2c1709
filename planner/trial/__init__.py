"""A plan against answers: simulations and audits."""
