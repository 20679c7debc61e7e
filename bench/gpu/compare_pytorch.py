"""PyTorch's times for the shapes of conv2d and attention: median of CUDA-event samples over rotating inputs, TF32 both
allowed and forbidden for f32 convolutions. Usage: python3 compare_pytorch.py [attention] [conv2d]"""
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def median_ms(function, sets, guess_ms=0.2):
    launches = max(4, min(40, int(10 / guess_ms)))
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    samples, at = [], 0
    for sample in range(20):
        torch.cuda._sleep(2_000_000)  # the queue fills while this runs, so that launch gaps stay out
        start.record()
        for _ in range(launches):
            function(*sets[at % len(sets)])
            at += 1
        stop.record()
        torch.cuda.synchronize()
        if sample >= 5:
            samples.append(start.elapsed_time(stop) / launches)
    return sorted(samples)[len(samples) // 2]


def attention():
    cases = [(4096, 64, False), (2048, 64, False), (1024, 64, False), (512, 64, False), (4096, 64, True),
             (1024, 64, True), (4096, 128, False), (4096, 128, True)]
    for dtype in (torch.float16, torch.bfloat16):
        for seq, dim, causal in cases:
            shape = (8, 16, seq, dim)
            # As warpmark's inputs: queries uniform in [-3, 3), keys and values in [-1, 1). Power, and so the clock,
            # depends on the data.
            sets = [tuple(scale * (2 * torch.rand(shape, device="cuda") - 1).to(dtype) for scale in (3, 1, 1))
                    for _ in range(3)]
            for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):
                with sdpa_kernel(backend):
                    ms = median_ms(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal), sets,
                                   seq * seq / 4096 / 4096 * 1.5)
                print(f"torch attention {name} {dtype} seq={seq} dim={dim} causal={causal} {ms:.4f} ms", flush=True)


def conv2d():
    torch.backends.cudnn.benchmark = True
    print("default torch.backends.cudnn.allow_tf32 =", torch.backends.cudnn.allow_tf32)
    shapes = [(64, 64, 56, 56, 64, 3), (64, 256, 56, 56, 64, 1), (64, 128, 28, 28, 128, 3), (64, 512, 28, 28, 128, 1)]
    for dtype, name, layout, tf32 in (
            (torch.float32, "f32", "nchw", False), (torch.float32, "tf32", "nchw", True),
            (torch.float32, "f32", "nhwc", False), (torch.float32, "tf32", "nhwc", True),
            (torch.bfloat16, "bf16", "nhwc", True), (torch.float16, "f16", "nhwc", True)):
        torch.backends.cudnn.allow_tf32 = tf32
        form = torch.channels_last if layout == "nhwc" else torch.contiguous_format
        for n, c, h, w, k, r in shapes:
            sets = [tuple((2 * torch.rand(shape, device="cuda") - 1).to(dtype).to(memory_format=form)
                          for shape in ((n, c, h, w), (k, c, r, r))) for _ in range(3)]
            with torch.no_grad():
                ms = median_ms(lambda x, weight: F.conv2d(x, weight, padding=r // 2), sets)
            print(f"torch conv2d {name} {layout} {c},{h},{w}->{k},{r} {ms:.4f} ms", flush=True)


if __name__ == "__main__":
    what = sys.argv[1:] or ["attention", "conv2d"]
    print(torch.__version__, torch.cuda.get_device_name(), "cuDNN", torch.backends.cudnn.version())
    if "attention" in what:
        attention()
    if "conv2d" in what:
        conv2d()
