"""Programs in CuPy, numba and Triton for judging the diagnosis outside PyTorch's and JAX's networks: each has one plain
flaw and its usual remedy, two have none; written by somebody who did not know the analysis. The programs themselves
are in array_cupy.py, array_numba.py and array_triton.py, one file a framework: what one lacks leaves the others alone.

    array_cases.py list                            one JSON object a line: what each case is
    array_cases.py run NAME broken|fixed SECONDS   steps for SECONDS; the last line printed has the time of a step
"""
import importlib

from program_cases import fail, main, measure, so_often

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


def run(name, fixed, seconds):
    module = importlib.import_module(CASES[name][0])
    if not module.has_gpu():
        fail("needs a GPU")
    # A program gives its step, and how many times the work of the broken variant's step that step does.
    step, work = getattr(module, name)(fixed)
    so_often(5)(step)
    module.synchronize()
    measure(step, lambda _: module.synchronize(), module.is_finite, seconds, work)


if __name__ == "__main__":
    main({name: case[1:] for name, case in CASES.items()}, run)
