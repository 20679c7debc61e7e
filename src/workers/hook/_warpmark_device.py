"""The GPU of this process, once the program uses one."""

import sys
import time

clock = time.perf_counter


class Device:
    def __init__(self, torch, graphs, waits):
        self.torch = torch
        self.graphs = graphs
        self.waits = waits  # phases of a step are told apart: to each belongs what the GPU takes for it
        self.cuda = None

    def on_cuda(self):
        if not self.cuda:
            self.cuda = (
                "torch.cuda" in sys.modules and self.torch.cuda.is_available() and self.torch.cuda.is_initialized()
            )
        return self.cuda

    def synchronize(self):
        if self.on_cuda() and not self.graphs.capturing():
            self.torch.cuda.synchronize()

    def with_its_wait(self, seconds):
        """Of a phase that the host has launched in `seconds`."""
        if not self.waits:
            return seconds
        begin = clock()
        self.synchronize()
        return seconds + clock() - begin

    def begin_peak(self):
        """Synchronizes. The peak of memory counts from here on."""
        self.synchronize()
        if self.on_cuda():
            self.torch.cuda.reset_peak_memory_stats()

    def notify_memory(self, report, emptied):
        if not self.on_cuda():
            return
        cuda = self.torch.cuda
        report.add(
            "memory",
            allocated=cuda.max_memory_allocated(),
            reserved=cuda.max_memory_reserved(),
            total=cuda.get_device_properties(cuda.current_device()).total_memory,
            emptied=emptied,
        )
