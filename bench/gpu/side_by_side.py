"""warpmark's GPU kernels and PyTorch's in one process, timed by the same code in turns, so that clocks and temperature
are shared. Prints a table: the median over rounds of the median over samples, in ms.

Usage: python3 side_by_side.py module_shim.so libwarpmark_cuda.so [attention] [conv2d] [backward]"""
import ctypes
import random
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROUNDS, SAMPLES, SETS = 15, 7, 3


def sample_ms(function, guess_ms):
    launches = max(4, min(40, int(8 / guess_ms)))
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    samples = []
    for sample in range(SAMPLES):
        torch.cuda._sleep(1_000_000)  # the queue fills while this runs, so that launch gaps stay out
        start.record()
        for launch in range(launches):
            function(launch % SETS)
        stop.record()
        torch.cuda.synchronize()
        if sample >= 2:
            samples.append(start.elapsed_time(stop) / launches)
    return statistics.median(samples)


class Module:
    def __init__(self, shim, library):
        self.shim = ctypes.CDLL(shim)
        for name in ("wm_open", "wm_prepare"):
            getattr(self.shim, name).restype = ctypes.c_void_p
        self.shim.wm_check.restype = ctypes.c_double
        self.message = ctypes.create_string_buffer(1024)
        self.session = self.shim.wm_open(library.encode(), self.message, 1024)
        assert self.session, self.message.value

    def prepare(self, text):
        work = self.shim.wm_prepare(ctypes.c_void_p(self.session), text.encode(), ctypes.c_size_t(SETS), self.message,
                                    1024)
        if not work:
            raise RuntimeError(self.message.value.decode())
        return ctypes.c_void_p(work)

    def launcher(self, work):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        launch = self.shim.wm_launch

        def call(index):
            assert launch(work, stream, ctypes.c_size_t(index)) == 0
        return call

    def check(self, work):
        assert self.shim.wm_poison(work) == 0
        for index in range(SETS):
            self.launcher(work)(index)
        torch.cuda.synchronize()
        worst = max(self.shim.wm_check(work, ctypes.c_size_t(index)) for index in range(SETS))
        assert 0 <= worst <= 1, f"wrong output: error is {worst} of the tolerance"


def compare(module, title, torch_ways, texts):
    """torch_ways: name -> function(set). texts: name -> case. Prints one row."""
    ways, works = dict(torch_ways), []
    for name, text in texts.items():
        works.append(module.prepare(text))
        module.check(works[-1])
        ways[name] = module.launcher(works[-1])
    guess = {name: max(sample_ms(way, 5), 0.01) for name, way in ways.items()}
    times = {name: [] for name in ways}
    order = list(ways)
    for _ in range(ROUNDS):
        for name in order:
            times[name].append(sample_ms(ways[name], guess[name]))
        random.shuffle(order)  # what ran before decides power and clock: nobody is always behind the same neighbour
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"| {title} | " + " | ".join(f"{name} {ms:.4f}" for name, ms in medians.items()) + " |", flush=True)
    for work in works:
        module.shim.wm_release(work)


def uniform(shape, dtype, scale=1):
    return (scale * (2 * torch.rand(shape, device="cuda") - 1)).to(dtype)


def attention(module):
    types = {"f16": torch.float16, "bf16": torch.bfloat16}
    cases = [("f16", s, 64, c) for c in (False, True) for s in (512, 1024, 2048, 4096)]
    cases += [("f16", 4096, 128, False), ("f16", 4096, 128, True), ("bf16", 4096, 64, False), ("bf16", 1024, 64, False)]
    for dtype, seq, dim, causal in cases:
        shape = (8, 16, seq, dim)
        sets = [tuple(uniform(shape, types[dtype], scale) for scale in (3, 1, 1)) for _ in range(SETS)]

        def torch_way(backend):
            def call(index):
                with sdpa_kernel(backend):
                    F.scaled_dot_product_attention(*sets[index], is_causal=causal)
            return call
        case = f"attention batch=8 heads=16 seq={seq} dim={dim} causal={'yes' if causal else 'no'} dtype={dtype}"
        compare(module, f"attention {dtype} seq {seq} dim {dim}{' causal' if causal else ''}",
                {"torch flash": torch_way(SDPBackend.FLASH_ATTENTION),
                 "torch cudnn": torch_way(SDPBackend.CUDNN_ATTENTION)},
                {impl: f"{case} impl={impl}" for impl in ("cudnn", "flash", "standard")})


SHAPES = [(64, 64, 56, 56, 64, 3), (64, 256, 56, 56, 64, 1), (64, 128, 28, 28, 128, 3), (64, 512, 28, 28, 128, 1)]


def conv2d(module, passes):
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = False
    types = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    for dtype, layout in (("f32", "nchw"), ("tf32", "nchw"), ("bf16", "nhwc"), ("f16", "nhwc"), ("f32", "nhwc"),
                          ("tf32", "nhwc")):
        torch.backends.cudnn.allow_tf32 = dtype != "f32"
        form = torch.channels_last if layout == "nhwc" else torch.contiguous_format
        for n, c, h, w, k, r in SHAPES:
            pad = r // 2
            sets = [tuple(uniform(s, types[dtype]).to(memory_format=form)
                          for s in ((n, c, h, w), (k, c, r, r), (n, k, h, w))) for _ in range(SETS)]
            backward = torch.ops.aten.convolution_backward

            def gradient(index, mask):
                x, weight, y = sets[index]
                backward(y, x, weight, None, (1, 1), (pad, pad), (1, 1), False, (0, 0), 1, mask)
            ways = {"forward": lambda i: F.conv2d(sets[i][0], sets[i][1], padding=pad),
                    "backward_data": lambda i: gradient(i, (True, False, False)),
                    "backward_weights": lambda i: gradient(i, (False, True, False))}
            for name in passes:
                with torch.no_grad():
                    compare(module, f"conv2d {dtype} {layout} {n},{c},{h},{w}->{k},{r} {name}", {"torch": ways[name]},
                            {"warpmark": f"conv2d n={n} c={c} h={h} w={w} k={k} r={r} stride=1 pad=-1 layout={layout} "
                                         f"pass={name} dtype={dtype}"})


if __name__ == "__main__":
    what = sys.argv[3:] or ["attention", "conv2d"]
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}; "
          f"default torch.backends.cudnn.allow_tf32 = {torch.backends.cudnn.allow_tf32}")
    opened = Module(sys.argv[1], sys.argv[2])
    if "attention" in what:
        attention(opened)
    if "conv2d" in what:
        conv2d(opened, ["forward"])
    if "backward" in what:
        conv2d(opened, ["backward_data", "backward_weights"])
