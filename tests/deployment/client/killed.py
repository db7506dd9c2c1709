"""A client in Python that is killed on its way; each line of input says how, and what to ask.

It dies while it is asked for the last time: before a call of the system's entropy, of the memory's
database or of the pipe that reports leave by, or in a write beyond a size. One that is ``late``
stores after sending.
"""

import json
import os
import resource
import signal
import sys
from contextlib import suppress

from planner.deployment import Client, Memory

STEPS = "urandom", "execute", "executescript", "write"


class NotYetError(Exception):
    pass


class Late(Memory):
    """Releases what it has not stored; ``store`` does so."""

    def change(self, key, step):
        lines = []

        def look(kept):
            lines.append(step(kept))
            raise NotYetError

        with suppress(NotYetError):
            super().change(key, look)
        self.store = lambda: super(Late, self).change(key, lambda _: lines[0])
        return lines[0]


def killed_at(stage=None, size=None):
    """Before the stage-th step from now, or in a write beyond a file's size."""
    if size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    def watch(_frame, event, function):
        nonlocal stage
        if event == "c_call" and function.__name__ in STEPS:
            stage -= 1
            if stage < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    if stage is not None:
        sys.setprofile(watch)


def answer(words, sends):
    for number, said, changed in words["asked"]:
        if [number, said, changed] == words["asked"][-1]:
            killed_at(**words["death"])
        memory = (Late if words["late"] else Memory)(words["memory"])
        asked = {"user": words["user"], "round_number": number, "changed": changed}
        client = Client(words["params"], memory)
        report = client.report("q", said, **asked)
        os.write(sends, report.to_json().encode() + b"\n")
        if words["late"]:
            memory.store()


for line in sys.stdin:
    receives, sends = os.pipe()
    child = os.fork()
    if not child:
        answer(json.loads(line), sends)
        os._exit(0)
    os.close(sends)
    with os.fdopen(receives) as pipe:
        sent = [json.loads(line) for line in pipe]
    sys.stdout.write(json.dumps([os.waitpid(child, 0)[1], sent]) + "\n")
    sys.stdout.flush()
