"""A Dask cluster of real processes: the same counts, and a name for whatever dies or is missing."""

import os
import shutil
import signal
import socket
import time
from contextlib import suppress
from importlib import import_module
from threading import Event, Thread

import pytest

from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.reports import Expected
from tests.deployment.report_files import KEY, draw, write
from tests.refusals import refused

distributed = pytest.importorskip("distributed")

from planner.deployment.collecting.engines import dask_engine  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # the cluster's own
SETTINGS = {
    "threads_per_worker": 1,
    "dashboard_address": None,
    "silence_logs": 50,
}
PATIENCE = 4.0  # seconds: a busy machine takes one to connect
WORKERS = 2


@pytest.fixture
def counting_here():
    """Here files are counted in processes."""


@pytest.fixture(scope="module")
def one_cluster():
    """Two processes on this machine; the first death of a worker gives its file up."""
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=WORKERS, processes=True, **SETTINGS
        ) as started,
    ):
        yield started


@pytest.fixture
def cluster(one_cluster):
    one_cluster.scale(WORKERS)
    one_cluster.wait_for_workers(1, timeout=20)
    return one_cluster


@pytest.fixture
def held(one_question, tmp_path, rng):
    """Five files; the third is a pipe that nobody writes to, and holds its reader until the end."""
    files = [tmp_path / f"{i}.parquet" for i in range(5)]
    for i, path in enumerate(files):
        if i == 2:
            os.mkfifo(path)
        else:
            write(path, one_question, draw(one_question, rng, 9 + i))
    yield files
    # Lets go who reads it, and who opens it only now: else a worker would be held for ever, and
    # with it the files of the next test.
    both_ends = os.open(files[2], os.O_RDWR)
    files[2].unlink()
    os.close(both_ends)


class Relay:
    """Passes everything between a client and the scheduler, until told not to."""

    def __init__(self, address):
        self.to = address.removeprefix("tcp://").split(":")
        self.inlet = socket.create_server(("127.0.0.1", 0))
        self.sockets, self.stalled = [self.inlet], Event()
        self.address = f"tcp://127.0.0.1:{self.inlet.getsockname()[1]}"
        Thread(target=self.accept, daemon=True).start()

    def cut(self):
        for connection in self.sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def accept(self):
        with suppress(OSError):
            while True:
                client, _ = self.inlet.accept()
                scheduler = socket.create_connection(self.to)
                self.sockets += [client, scheduler]
                for direction in ((client, scheduler), (scheduler, client)):
                    Thread(target=self.relay, args=direction, daemon=True).start()

    def relay(self, source, target):
        with suppress(OSError):
            while data := source.recv(2**16):
                if not self.stalled.is_set():
                    target.sendall(data)


@pytest.fixture
def relay(cluster):
    between = Relay(cluster.scheduler_address)
    yield between
    between.cut()


def wait_for_the_pipe(cluster):
    """The address of the worker that reads the pipe, once nothing else is under way.

    If it is the only worker, what is left waits for it.
    """
    latest = time.monotonic() + 60
    with distributed.Client(cluster, set_as_default=False) as client:
        while time.monotonic() < latest:
            tasks = client.processing()
            busy = [address for address in tasks for _ in tasks[address]]
            if busy and 1 in (len(busy), len(tasks)):
                return busy[0]
            time.sleep(0.01)
    raise TimeoutError(f"Nobody reads the pipe alone: {tasks}")


def kill(cluster, *addresses):
    for nanny in cluster.workers.values():
        if nanny.worker_address in addresses:
            os.kill(nanny.pid, signal.SIGKILL)


def test_a_cluster_counts_the_same(cluster, one_question, collection):
    folder, _, _ = collection
    shutil.copy(folder / "0.parquet", folder / "copy.parquet")
    (folder / "bad.parquet").write_bytes(b"PAR1")
    local = collect(one_question, [folder])
    done = collect(
        one_question, [folder], engine=dask_engine(cluster.scheduler_address)
    )
    expected = local.sums[KEY].counts.tolist()
    assert done.sums[KEY].counts.tolist() == expected
    assert done.sums[KEY].users == local.sums[KEY].users
    assert done.counted == local.counted
    assert done.quarantined == local.quarantined
    assert len(done.quarantined) == 2


def test_a_file_that_kills_its_worker_is_refused_alone(cluster, one_question, held):
    cluster.wait_for_workers(WORKERS, timeout=20)
    counts = dask_engine(cluster.scheduler_address)(held, Expected.of(one_question))
    first = [next(counts).users for _ in range(2)]
    kill(cluster, wait_for_the_pipe(cluster))
    third, *rest = counts
    assert "workers that read it died" in third.refused
    assert first + [count.users for count in rest] == [9, 10, 12, 13]


@pytest.mark.parametrize("silent", [False, True], ids=["gone", "silent"])
def test_a_scheduler_that_is_lost_is_named_in_time(
    cluster, relay, one_question, held, silent
):
    counts = dask_engine(relay.address, PATIENCE)(held, Expected.of(one_question))
    assert [next(counts).users for _ in range(2)] == [9, 10]
    wait_for_the_pipe(cluster)
    started = time.monotonic()
    relay.stalled.set() if silent else relay.cut()
    with refused("engine"):
        list(counts)
    assert time.monotonic() - started < 10 * PATIENCE


def test_a_long_task_is_waited_for_while_the_scheduler_answers(
    cluster, one_question, held
):
    counts = dask_engine(cluster.scheduler_address, PATIENCE)(
        held, Expected.of(one_question)
    )
    assert [next(counts).users for _ in range(2)] == [9, 10]
    wait_for_the_pipe(cluster)
    Thread(target=let_go, args=(held[2],)).start()
    third, *rest = counts
    assert "corrupt or truncated" in third.refused
    assert [count.users for count in rest] == [12, 13]


def let_go(pipe):
    time.sleep(1.5 * PATIENCE)
    os.close(os.open(pipe, os.O_WRONLY))


class Unknown:
    """Of a module that no worker has."""

    def __reduce__(self):
        return import_module, ("planner.of_tomorrow",)


def test_workers_that_cannot_count_are_named(cluster, held):
    with refused("engine"):
        list(dask_engine(cluster.scheduler_address, PATIENCE)(held, Unknown()))


def test_a_cluster_without_workers_is_named(one_cluster, one_question, held):
    one_cluster.scale(0)
    latest = time.monotonic() + 60
    while one_cluster.scheduler.workers and time.monotonic() < latest:
        time.sleep(0.01)
    with refused("workers"):
        list(
            dask_engine(one_cluster.scheduler_address)(held, Expected.of(one_question))
        )


def test_a_scheduler_must_be_there_and_answer(one_question, held):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        with refused("scheduler"):
            list(dask_engine(address, 0.5)(held, Expected.of(one_question)))
