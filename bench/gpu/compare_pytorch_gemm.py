"""PyTorch's matrix products: median of CUDA-event samples over rotating random inputs, in ms and TFLOP/s.
Usage: python3 compare_pytorch_gemm.py"""
import torch

CASES = [(4096, "f32"), (8192, "f32"), (4096, "tf32"), (8192, "tf32"), (4096, "f16"), (4096, "bf16"), (8192, "bf16")]
TYPES = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def median_ms(function, sets, seconds=1.5):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    samples, spent, at = [], 0.0, 0
    while spent < seconds * 1e3:
        torch.cuda._sleep(200_000)  # the launch is queued while this runs
        start.record()
        function(*sets[at % len(sets)])
        stop.record()
        torch.cuda.synchronize()
        spent += start.elapsed_time(stop)
        samples.append(start.elapsed_time(stop))
        at += 1
    samples = samples[len(samples) // 4:]
    return sorted(samples)[len(samples) // 2]


print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
for repeat in range(2):
    for n, name in CASES:
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        sets = [tuple(2 * torch.rand(n, n, device="cuda").to(TYPES[name]) - 1 for _ in range(2)) for _ in range(3)]
        ms = median_ms(lambda a, b: torch.mm(a, b), sets)
        print(f"gemm {n} {name:5} {ms:8.4f} ms {2 * n**3 / ms / 1e9:7.1f} TFLOP/s")
