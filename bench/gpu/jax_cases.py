"""Programs in JAX for judging the diagnosis outside PyTorch: each has one plain flaw and its usual remedy, two have
none; written by somebody who did not know the analysis. The programs themselves are in jax_networks.py
and jax_numerics.py.

    jax_cases.py list                              one JSON object a line: what each case is
    jax_cases.py run NAME broken|fixed SECONDS     steps for SECONDS; the last line printed has the time of a step
"""
from program_cases import main, run_jax, so_often

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


if __name__ == "__main__":
    main(CASES, run_jax(("jax_networks", "jax_numerics"), ENVIRONMENT, so_often(5)))
