"""Planning: an analyst's questions, answered with mechanisms and solvers before any data."""
