"""The start of the hook: the report of this process, and a finder that tells when a module of interest was loaded.

WARPMARK_HOOK names a JSON file with what is wanted: {"version": 1, "report": FOLDER, "knobs": {ID: VALUE}, ...}. It is
read when torch is loaded; a program without torch pays for a small file and a look at each import.
"""

import _thread
import os
import sys

VERSION = 1


class Report:
    """Lines of JSON in a file of this process. Errors of writing are the report's loss, never the program's."""

    def __init__(self, folder):
        self.folder = folder
        self.file = None
        self.pid = os.getpid()
        self.silent = False

    def line(self, text):
        if self.silent:
            return
        try:
            if self.file is None:
                self._open()
            self.file.write(text + "\n")
            self.file.flush()
        except Exception:
            self.silent = True

    def hello(self):
        try:
            self._open()
            self.file.flush()
        except Exception:
            self.silent = True

    @staticmethod
    def rank():
        """As the launcher says, which may do so after this module was loaded; 0 where there is none."""
        rank = os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or os.environ.get("OMPI_COMM_WORLD_RANK") or "0"
        return int(rank) if rank.isdigit() else 0

    def _open(self):
        number = 0
        while True:  # a process number can come back within one run
            path = os.path.join(self.folder, "%d-%d.jsonl" % (os.getpid(), number))
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
                break
            except FileExistsError:
                number += 1
        self.file = os.fdopen(descriptor, "w", encoding="ascii")
        self.file.write(
            '{"k":"hello","v":%d,"pid":%d,"rank":%d,"python":"%d.%d.%d"}\n'
            % ((VERSION, os.getpid(), self.rank()) + tuple(sys.version_info[:3]))
        )

    def add(self, kind, **fields):
        import json

        fields["k"] = kind
        self.line(json.dumps(fields, allow_nan=False, default=str))

    def fault(self, where, problem):
        try:
            self.add("fault", where=where, what="%s: %s" % (type(problem).__name__, str(problem)[:300]))
        except Exception:
            self.silent = True

    def forked(self):
        """In the child of a fork: what the parent wrote is the parent's."""
        self.file = None
        self.pid = os.getpid()


class Watcher:
    """First of the finders; lets the others find, and calls back after the module was executed."""

    def __init__(self, callbacks, report):
        self.callbacks = callbacks
        self.report = report
        self.searching = set()  # (name, thread): finders that ask all finders come back to this one

    def find_spec(self, name, path=None, target=None):
        callback = self.callbacks.get(name)
        mine = (name, _thread.get_ident())
        if callback is None or mine in self.searching:
            return None
        self.searching.add(mine)
        try:
            for finder in sys.meta_path:
                if finder is self or not hasattr(finder, "find_spec"):
                    continue
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    # Whoever asks whether a module is there (importlib.util.find_spec) gets a spec too and never runs
                    # it: the callback waits for the one that is executed.
                    self._report_after(spec, callback, name)
                    return spec
        finally:
            self.searching.discard(mine)
        return None

    def _report_after(self, spec, callback, name):
        loader = spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module):
            execute(module)
            try:
                del loader.exec_module
            except AttributeError:
                pass
            if self.callbacks.pop(name, None) is None:
                return
            try:
                callback(module)
            except Exception as problem:
                self.report.fault("after import of " + name, problem)

        try:
            loader.exec_module = exec_module
        except AttributeError as problem:
            self.report.fault("before import of " + name, problem)


def begin(folder):
    plan_path = os.environ["WARPMARK_HOOK"]
    report = Report(os.environ.get("WARPMARK_HOOK_REPORT") or os.path.dirname(plan_path))
    report.hello()
    if os.environ.get("WARPMARK_HOOK_HOST"):
        import _warpmark_host

        _warpmark_host.begin(report)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=report.forked)
    plan = {}

    def load_plan():
        if not plan:
            import json

            with open(plan_path, encoding="utf-8") as file:
                plan.update(json.load(file))
            if plan.get("version") != VERSION:
                raise ValueError("the plan has version %r, this hook knows %d" % (plan.get("version"), VERSION))
        return plan

    def die_with_parent():
        """A rank that torchrun started in a session of its own must not outlive it where a trial is killed."""
        import multiprocessing

        if not os.environ.get("LOCAL_RANK") or not plan.get("measure", True) or multiprocessing.parent_process():
            return
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG; forked children do not inherit it

    def after_torch(torch):
        load_plan()
        sys.path.insert(0, folder)
        try:
            import _warpmark_torch

            if plan.get("lab"):
                import _warpmark_lab  # noqa: F401  what a lab needs, while it can be found
                import _warpmark_loaders  # noqa: F401
        finally:
            sys.path.remove(folder)
        try:
            die_with_parent()
        except Exception as problem:
            report.fault("parent", problem)
        _warpmark_torch.begin(torch, plan, report, watcher)

    def after_numpy(numpy):
        seed = load_plan().get("seed")
        if seed is not None:
            numpy.random.seed(seed)

    watcher = Watcher({"torch": after_torch, "numpy": after_numpy}, report)
    sys.meta_path.insert(0, watcher)
