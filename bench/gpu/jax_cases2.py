"""A second set of JAX programs for judging the diagnosis outside PyTorch: thirteen have one plain flaw each and its
usual remedy, two have none; written by somebody who did not know the analysis. The programs themselves are in
jax_training2.py (networks in training) and jax_models2.py (inference, learning to act, science).

    jax_cases2.py list                              one JSON object a line: what each case is
    jax_cases2.py run NAME broken|fixed SECONDS     steps for SECONDS; the last line printed has the time of a step
"""
from program_cases import main, run_jax, so_often

# name: (model, injected, what an expert would also call right, flaw, fix)
CASES = {
    "spoken_commands": (
        "convolutional network that learns 35 spoken words, batch 64, bf16", "data_loading", [],
        "the training loop computes the log-mel spectrograms with numpy",
        "the clips go to the GPU as 16-bit samples, the compiled train step computes the spectrograms"),
    "cell_profiles": (
        "variational autoencoder of 2048 genes of single cells, batch 8192, bf16", "host_transfer", [],
        "the expression matrix stays a numpy array: every batch is copied to the GPU again",
        "jax.device_put of the matrix once"),
    "trajectory_denoiser": (
        "denoising diffusion of 64 numbers by residual MLPs, batch 65536, bf16", "host_transfer", ["cpu_gpu_sync"],
        "jax.device_get of parameters and optimizer state after every step, as the last good state",
        "the last good state stays on the GPU"),
    "policy_updates": (
        "PPO, 32 minibatches of 16384 transitions a step", "cpu_gpu_sync", [],
        "float() of five statistics after every minibatch", "the statistics are fetched once, after the last"),
    "dynamics_ensemble": (
        "ensemble of 7 small dynamics networks, 16 minibatches of 512 a step", "launch_overhead", ["gpu_underused"],
        "a Python loop trains one member after the other", "jax.vmap of the train step over the members"),
    "melody_tokens": (
        "8-layer transformer with a cache composes 16 melodies, 32 tokens a step, bf16", "launch_overhead", [],
        "top-k, nucleus and sampling run uncompiled after the compiled network",
        "network and sampling in one compiled function"),
    "peptide_language_model": (
        "8-layer transformer in flax, 128 peptides of 128 residues, training", "precision", [],
        "the modules' dtype is float32", "dtype=jnp.bfloat16, parameters stay float32"),
    "interferometer_visibilities": (
        "visibilities of 2048 sources at 32768 baselines and 16 channels", "precision", [],
        "jax_enable_x64 for time stamps; frequencies from np.linspace make everything else FP64 too",
        "the frequencies are float32"),
    "genome_encoder": (
        "6-layer encoder in flax, inference of 2 sequences of 8192 tokens, bf16", "attention", [],
        "flax's own attention_fn, which writes out softmax(QK)V",
        'attention_fn of jax.nn.dot_product_attention(implementation="cudnn")'),
    "ad_candidates": (
        "131072 candidates scored from 26 embeddings each and an MLP, bf16", "memory_bandwidth", [],
        "the embeddings are columns of the table: a lookup reads single floats far apart",
        "the embeddings are rows of the table"),
    "jet_densities": (
        "RealNVP of 16 couplings, batch 32768, bf16", "optimizer", ["launch_overhead"],
        "optax's AdamW runs outside the compiled function, parameter after parameter",
        "AdamW inside the compiled train step"),
    "retrieval_towers": (
        "two towers of 6 layers trained by contrast, batch 8192, bf16", "memory_allocation", [],
        "XLA_PYTHON_CLIENT_ALLOCATOR=platform: cudaMalloc and cudaFree for every result",
        "JAX's own pool of memory (the default)"),
    "face_embeddings": (
        "residual network embeds 256 faces of 160x160, inference, bf16", "gpu_underused", ["launch_overhead"],
        "the faces pass through the network 8 at a time", "all 256 in one batch"),
    "llama_pretraining": (
        "5-layer Llama, 8 texts of 2048 tokens, bf16, cuDNN attention", "none", [], "none", "none"),
    "star_cluster": (
        "gravity between 32768 stars, 4 time steps a step", "none", [], "none", "none"),
}
# What has to be set before JAX is imported, for the variant "broken".
ENVIRONMENT = {"retrieval_towers": {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}}


if __name__ == "__main__":
    main(CASES, run_jax(("jax_training2", "jax_models2"), ENVIRONMENT, so_often(6)))
