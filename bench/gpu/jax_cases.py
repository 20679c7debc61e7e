"""Programs in JAX for judging the diagnosis outside PyTorch: each has one plain flaw and its usual remedy, two have
none; written by somebody who did not know the analysis. The programs themselves are in jax_networks.py
and jax_numerics.py.

    jax_cases.py list                              one JSON object a line: what each case is
    jax_cases.py run NAME broken|fixed SECONDS     steps for SECONDS; the last line printed has the time of a step
"""
import json
import os
import statistics
import sys
import time

BLOCK_S = 0.2

# name: (model, injected, what an expert would also call right, flaw, fix)
CASES = {
    "aerial_pictures_resnet": (
        "residual network on 128x128 pictures, batch 128, bf16", "data_loading", [],
        "the training loop crops, flips and scales the pictures with numpy",
        "12 threads make the batches ahead and put them on the GPU"),
    "seismic_receivers": (
        "acoustic wave equation on a 4096x4096 grid, 32 time steps a step", "host_transfer", ["cpu_gpu_sync"],
        "the whole field is copied to the host to read 256 receivers",
        "the receivers are picked on the GPU, only they are copied"),
    "reranker_loaded_weights": (
        "8-layer transformer scoring 128 texts of 128 tokens", "host_transfer", [],
        "the weights stay numpy arrays and go to the GPU with every call",
        "jax.device_put of the weights once"),
    "poisson_conjugate_gradients": (
        "conjugate gradients for Poisson's equation, 2048x2048, 60 iterations a step", "cpu_gpu_sync",
        ["launch_overhead"], "float() of the residual after every iteration",
        "the residual is read every 20 iterations"),
    "gray_scott_dish": (
        "Gray-Scott reaction and diffusion on 512x512, 256 time steps a step", "launch_overhead", ["gpu_underused"],
        "a Python loop calls the compiled time step", "jax.lax.fori_loop over the time steps in one compiled function"),
    "vit_single_picture": (
        "24-layer vision transformer, inference of one picture, bf16", "launch_overhead", ["gpu_underused"],
        "every small part of a layer is compiled and called by itself", "jax.jit of the whole network"),
    "tabular_autoencoder": (
        "autoencoder of 256 columns, 2048 wide, batch 16384", "precision", [],
        "jax_default_matmul_precision highest: FP32 without tensor cores", "tensorfloat32"),
    "gaussian_mixture": (
        "EM of a mixture of 256 Gaussians over a million points of 32 dimensions", "precision", ["memory_bandwidth"],
        "jax_enable_x64 and points from numpy: everything is FP64", "jax_enable_x64 left off: FP32"),
    "gpt_long_texts": (
        "4-layer GPT training, 2 texts of 4096 tokens, bf16", "attention", ["memory_bandwidth"],
        "softmax(QK)V written out", 'jax.nn.dot_product_attention(implementation="cudnn")'),
    "raw_pictures_developed": (
        "white balance, saturation, local contrast and tone curve of 8 pictures of 6 megapixels", "memory_bandwidth",
        [],
        "one kernel an operation: the function is not compiled", "jax.jit of the function: fused"),
    "language_model_small": (
        "12-layer transformer training, 16 texts of 256 tokens, bf16", "optimizer", ["launch_overhead"],
        "Adam runs outside the compiled function, for one parameter after the other",
        "Adam of all parameters inside the compiled train step"),
    "exposures_blended": (
        "Laplacian pyramids of 16 pairs of 1024x1024 pictures blended", "memory_allocation", [],
        "XLA_PYTHON_CLIENT_ALLOCATOR=platform: cudaMalloc and cudaFree for every result",
        "JAX's own pool of memory (the default)"),
    "small_pictures_resnet": (
        "residual network on 64 pictures of 64x64, bf16", "gpu_underused", ["launch_overhead"],
        "gradients accumulated over 8 batches of 8", "one batch of 64"),
    "mixer_pictures": (
        "MLP-Mixer training on 224x224 pictures, batch 128, bf16", "none", [], "none", "none"),
    "options_by_monte_carlo": (
        "Asian options priced over 4 million paths of 64 days", "none", [], "none", "none"),
}
# What has to be set before JAX is imported, for the variant "broken".
ENVIRONMENT = {"exposures_blended": {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}}


def fail(message):
    print(f"jax_cases: {message}", file=sys.stderr)
    sys.exit(1)


def list_cases():
    for name, (model, injected, also, flaw, fix) in CASES.items():
        accept = [] if injected == "none" else [injected, *also]
        print(json.dumps({"name": name, "model": model, "injected": injected, "accept": accept, "flaw": flaw,
                          "fix": fix}))


def run(name, variant, seconds):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ.pop("XLA_PYTHON_CLIENT_ALLOCATOR", None)
    if variant == "broken":
        os.environ.update(ENVIRONMENT.get(name, {}))
    import jax
    import jax.numpy as jnp
    import jax_networks
    import jax_numerics
    if jax.default_backend() != "gpu":
        fail(f"needs a GPU, JAX found {jax.default_backend()}")
    module = jax_networks if hasattr(jax_networks, name) else jax_numerics
    step = getattr(module, name)(variant == "fixed")
    for _ in range(5):
        jax.block_until_ready(step())
    begin = time.perf_counter()
    jax.block_until_ready([step() for _ in range(5)][-1])
    # A block is a number of steps, not a time: the host runs ahead of the GPU, so its clock says little.
    count = max(1, round(BLOCK_S / ((time.perf_counter() - begin) / 5)))
    for _ in range(count):
        last = step()
    jax.block_until_ready(last)

    blocks, begin = [], time.perf_counter()
    while not blocks or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(count):
            last = step()
        jax.block_until_ready(last)
        blocks.append(1e3 * (time.perf_counter() - start) / count)
    if not all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(last)):
        fail(f"{name} {variant}: the result is not finite")
    print(json.dumps({"step_ms": round(statistics.median(blocks), 4), "blocks_ms": [round(ms, 4) for ms in blocks],
                      "steps": count * len(blocks)}), flush=True)


def main(arguments):
    if arguments == ["list"]:
        return list_cases()
    if len(arguments) != 4 or arguments[0] != "run" or arguments[2] not in ("broken", "fixed"):
        fail("usage: jax_cases.py list | run NAME broken|fixed SECONDS")
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
