"""Set before NumPy loads: threads inside LAPACK slow the small problems of these tests down."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings

# The same examples on every run; no test is judged by the clock.
settings.register_profile("planner", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("planner")
