"""Frequency mechanisms beside their peers and the machine's limits, in one run.

Run by hand: ``python benchmarks/frequency.py``; peers come with the extra ``bench``.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from measure import Figure, peak_megabytes, read_bandwidth, rows, seconds, show

from planner import Level, Survey, best_design, solve
from planner.deployment import Client
from planner.deployment.parameters import parameters_from_mechanisms
from planner.limits import DENOMINATOR
from planner.mechanisms.bernoulli import BernoulliRows
from planner.mechanisms.counting import BitCounter
from planner.mechanisms.inputs import ItemSets
from planner.mechanisms.making import oue, padded
from planner.mechanisms.subset_design import SidesCollected
from planner.mechanisms.words import CHUNK_WORDS, seeded_words
from planner.policy.policy import PrivacyPolicy
from planner.survey.choices import Categorical

USERS = 1_000_000
ITEMS = 1000
EPSILON = 1.0
PART = 50_000  # reports at a time, as the collector reads them
BIG_USERS = 990_002
BIG_ITEMS = 41_270
PEER_USERS = 10_000


def figures() -> list[Figure]:
    return [
        *rows(collection),
        *rows(multi_freq_ldpy, pure_ldp, ours=False),
        *rows(
            design_collection,
            design_draw,
            aggregation,
            single_item_simulation,
            design_simulation,
            item_set_simulation,
            bulk_draws,
        ),
    ]


def words_a_second() -> float:
    """Random 64-bit words a second from one core, in chunks as the draws take them."""
    generator = np.random.SFC64(1)
    return CHUNK_WORDS / seconds(lambda: generator.random_raw(CHUNK_WORDS), repeat=50)


def collect(users: int = USERS) -> None:
    all_alike = Categorical("q", (Level("all", EPSILON, item_count=ITEMS),))
    _collected(all_alike, oue(EPSILON, ITEMS), users)


def _collected(question: Categorical, mechanism: object, users: int) -> None:
    """Drawn in bulk by the deployed law, counted and estimated, a part at a time."""
    made = parameters_from_mechanisms(Survey("s", users, (question,)), {"q": mechanism})
    law = made.questions[0]
    rng = np.random.default_rng(1)
    values = rng.integers(ITEMS, size=users)
    words = seeded_words(rng)
    counter = law.shape.counter()
    for part in np.array_split(values, -(-users // PART)):
        counter.add(law.draw_many(part, words)[0])
    law.rows([counter.sums()], 0.95)


def plain_numpy(users: int, chunk: int = 1000) -> None:
    """One float per bit, a thousand users at a time: what one writes without thinking."""
    rng = np.random.default_rng(1)
    values = rng.integers(ITEMS, size=users)
    a = 0.5
    b = 1 / (np.exp(EPSILON) + 1)
    counts = np.zeros(ITEMS)
    for start in range(0, users, chunk):
        probability = np.full((chunk, ITEMS), b)
        probability[np.arange(chunk), values[start : start + chunk]] = a
        counts += (rng.random((chunk, ITEMS)) < probability).sum(axis=0)
    (counts - users * b) / (a - b)


def collection() -> Figure:
    words = words_a_second()
    time = seconds(collect)
    memory = peak_megabytes(collect)
    plain = seconds(lambda: plain_numpy(USERS // 10), repeat=1) * 10
    least = 10.5 * USERS * -(-ITEMS // 64) / words / (os.cpu_count() or 1)
    return Figure(
        f"perturb + aggregate + estimate, {USERS:,} users x {ITEMS:,} items",
        f"{time:.2f} s, {memory:.0f} MB",
        "1 s, 600 MB",
        time < 1 and memory < 600,
        f"plain chunked NumPy {plain:.1f} s (a tenth, times 10): {plain / time:.0f}x",
        f"its random words alone {least:.2f} s on all cores",
    )


def multi_freq_ldpy() -> Figure:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    def run() -> None:
        values = np.random.default_rng(1).integers(ITEMS, size=PEER_USERS)
        reports = [
            UE_Client(int(value), ITEMS, EPSILON, optimal=True) for value in values
        ]
        UE_Aggregator_MI(reports, EPSILON, optimal=True)

    return _peer("multi_freq_ldpy", run)


def pure_ldp() -> Figure:
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def run() -> None:
        client = UEClient(EPSILON, ITEMS, use_oue=True)
        server = UEServer(EPSILON, ITEMS, use_oue=True)
        for value in np.random.default_rng(1).integers(ITEMS, size=PEER_USERS):
            server.aggregate(client.privatise(int(value) + 1))
        server.estimate_all(range(1, ITEMS + 1), suppress_warnings=True)

    return _peer("pure_ldp", run)


def _peer(name: str, run: Callable[[], None]) -> Figure:
    ours = seconds(lambda: collect(PEER_USERS))
    theirs = seconds(run)
    return Figure(
        f"the same, {PEER_USERS:,} users",
        f"{ours:.4f} s",
        peer=f"{name} {theirs:.3f} s: {theirs / ours:.0f}x",
    )


def aggregation() -> Figure:
    reports = np.random.default_rng(1).integers(
        2**63, size=(USERS, 16), dtype=np.uint64
    )

    def count() -> None:
        counter = BitCounter(ITEMS)
        counter.add(reports)
        counter.counts()

    rate = reports.nbytes / seconds(count, repeat=7)
    part = reports[: USERS // 20]
    unpacked = part.nbytes / seconds(
        lambda: np.unpackbits(part.view(np.uint8), axis=1).sum(axis=0), repeat=1
    )
    limit = read_bandwidth()
    return Figure(
        "count packed reports",
        f"{rate / 1e9:.1f} GB/s",
        "a third of the read bandwidth",
        rate >= limit / 3,
        f"unpackbits and sum {unpacked / 1e9:.2f} GB/s: {rate / unpacked:.0f}x",
        f"reading {limit / 1e9:.1f} GB/s: {rate / limit:.0%}",
    )


def single_item_simulation() -> Figure:
    weights = 1 / np.arange(1, BIG_ITEMS + 1)
    rng = np.random.default_rng(1)
    counts = rng.multinomial(BIG_USERS, weights / weights.sum())
    mechanism = oue(EPSILON, BIG_ITEMS)
    time = seconds(lambda: mechanism.estimate(mechanism.draw_aggregate(counts, rng)))
    return Figure(
        f"simulate {BIG_USERS:,} users x {BIG_ITEMS:,} items, single items",
        f"{time:.3f} s",
        "1 s",
        time < 1,
    )


def design_policy(items: int) -> PrivacyPolicy:
    """Five, five and ninety of a hundred items, at 1, 1.2 and 2."""
    return PrivacyPolicy(
        [1.0, 1.2, 2.0], [items // 20, items // 20, items - 2 * (items // 20)]
    )


def design_collection() -> Figure:
    """The best of all mechanisms beside the best table, in turns on the same people."""
    policy = design_policy(ITEMS)
    levels = zip(policy.epsilons.tolist(), policy.item_counts.tolist(), strict=True)
    question = Categorical(
        "q", tuple(Level(f"{e}", e, item_count=m) for e, m in levels)
    )
    solved = solve(question.policy), best_design(question.policy)
    times = [
        [
            seconds(lambda one=one: _collected(question, one, USERS), repeat=1)
            for one in solved
        ]
        for _ in range(3)
    ]
    theirs, ours = (min(column) for column in zip(*times, strict=True))
    return Figure(
        f"the same with a subset design, {USERS:,} users x {ITEMS:,} items",
        f"{ours:.2f} s",
        "twice opt0 in the same run",
        ours < 2 * theirs,
        f"opt0 {theirs:.2f} s: {ours / theirs:.2f}x",
    )


def design_draw() -> Figure:
    """One report of a subset design by the Python client."""
    question = Categorical("q", tuple(
        Level(f"level {i}", e, item_count=m)
        for i, (e, m) in enumerate(zip([1.0, 1.2, 2.0], [50, 50, 900], strict=True))
    ))  # fmt: skip
    design = best_design(question.policy)
    parameters = parameters_from_mechanisms(Survey("s", 10, (question,)), {"q": design})
    client = Client(parameters.document)
    time = seconds(lambda: client.report("q", 500), repeat=200)
    return Figure(
        f"client: one report of a subset design over {ITEMS:,} items",
        f"{1e3 * time:.2f} ms",
        "2 ms",
        time < 2e-3,
    )


def design_simulation() -> Figure:
    weights = 1 / np.arange(1, BIG_ITEMS + 1)
    rng = np.random.default_rng(1)
    counts = rng.multinomial(BIG_USERS, weights / weights.sum())
    mechanism = SidesCollected.of(best_design(design_policy(BIG_ITEMS)))
    time = seconds(lambda: mechanism.estimate(mechanism.draw_aggregate(counts, rng)))
    return Figure(
        f"simulate a subset design, {BIG_USERS:,} users x {BIG_ITEMS:,} items",
        f"{time:.2f} s",
        "5 s",
        time < 5,
    )


def item_set_simulation() -> Figure:
    rng = np.random.default_rng(1)
    sizes = 1 + rng.poisson(7, size=BIG_USERS)
    starts = np.cumsum([0, *sizes])
    # Distinct items of one user: consecutive ones from a random start.
    first = np.repeat(rng.integers(BIG_ITEMS, size=BIG_USERS), sizes)
    members = (
        first + np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    ) % BIG_ITEMS
    mechanism = padded(oue(EPSILON, BIG_ITEMS), 8)

    def run() -> None:
        sets = ItemSets(BIG_ITEMS, members, starts)  # checking the sets is part of it
        mechanism.estimate(mechanism.draw_aggregate(sets, rng))
        mechanism.variance(sets)

    time = seconds(run)
    return Figure(
        f"the same, sets of {members.size / BIG_USERS:.1f} items, with exact variance",
        f"{time:.2f} s",
        "3 s",
        time < 3,
    )


def bulk_draws() -> Figure:
    words = words_a_second()
    rows = CHUNK_WORDS // 16
    threshold = int(DENOMINATOR / (np.exp(EPSILON) + 1))
    draws = BernoulliRows(np.full(1024, threshold), rows)
    out = np.empty((rows, 16), dtype=np.uint64)
    rng = np.random.Generator(np.random.SFC64(1))
    bits = 64 * out.size
    source = seeded_words(rng)
    ours = bits / seconds(lambda: draws.fill(out, source), repeat=50)
    theirs = bits / seconds(
        lambda: np.packbits(rng.random(bits) < threshold / DENOMINATOR), repeat=50
    )
    limit = words * 64 / 10.5
    return Figure(
        "exact Bernoulli bits, one core",
        f"{ours / 1e9:.2f} Gbit/s",
        "3x one float a bit",
        ours >= 3 * theirs,
        f"one float a bit {theirs / 1e9:.2f} Gbit/s: {ours / theirs:.1f}x",
        f"its 10.5 random words a word alone {limit / 1e9:.2f} Gbit/s: {ours / limit:.0%}",
    )


if __name__ == "__main__":
    show(figures(), "Frequency mechanisms")
