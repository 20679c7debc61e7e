"""A third set of JAX programs for judging the diagnosis outside PyTorch: twelve have one plain flaw each and its usual
remedy, two have none; written by somebody who did not know the analysis. The programs themselves are in
jax_training3.py (networks in training) and jax_models3.py (inference, simulation, reconstruction).

    jax_cases3.py list                              one JSON object a line: what each case is
    jax_cases3.py run NAME broken|fixed SECONDS     steps for SECONDS; the last line printed has the time of a step
"""
import json
import os
import statistics
import sys
import time

BLOCK_S = 0.2
WARM_UP = 8
WARM_UP_MOST = 60

# name: (model, injected, what an expert would also call right, flaw, fix)
CASES = {
    "molecule_energies": (
        "relational graph network for energies of 1024 molecules, training, bf16", "data_loading", [],
        "a Python loop pads the molecules of the batch and fills their bond matrices with numpy",
        "all molecules are padded once and kept on the GPU, the compiled train step picks the batch"),
    "radar_nowcast": (
        "two-layer ConvLSTM over 24 radar frames of 8 regions of 128x128, inference, bf16", "host_transfer",
        ["cpu_gpu_sync"],
        "the recurrent state is fetched with jax.device_get after every call and goes back with the next",
        "the recurrent state stays on the GPU"),
    "lattice_field": (
        "hybrid Monte Carlo of a phi^4 field on 96^3 sites, 64 trajectories a step", "cpu_gpu_sync", [],
        "whether a trajectory is accepted is decided in Python, its observable is a float at once",
        "jnp.where decides on the GPU, observables are fetched once a step"),
    "ships_detected": (
        "one-stage detector on 4 satellite pictures of 1024x1024, 100 boxes each, inference, bf16", "launch_overhead",
        [],
        "the boxes are suppressed by a Python loop of jnp operations after the compiled network",
        "network and suppression in one compiled function with lax.fori_loop"),
    "heart_rhythms": (
        "4 gated linear recurrences over 32 ECGs of 1024 samples, inference, bf16", "launch_overhead",
        ["gpu_underused"],
        "lax.scan goes through the samples one by one", "lax.associative_scan"),
    "radiance_field": (
        "NeRF of 8 layers, 4096 rays of 48 points, training", "precision", [],
        "precision=lax.Precision.HIGHEST on every layer: FP32 without tensor cores",
        "the default precision: TF32"),
    "weather_fields": (
        "8-layer transformer on 32 weather states of 256 patches, training, bf16", "precision", [],
        "a float32 table of places added to bf16 activations makes all that follows float32",
        "the table is cast to bf16"),
    "tissue_slides": (
        "4-layer transformer over the 6144 patches of a slide, training, bf16", "attention", ["memory_bandwidth"],
        "jax.nn.dot_product_attention by its default implementation, which writes out softmax(QK)V",
        'implementation="cudnn"'),
    "ocean_layer": (
        "rotating shallow water on 4096x4096, 10 time steps a step", "memory_bandwidth", [],
        "every operator of the equations is compiled by itself: its result goes through memory",
        "jax.jit of the whole time step"),
    "fraud_transactions": (
        "16-layer transformer over 32 columns of 256 transactions, LAMB, bf16", "optimizer", ["launch_overhead"],
        "LAMB's three compiled parts are called for one parameter after the other",
        "LAMB of all parameters inside the compiled train step"),
    "cells_deconvolved": (
        "Richardson-Lucy deconvolution of stacks of 64x512x512, 6 iterations a step", "memory_allocation", [],
        "XLA_PYTHON_CLIENT_ALLOCATOR=platform: cudaMalloc and cudaFree for every result",
        "JAX's own pool of memory (the default)"),
    "signs_recognized": (
        "8-layer transformer on body landmarks of 64 frames, training, bf16", "gpu_underused", ["launch_overhead"],
        "batch 16", "batch 128"),
    "micrographs_denoised": (
        "12-layer residual convolutional denoiser, 32 bursts of 8x128x128, training, bf16", "none", [], "none",
        "none"),
    "code_prefill": (
        "6-layer Mistral-like decoder reads 8 prompts of 2048 tokens, inference, bf16, cuDNN attention", "none", [],
        "none", "none"),
}
# What has to be set before JAX is imported, for the variant "broken".
ENVIRONMENT = {"cells_deconvolved": {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}}


def fail(message):
    print(f"jax_cases3: {message}", file=sys.stderr)
    sys.exit(1)


def list_cases():
    for name, (model, injected, also, flaw, fix) in CASES.items():
        accept = [] if injected == "none" else [injected, *also]
        print(json.dumps({"name": name, "model": model, "injected": injected, "accept": accept, "flaw": flaw,
                          "fix": fix}))


def warm_up(one):
    """Calls until three steps in a row take about the same: by then nothing is compiled or tuned any more."""
    times = []
    while len(times) < WARM_UP_MOST:
        start = time.perf_counter()
        one()
        times.append(time.perf_counter() - start)
        if len(times) >= WARM_UP and max(times[-3:]) < 1.2 * min(times[-3:]):
            break


def run(name, variant, seconds):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ.pop("XLA_PYTHON_CLIENT_ALLOCATOR", None)
    if variant == "broken":
        os.environ.update(ENVIRONMENT.get(name, {}))
    import jax
    import jax.numpy as jnp
    import jax_models3
    import jax_training3
    if jax.default_backend() != "gpu":
        fail(f"needs a GPU, JAX found {jax.default_backend()}")
    module = jax_training3 if hasattr(jax_training3, name) else jax_models3
    made = getattr(module, name)(variant == "fixed")
    # A program whose remedy is a larger batch also says how many times larger it is.
    step, larger = made if isinstance(made, tuple) else (made, 1)

    warm_up(lambda: jax.block_until_ready(step()))
    # A block is a number of steps: the host runs ahead of the GPU, so it can't stop by the clock.
    begin = time.perf_counter()
    jax.block_until_ready([step() for _ in range(5)][-1])
    count = max(1, round(BLOCK_S / ((time.perf_counter() - begin) / 5)))

    def block():
        start = time.perf_counter()
        for _ in range(count):
            result = step()
        jax.block_until_ready(result)
        return 1e3 * (time.perf_counter() - start) / count / larger, result

    block()
    blocks, begin = [], time.perf_counter()
    while not blocks or time.perf_counter() - begin < seconds:
        took, last = block()
        blocks.append(took)
    if not all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(last)):
        fail(f"{name} {variant}: the result is not finite")
    print(json.dumps({"step_ms": round(statistics.median(blocks), 4), "blocks_ms": [round(ms, 4) for ms in blocks],
                      "steps": count * len(blocks)}), flush=True)


def main(arguments):
    if arguments == ["list"]:
        return list_cases()
    if len(arguments) != 4 or arguments[0] != "run" or arguments[2] not in ("broken", "fixed"):
        fail("usage: jax_cases3.py list | run NAME broken|fixed SECONDS")
    name, variant = arguments[1:3]
    if name not in CASES:
        fail(f"no case {name}")
    if variant == "fixed" and CASES[name][1] == "none":
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
