"""CUDA graphs that the program makes itself. What one captures is no step, and may not be waited for. Where a step is the
replay of a graph no module is called and no optimizer steps, so that the replay ends it.
"""

import time


def patch(graph_class, recorder, replace):
    def make_begin(old):
        def capture_begin(graph, *args, **kwargs):
            old(graph, *args, **kwargs)
            recorder.capturing = True

        return capture_begin

    def make_end(old):
        def capture_end(graph):
            recorder.capturing = False
            return old(graph)

        return capture_end

    def make_replay(old):
        def replay(graph):
            begin = time.perf_counter()
            result = old(graph)
            recorder.replayed(time.perf_counter() - begin, graph)
            return result

        return replay

    for name, make in (("capture_begin", make_begin), ("capture_end", make_end), ("replay", make_replay)):
        replace(graph_class, name, make)
