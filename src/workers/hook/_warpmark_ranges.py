"""PyTorch's record_function passed on to the recorder, which records what is in ranges of one name.

The recorder sees NVTX ranges by itself; record_function makes these only under torch.autograd.profiler.emit_nvtx().
"""

import sys


def begin(library, folder, watcher_type, report_type):
    """Wraps the class once its module was executed: programs and PyTorch itself take it from there."""

    def after_import(module):
        import ctypes
        import functools

        recorder = ctypes.CDLL(library)  # the one that CUDA loads
        push, pop = recorder.warpmark_range_push, recorder.warpmark_range_pop
        push.argtypes, push.restype = [ctypes.c_char_p], None
        pop.argtypes, pop.restype = [], None
        ranges = module.record_function
        enter, leave = ranges.__enter__, ranges.__exit__

        @functools.wraps(enter)
        def entered(self):
            push(str(self.name).encode("utf-8", "replace"))
            return enter(self)

        @functools.wraps(leave)
        def left(self, *what):
            try:
                return leave(self, *what)
            finally:
                pop()

        ranges.__enter__, ranges.__exit__ = entered, left

    report = report_type(folder)
    report.silent = True
    sys.meta_path.insert(0, watcher_type({"torch.autograd.profiler": after_import}, report))
