from planner.planning.sampling import optimum
from planner.planning.sampling.design import find_parameters
from planner.planning.sampling.question import SamplingQuestion


def test_the_program_is_built_once():
    find_parameters(SamplingQuestion([1.0] * 5, [5] * 5, 100))
    before = optimum._program.cache_info().misses
    find_parameters(SamplingQuestion([2.0] * 5, [7] * 5, 300, cap=0.2))
    assert optimum._program.cache_info().misses == before
