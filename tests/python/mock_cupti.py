"""Work of a pretended GPU, through the CUPTI that stands in for NVIDIA's (tests/mock_cupti/mock_cupti.h)."""

import ctypes
import time


class Work(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("name", ctypes.c_char_p), ("start_ns", ctypes.c_uint64), ("end_ns", ctypes.c_uint64),
                ("stream", ctypes.c_uint32), ("correlation", ctypes.c_uint32), ("bytes", ctypes.c_uint64),
                ("grid", ctypes.c_int32), ("block", ctypes.c_int32)]


_NAME = b"mock_kernel"


def works(library, kernels):
    """So many kernels of a millisecond, once records are switched on."""
    cupti = ctypes.CDLL(library)
    time.sleep(0.3)
    for number in range(kernels):
        start = time.time_ns()
        time.sleep(0.001)
        cupti.mock_cupti_work(ctypes.byref(Work(0, _NAME, start, time.time_ns(), 7, number + 1, 0, 1, 128)))
    time.sleep(0.1)
