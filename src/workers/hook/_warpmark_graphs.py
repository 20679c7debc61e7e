"""CUDA graphs that the program makes itself. What one captures is no step, and may not be waited for. Where one holds a
whole step, of an optimizer or of a network that is not trained, its replay is the step: nothing within it is called.
"""

import threading
import time

HOLDS = "_warpmark_holds"  # of a graph: "optimizer" or "forward", where it captured that


class Graphs:
    def __init__(self, torch):
        self.torch = torch
        self.thread = self.graph = None  # which captures now, and what

    def capturing(self):
        """Whether what this thread does is kept for later, and not done."""
        if self.thread != threading.get_ident():
            return False
        try:
            return bool(self.torch.cuda.is_current_stream_capturing())  # a capture that failed may not have ended
        except RuntimeError:
            return True  # a torch without CUDA

    def note(self, what):
        """In a capture."""
        if getattr(self.graph, HOLDS, None) != "optimizer":
            setattr(self.graph, HOLDS, what)

    def patch(self, graph_class, replace, replayed):
        def make_begin(old):
            def capture_begin(graph, *args, **kwargs):
                old(graph, *args, **kwargs)
                setattr(graph, HOLDS, None)
                self.thread, self.graph = threading.get_ident(), graph

            return capture_begin

        def make_end(old):
            def capture_end(graph):
                self.thread = self.graph = None
                return old(graph)

            return capture_end

        def make_replay(old):
            def replay(graph):
                begin = time.perf_counter()
                result = old(graph)
                replayed(time.perf_counter() - begin, getattr(graph, HOLDS, None))
                return result

            return replay

        for name, make in (("capture_begin", make_begin), ("capture_end", make_end), ("replay", make_replay)):
            replace(graph_class, name, make)
