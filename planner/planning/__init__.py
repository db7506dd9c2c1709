"""Planning: answers to an analyst's questions, from solvers and mechanisms."""
