"""Where a program without PyTorch waits: the stack of its main thread is looked at each few milliseconds, and the time that
the thread's own clock did not count is that of the line it is in. The kernel's name for the wait says of what kind it is.
"""

import _thread
import atexit
import os
import sys
import time

PERIOD_S = 0.02  # a look takes the interpreter's lock for some 30 microseconds
REPORTED_EVERY_S = 1.0  # a program may end without a word
KINDS = (
    ("sleep", ("nanosleep",)),
    ("lock", ("futex",)),
    ("disk", ("io_schedule", "folio_wait", "wait_on_page", "fsync", "jbd2", "ext4", "xfs")),
    ("process", ("do_wait", "pipe")),
    ("network", ("sk_", "inet_", "tcp", "unix_stream", "skb", "wait_woken")),
    ("event", ("poll", "select", "epoll")),
)


class Waits:
    def __init__(self, report):
        self.report = report
        self.process = os.getpid()
        self.thread = _thread.get_ident()
        self.clock = time.pthread_getcpuclockid(self.thread)
        self.wchan = "/proc/self/task/%d/wchan" % _thread.get_native_id()
        self.library = (os.path.dirname(os.__file__), os.path.dirname(os.path.abspath(__file__)), "<frozen")
        self.began = time.perf_counter()
        self.seconds = {}  # (file, line, function) -> {kind: seconds}

    def run(self):
        before, used = self.began, time.clock_gettime(self.clock)
        reported = before
        while "torch" not in sys.modules:
            time.sleep(PERIOD_S)
            kind = self.kind()
            now, use = time.perf_counter(), time.clock_gettime(self.clock)
            waited = now - before - (use - used)
            if waited > 0.8 * (now - before):
                kinds = self.seconds.setdefault(self.line(), {})
                kinds[kind] = kinds.get(kind, 0.0) + waited
            before, used = now, use
            if now - reported > REPORTED_EVERY_S:
                reported = now
                self.notify()

    def kind(self):
        try:
            with open(self.wchan, encoding="ascii") as file:
                place = file.read()
        except OSError:
            return "unknown"
        for kind, names in KINDS:
            if any(name in place for name in names):
                return kind
        return "unknown"

    def line(self):
        """Of the program itself, which may wait within the standard library."""
        innermost = frame = sys._current_frames().get(self.thread)
        while frame is not None and frame.f_code.co_filename.startswith(self.library):
            frame = frame.f_back
        frame = frame or innermost
        if frame is None:
            return ("", 0, "")
        return (frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name)

    def notify(self):
        if os.getpid() != self.process or "torch" in sys.modules:
            return
        self.report.add("host", seconds=time.perf_counter() - self.began)
        for place, kinds in sorted(self.seconds.items(), key=lambda one: -sum(one[1].values()))[:5]:
            file, line, function = place
            kind = max(kinds, key=kinds.get)  # a look may come when the thread was about to go on
            self.report.add("wait", file=file, line=line, function=function, what=kind, seconds=sum(kinds.values()))


def begin(report):
    waits = Waits(report)

    def guarded(call):
        try:
            call()
        except Exception as problem:  # the waits are our loss, never the program's
            report.fault("host", problem)

    atexit.register(guarded, waits.notify)
    _thread.start_new_thread(guarded, (waits.run,))
