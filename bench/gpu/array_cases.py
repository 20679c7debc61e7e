"""Programs in CuPy, numba and Triton for judging the diagnosis outside PyTorch's and JAX's networks: each has one plain
flaw and its usual remedy, two have none; written by somebody who did not know the analysis. The programs themselves
are in array_cupy.py, array_numba.py and array_triton.py, one file a framework: what one lacks leaves the others alone.

    array_cases.py list                            one JSON object a line: what each case is
    array_cases.py run NAME broken|fixed SECONDS   steps for SECONDS; the last line printed has the time of a step
"""
import importlib
import json
import statistics
import sys
import time

BLOCK_S = 0.2

# name: (module, model, injected, what an expert would also call right, flaw, fix)
CASES = {
    "exposures_stacked": (
        "array_cupy", "CuPy: 12 CCD exposures of 5120x5120 calibrated and stacked with outliers rejected",
        "memory_bandwidth", ["launch_overhead"],
        "every operation of the calibration is a kernel of its own over the whole picture",
        "cupy.ElementwiseKernel of the calibration: fused"),
    "pagerank_topics": (
        "array_cupy", "CuPy: personalised PageRank of 3 topics in a graph of a million pages, 80 iterations each",
        "cpu_gpu_sync", [],
        "float() of the change after every iteration to see whether it has converged",
        "the change is read every 20 iterations"),
    "frames_registered": (
        "array_cupy", "CuPy: phase correlation and drift-corrected sum of 16 microscope frames of 2048x2048",
        "host_transfer", ["data_loading"],
        "the camera's frames lie in pageable memory, 128 MB are copied a step",
        "the camera's frames lie in pinned memory"),
    "music_mel_features": (
        "array_cupy", "CuPy: log-mel features of 160 clips of 30 s at 22 kHz", "launch_overhead", ["gpu_underused"],
        "a Python loop over the clips, a dozen small kernels each", "all clips in one batch"),
    "tomography_slabs": (
        "array_cupy", "CuPy: filtered back projection of 6 slabs of 8 slices, 360 views, 512x512",
        "memory_allocation", ["cpu_gpu_sync"],
        "free_all_blocks() of the memory pool after every slab: cudaMalloc and cudaFree again for the next",
        "the pool keeps its blocks"),
    "motifs_in_background": (
        "array_cupy", "CuPy: 384 binding motifs searched in 4096 random sequences of 1024 bases", "data_loading", [],
        "the sequences are drawn with numpy in the step", "the sequences are drawn on the GPU"),
    "hologram_refocused": (
        "array_cupy", "CuPy: hologram propagated to 48 planes of 2048x2048 by the angular spectrum", "none", [],
        "none", "none"),
    "proton_plan_dose": (
        "array_numba", "numba: dose of 1500 proton spots in 160x160x96 voxels and its penalty",
        "host_transfer", ["memory_allocation"],
        "the kernels are called with numpy arrays: every array is copied in and out around every kernel",
        "the arrays are kept on the GPU, only the spots' weights are copied"),
    "reads_aligned": (
        "array_numba", "numba: Smith-Waterman scores of pairs of reads of 3072 bases, a block a pair",
        "gpu_underused", [],
        "64 pairs a launch", "384 pairs a launch"),
    "implied_volatilities": (
        "array_numba", "numba: implied volatilities and Greeks of 32 million options by Newton's method",
        "precision", [],
        "numpy's default float64 arrays and constants", "float32 arrays and constants"),
    "genome_tracks": (
        "array_triton", "Triton: 6-layer transformer over 4 sequences of 4096 bins with distance bias, bf16",
        "attention", ["memory_bandwidth"],
        "matmul, a softmax kernel and matmul over the whole matrix of scores", "flash attention in Triton"),
    "american_puts": (
        "array_triton", "Triton: American puts by finite differences, 384 options, 1024 prices, 600 time steps",
        "launch_overhead", ["gpu_underused"],
        "a Python loop launches one small kernel a time step", "the time steps are captured in a CUDA graph"),
    "spectra_searched": (
        "array_triton", "Triton: best match of 32768 mass spectra in a library of 131072, bf16", "none", [],
        "none", "none"),
}


def fail(message):
    print(f"array_cases: {message}", file=sys.stderr)
    sys.exit(1)


def list_cases():
    for name, (_, model, injected, also, flaw, fix) in CASES.items():
        accept = [] if injected == "none" else [injected, *also]
        print(json.dumps({"name": name, "model": model, "injected": injected, "accept": accept, "flaw": flaw,
                          "fix": fix}))


def run(name, variant, seconds):
    module = importlib.import_module(CASES[name][0])
    if not module.has_gpu():
        fail("needs a GPU")
    # A program gives its step, and how many times the work of the broken variant's step that step does.
    step, work = getattr(module, name)(variant == "fixed")
    for _ in range(5):
        step()
    module.synchronize()
    begin = time.perf_counter()
    for _ in range(5):
        step()
    module.synchronize()
    # A block is a number of steps, not a time: the host runs ahead of the GPU, so its clock says little.
    count = max(1, round(BLOCK_S / ((time.perf_counter() - begin) / 5)))
    for _ in range(count):
        step()
    module.synchronize()

    blocks, begin = [], time.perf_counter()
    while not blocks or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(count):
            last = step()
        module.synchronize()
        blocks.append(1e3 * (time.perf_counter() - start) / count / work)
    if not module.is_finite(last):
        fail(f"{name} {variant}: the result is not finite")
    print(json.dumps({"step_ms": round(statistics.median(blocks), 4), "blocks_ms": [round(ms, 4) for ms in blocks],
                      "steps": count * len(blocks)}), flush=True)


def main(arguments):
    if arguments == ["list"]:
        return list_cases()
    if len(arguments) != 4 or arguments[0] != "run" or arguments[2] not in ("broken", "fixed"):
        fail("usage: array_cases.py list | run NAME broken|fixed SECONDS")
    name, variant = arguments[1:3]
    if name not in CASES:
        fail(f"no case {name}")
    if variant == "fixed" and CASES[name][2] == "none":
        fail(f"{name} has nothing to fix")
    try:
        seconds = float(arguments[3])
    except ValueError:
        fail(f"not a number of seconds: {arguments[3]}")
    if not 0 < seconds < 3600:
        fail("seconds must be more than 0 and less than 3600")
    run(name, variant, seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
