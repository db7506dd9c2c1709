"""Planning: an analyst's questions, answered with solvers and mechanisms."""
