"""The solvers' tests as other processors round: an answer is pinned there, never its last digit.

Three libraries choose code by what the processor has, and each rounds otherwise: NumPy (exp and log
of its own with AVX-512, libm's else), OpenBLAS (a kernel a processor), libm (with FMA or without).
Environment variables let them choose as on a lesser processor.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.documents import ROOT

FOUND = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
WITH_AVX512 = [name for name in FOUND if name.startswith(("AVX512", "X86_V4"))]
LIBM_WITHOUT_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA"}

PROCESSORS = {
    "AVX2, no AVX-512": {
        "NPY_DISABLE_CPU_FEATURES": " ".join(WITH_AVX512),
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "neither AVX2 nor FMA": {
        "NPY_DISABLE_CPU_FEATURES": " ".join(FOUND),
        "OPENBLAS_CORETYPE": "Prescott",
        **LIBM_WITHOUT_FMA,
    },
    "AVX-512, libm without FMA": {"OPENBLAS_CORETYPE": "Zen", **LIBM_WITHOUT_FMA},
}

# Digests of NumPy's functions, libm's and OpenBLAS's on the same numbers.
DIGESTS = """
import hashlib, math
import numpy as np
numbers = np.random.default_rng(1).uniform(0.1, 5, (100, 100))
for results in (np.exp(numbers), [math.exp(x) for x in numbers.flat], numbers @ numbers.T):
    print(hashlib.sha256(np.asarray(results).tobytes()).hexdigest())
"""


def _run(*words, settings):
    return subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def _digests(settings):
    done = _run("-c", DIGESTS, settings=settings)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_solvers_answers_are_right_as_another_processor_rounds(processor):
    settings = PROCESSORS[processor]
    if _digests(settings) == _digests({}):
        pytest.skip(f"this machine rounds the same with {settings}")
    done = _run("-m", "pytest", "-q", "-x", "tests/solvers", settings=settings)
    assert done.returncode == 0, done.stdout[-3000:]


def test_each_of_them_rounds_in_a_way_of_its_own():
    """On a processor with AVX-512, and a glibc that lets its code be chosen."""
    if not WITH_AVX512:
        pytest.skip("this processor has no AVX-512")
    digests = [_digests(settings) for settings in ({}, *PROCESSORS.values())]
    for kinds in zip(*digests, strict=True):
        assert len(set(kinds)) > 1
    assert len({tuple(kinds) for kinds in digests}) == len(digests)
