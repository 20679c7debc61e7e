"""Python stacks of a program while `warpmark profile` records it.

A thread that sleeps until the recorder in this process writes into a pipe ("R": recording, "P": a probe of what
recording costs, whose stacks are not kept, "0": neither), then looks at every thread's stack each few milliseconds.
Only the interpreter's own sys._current_frames() is used: who holds the interpreter's lock may read all frames safely.
"""

import _thread
import atexit
import os
import sys
import time

HANDOVER_S = 0.0002  # of the interpreter's lock, there and back: seven to ten samples' time (bench/stacks_overhead.py)
MOST_SHARE = 0.015  # of the time of the thread that a sample interrupts; the period is as long as keeps it
MOST_PERIOD_S = 0.05
MOST_DEPTH = 128
GPU_PACKAGES = ("torch", "jax", "cupy", "tensorflow", "numba", "pycuda", "triton", "paddle", "cuda")


class Sampler:
    def __init__(self, folder):
        self.path = os.path.join(folder, "%d.jsonl" % os.getpid())
        pipe = os.path.join(folder, "%d.fifo" % os.getpid())
        os.mkfifo(pipe, 0o600)
        self.pipe = os.open(pipe, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.period = HANDOVER_S / MOST_SHARE
        self.cost = 0.0  # of a sample, processor time, in the mean
        self.file = None
        self.begin()

    def begin(self):
        self.frames = {}  # (code id, instruction) -> number
        self.codes = {}  # keeps the code objects alive, so that their ids stay theirs
        self.stacks = {}  # tuple of frame numbers -> number
        self.lines = []

    def run(self):
        import json  # noqa: F401  now, not within the first sample
        import select

        own = _thread.get_ident()
        phase = "0"
        while True:
            ready = select.select([self.pipe], [], [], None if phase == "0" else self.period)[0]
            if ready:
                reported = os.read(self.pipe, 64).decode("ascii", "replace")
                for letter in reported:
                    phase = self.enter(phase, letter)
            elif phase != "0":
                self.sample(own, phase == "R")

    def enter(self, phase, letter):
        if letter == "R" and phase != "R":
            self.begin()
            self.lines.append('{"k":"begin","period":%.6f}' % self.period)
        elif letter != "R" and phase == "R":
            self.flush()
        return letter if letter in "RP" else "0"

    def sample(self, own, keep):
        began = time.thread_time()
        threads = getattr(sys.modules.get("threading"), "_active", {})
        now = time.time_ns()
        for ident, frame in sys._current_frames().items():
            if ident == own:
                continue
            stack = self.stack_of(frame)
            native = getattr(threads.get(ident), "native_id", None)
            if keep and native is not None:
                self.lines.append('{"k":"t","t":%d,"th":%d,"s":%d}' % (now, native, stack))
        del frame
        if len(self.lines) > 512:
            self.flush()
        self.cost += 0.05 * (time.thread_time() - began - self.cost)
        self.period = min(MOST_PERIOD_S, (self.cost + HANDOVER_S) / MOST_SHARE)

    def stack_of(self, frame):
        numbers = []
        while frame is not None and len(numbers) < MOST_DEPTH:
            code = frame.f_code
            key = (id(code), frame.f_lasti)
            number = self.frames.get(key)
            if number is None:
                number = self.name(key, code, frame.f_lineno)
            numbers.append(number)
            frame = frame.f_back
        key = tuple(numbers)
        stack = self.stacks.get(key)
        if stack is None:
            stack = self.stacks[key] = len(self.stacks)
            self.lines.append('{"k":"s","i":%d,"f":%s}' % (stack, numbers))
        return stack

    def name(self, key, code, line):
        import json

        self.codes[id(code)] = code
        number = self.frames[key] = len(self.frames)
        path = code.co_filename
        if not path.startswith("<"):
            path = os.path.abspath(path)
        function = getattr(code, "co_qualname", code.co_name)
        fields = {"k": "f", "i": number, "file": path, "line": line or 0, "fn": function}
        self.lines.append(json.dumps(fields))
        return number

    def flush(self):
        lines, self.lines = self.lines, []
        if not lines:
            return
        if self.file is None:
            self.file = open(self.path, "a", encoding="ascii")
        self.file.write("\n".join(lines) + "\n")
        self.file.flush()


def begin(folder, watcher_type, report_type):
    """Once a package that uses the GPU was imported, there is something to sample."""
    started = []

    def after_import(_module):
        if started:
            return
        started.append(os.getpid())
        # It knows the system's number of a thread. Here and not in the sampler, as the thread that imports it first is
        # what it takes for the main thread.
        import threading  # noqa: F401

        sampler = Sampler(folder)
        process = os.getpid()

        def keep():
            try:
                if os.getpid() == process:  # a forked child has the parent's samples, which are not its own
                    sampler.flush()
            except Exception:  # as below
                pass

        # A program that ends while it is recorded takes this thread along.
        atexit.register(keep)

        def run():
            try:
                sampler.run()
            except Exception:  # the stacks are our loss, never the program's
                pass

        _thread.start_new_thread(run, ())

    report = report_type(folder)
    report.silent = True
    sys.meta_path.insert(0, watcher_type({name: after_import for name in GPU_PACKAGES}, report))
