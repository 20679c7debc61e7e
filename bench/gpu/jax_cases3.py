"""A third set of JAX programs for judging the diagnosis outside PyTorch: twelve have one plain flaw each and its usual
remedy, two have none; written by somebody who did not know the analysis. The programs themselves are in
jax_training3.py (networks in training) and jax_models3.py (inference, simulation, reconstruction).

    jax_cases3.py list                              one JSON object a line: what each case is
    jax_cases3.py run NAME broken|fixed SECONDS     steps for SECONDS; the last line printed has the time of a step
"""
from program_cases import main, run_jax, until_steady

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


if __name__ == "__main__":
    main(CASES, run_jax(("jax_training3", "jax_models3"), ENVIRONMENT, until_steady(8, 60)))
