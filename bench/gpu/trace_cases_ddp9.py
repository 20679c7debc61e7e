"""A further set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp9: data-parallel, sharded and
split models, each with one plain flaw and its usual remedy; some flaws have nothing to do with there being two GPUs.
Written by somebody who did not know the analysis. Needs timm and transformers besides."""
import torch
import torch.distributed as dist
import torch.nn.functional as F

import trace_nets_ddp9 as nets
from trace_cases import (GPU, adamw, channels_last, classify, huggingface_loss, images, inference, loaded, next_token,
                         nhwc, resident, tokens, training)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_nets_blind9 import picture_network

FOUND, case = annotated_case_list()


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_starcoder2_gradients_as_one_vector", "starcoder2", "multi_gpu_comm",
      "DistributedDataParallel: all-reduce in buckets during backward", 8)
def _(kind):
    """All gradients are put into one vector once backward is over, averaged and put back."""
    import transformers as hf
    from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
    config = hf.Starcoder2Config(vocab_size=16384, hidden_size=3072, intermediate_size=12288, num_hidden_layers=8,
                                 num_attention_heads=24, num_key_value_heads=2, max_position_embeddings=1024,
                                 residual_dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0,
                                 sliding_window=None, use_cache=False, attn_implementation="sdpa")
    model, data = transformers_network("Starcoder2ForCausalLM", config), resident(*tokens(4, 512))
    if kind == "fixed":
        return training(parallel(model, gradient_as_bucket_view=True), huggingface_loss, data)
    optimizer = adamw(model)

    def average(*_):
        gradients = [p.grad for p in model.parameters()]
        vector = _flatten_dense_tensors(gradients)
        dist.all_reduce(vector)
        vector /= dist.get_world_size()
        for gradient, mean in zip(gradients, _unflatten_dense_tensors(vector, gradients)):
            gradient.copy_(mean)
    optimizer.register_step_pre_hook(average)
    return training(model, huggingface_loss, data, optimizer)


@case("fsdp_qwen3_gathers_and_reduces_fp32", "qwen3", "multi_gpu_comm",
      "MixedPrecisionPolicy: weights and gradients travel in bf16", 4)
def _(kind):
    """Products are in bf16 either way: the step runs under autocast."""
    import transformers as hf
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    config = hf.Qwen3Config(vocab_size=16384, hidden_size=4096, intermediate_size=12288, num_hidden_layers=4,
                            num_attention_heads=32, num_key_value_heads=8, head_dim=128, max_position_embeddings=1024,
                            use_cache=False, attn_implementation="sdpa")
    model, half = transformers_network("Qwen3ForCausalLM", config), torch.bfloat16
    policy = MixedPrecisionPolicy(half, half) if kind == "fixed" else MixedPrecisionPolicy()
    for layer in model.model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return training(model, huggingface_loss, resident(*tokens(2, 384)))


@case("tp_trades_model_trained_in_halves", "trades", "multi_gpu_comm",
      "the whole model on each rank, half of the batch each: it fits", 64)
def _(kind):
    """Four all-reduces of the hidden states for each layer and step."""
    ranks, fixed = dist.get_world_size(), kind == "fixed"
    with torch.device(GPU):
        model = nets.TradesModel(1024, 10, 16, 1 if fixed else ranks)
    x = torch.randn(64 // ranks if fixed else 64, 512, 64)
    return training(parallel(model, gradient_as_bucket_view=True) if fixed else model,
                    lambda m, x: F.mse_loss(m(x)[:, :-1].float(), x[:, 1:]), resident(x))


@case("ddp_eva_average_sent_from_rank0", "eva_large", "multi_gpu_comm",
      "each rank averages its own equal weights, nothing is sent", 48, accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """A moving average of the weights: rank 0 keeps it and sends it to all after each step, a tensor at a time."""
    network = picture_network("eva_large_patch14_196", False)
    weights = [p.detach() for p in network.parameters()]
    average = [w.clone() for w in weights]

    def tail(*_):
        if kind == "fixed" or dist.get_rank() == 0:
            torch._foreach_lerp_(average, weights, 0.001)
        if kind == "broken":
            for mean in average:
                dist.broadcast(mean, 0)
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(*images(24, 196)), tail=tail)


@case("clusters_found_among_all_gathered_points", "clusters", "multi_gpu_comm",
      "sums and counts of each cluster all-reduced, points stay where they are", 2 << 20)
def _(kind):
    """One iteration of k-means over pictures' features; each rank holds half of them."""
    count, ranks = 1000, dist.get_world_size()
    with torch.device(GPU):
        points = F.normalize(torch.randn(1 << 20, 256), dim=1).bfloat16()
        centres = F.normalize(torch.randn(count, 256), dim=1)
    dist.broadcast(centres, 0)

    def run():
        which = nets.nearest(points, centres.bfloat16())
        if kind == "broken":
            all_points = points.new_empty(ranks * len(points), points.shape[1])
            all_which = which.new_empty(ranks * len(which))
            dist.all_gather_into_tensor(all_points, points)
            dist.all_gather_into_tensor(all_which, which)
            sums, members = nets.sums_of(all_points, all_which, count)
        else:
            sums, members = nets.sums_of(points, which, count)
            dist.all_reduce(sums)
            dist.all_reduce(members)
        centres.copy_(F.normalize(sums / members.clamp(min=1)[:, None], dim=1))
    return inference(run)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_colours_rank0_writes_samples", "colours", "load_imbalance", "samples once an epoch, not at every step", 128,
      accept=["load_imbalance", "cpu_gpu_sync"])
def _(kind):
    """Rank 0 makes a PNG of nine coloured photos; rank 1 waits for it in the next step's all-reduce."""
    from torchvision.io import encode_png
    from torchvision.utils import make_grid
    with torch.device(GPU):
        model = nets.Colours().to(memory_format=torch.channels_last)
    wanted = channels_last(torch.rand(64, 3, 256, 256))
    kept = {}

    def loss_of(m, wanted):
        found = m(wanted.mean(1, keepdim=True))
        kept["samples"] = found[:9].detach()
        return F.l1_loss(found.float(), wanted)

    def write(*_):
        if kind == "broken" and dist.get_rank() == 0:
            grid = make_grid(kept["samples"].float(), nrow=3).mul(255).clamp(0, 255).byte().cpu().contiguous()
            kept["png"] = encode_png(grid)
    return training(parallel(model, gradient_as_bucket_view=True), loss_of, resident(wanted), tail=write)


@case("ddp_papers_batched_by_tokens", "papers", "load_imbalance", "a paper and 20 abstracts on each rank", 42)
def _(kind):
    """As many words on both ranks: papers on rank 0, abstracts on rank 1, where attention costs a fraction."""
    with torch.device(GPU):
        model = nets.Papers()
    papers, abstracts = torch.randint(0, 8192, (2, 10240)), torch.randint(0, 8192, (40, 512))
    parts = (papers[:1], abstracts[:20]) if kind == "fixed" else ((papers,), (abstracts,))[dist.get_rank()]
    return training(parallel(model, gradient_as_bucket_view=True), lambda m, *ids: m(*ids), resident(*parts))


@case("ddp_sounds_rank1_makes_spectra_on_host", "sounds", "load_imbalance",
      "spectrograms on the GPU on both ranks", 128, accept=["load_imbalance", "data_loading"])
def _(kind):
    """Rank 1 was set up to take its spectrograms on the CPU, clip by clip."""
    host = kind == "broken" and dist.get_rank() == 1
    model = picture_network("ecaresnet50d", in_chans=1, num_classes=527)
    clips, y = torch.randn(64, 64000).pin_memory(), torch.randint(0, 527, (64,)).to(GPU)
    spectra = nets.Spectra("cpu" if host else GPU)

    def batches():
        if host:
            x = torch.stack([spectra(clip) for clip in clips]).to(GPU)
        else:
            x = spectra(clips.to(GPU, non_blocking=True))
        return channels_last(x[:, None]), y
    return training(parallel(model, gradient_as_bucket_view=True), classify, batches)


@case("captioner_tower_on_rank0_words_on_rank1", "captioner", "load_imbalance",
      "both parts on each rank, half of the pictures each", 128)
def _(kind):
    """Four micro-batches pass from the picture tower on rank 0 to four layers for the words on rank 1."""
    rank, ranks, fixed = dist.get_rank(), dist.get_world_size(), kind == "fixed"
    tower = words = None
    if fixed or rank == 0:
        tower = picture_network("vit_large_patch16_siglip_256", False, num_classes=0).bfloat16().eval()
    with torch.device(GPU):
        if fixed or rank == 1:
            words = nets.Captions().bfloat16().eval()
        pictures = torch.randn(4 // ranks if fixed else 4, 32, 3, 256, 256, dtype=torch.bfloat16)
        ids = torch.randint(0, 16384, (32, 32))

    def whole():
        for some in pictures:
            words(tower.forward_features(some), ids)

    def look():
        kept = []
        for some in pictures:
            seen = tower.forward_features(some).contiguous()
            kept.append((seen, dist.isend(seen, 1)))
        for _, sending in kept:
            sending.wait()

    def tell():
        for _ in pictures:
            seen = torch.empty(32, 256, 1024, device=GPU, dtype=torch.bfloat16)
            dist.recv(seen, 0)
            words(seen, ids)
    return inference(whole if fixed else look if rank == 0 else tell)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_coatnet_slices_without_workers", "coatnet", "data_loading", "num_workers 0 -> 14 on both ranks", 96,
      loader=True)
def _(kind):
    batches, close = loaded(nets.Slices(), 48, 0 if kind == "broken" else 14)
    model = picture_network("coatnet_0_rw_224", num_classes=14)
    return training(parallel(model, gradient_as_bucket_view=True), classify, nhwc(batches)), close


@case("ddp_xcit_norms_read_tensor_by_tensor", "xcit", "cpu_gpu_sync", "all norms in one tensor that stays on the GPU",
      128)
def _(kind):
    """The norm of each weight and of its gradient, noted at every step."""
    network, notes = picture_network("xcit_small_12_p16_224", False), {}
    names, weights = zip(*network.named_parameters())

    def note(*_):
        gradients = [w.grad for w in weights]
        if kind == "broken":
            for name, weight, gradient in zip(names, weights, gradients):
                notes[name] = weight.detach().norm().item(), gradient.norm().item()
            return
        with torch.no_grad():
            notes["all"] = torch.stack(torch._foreach_norm(weights) + torch._foreach_norm(gradients))
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(*images(64)), tail=note)


@case("ddp_granite_eager_attention", "granite", "attention", "attn_implementation eager -> sdpa", 8,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    import transformers as hf
    config = hf.GraniteConfig(vocab_size=16384, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
                              num_attention_heads=16, num_key_value_heads=16, max_position_embeddings=2048,
                              attention_multiplier=0.125, attention_dropout=0.0, use_cache=False,
                              attn_implementation="eager" if kind == "broken" else "sdpa")
    model = transformers_network("GraniteForCausalLM", config)
    return training(parallel(model, gradient_as_bucket_view=True), huggingface_loss, resident(*tokens(4, 2048)))


@case("ddp_notes_norms_and_activations_written_out", "notes", "memory_bandwidth", "F.rms_norm and F.gelu", 32)
def _(kind):
    with torch.device(GPU):
        model = nets.Notes(kind == "broken").bfloat16()
    return training(parallel(model, gradient_as_bucket_view=True), next_token, resident(*tokens(16, 1024, 2048)),
                    mixed=False)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_stablelm_healthy", "stablelm", "none", "", 24)
def _(kind):
    import transformers as hf
    config = hf.StableLmConfig(vocab_size=16384, hidden_size=2560, intermediate_size=6912, num_hidden_layers=4,
                               num_attention_heads=32, num_key_value_heads=32, max_position_embeddings=1024,
                               hidden_dropout=0.0, attention_dropout=0.0, use_cache=False, attn_implementation="sdpa")
    model = transformers_network("StableLmForCausalLM", config).bfloat16()
    return training(parallel(model, gradient_as_bucket_view=True), huggingface_loss, resident(*tokens(12, 1024)),
                    mixed=False)


@case("ddp_spectrogram_patches_healthy", "ast", "none", "", 48)
def _(kind):
    import transformers as hf
    config = hf.ASTConfig(hidden_size=1024, num_hidden_layers=8, num_attention_heads=16, intermediate_size=4096,
                          hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_mel_bins=128, max_length=1024,
                          num_labels=527, attn_implementation="sdpa")
    model = transformers_network("ASTForAudioClassification", config).bfloat16()
    x, y = torch.randn(24, 1024, 128).bfloat16(), torch.randint(0, 527, (24,))
    return training(parallel(model, gradient_as_bucket_view=True),
                    lambda m, x, y: F.cross_entropy(m(input_values=x).logits.float(), y), resident(x, y), mixed=False)


@case("prototypes_of_giant_features_healthy", "vit_giant", "none", "", 96)
def _(kind):
    """The mean feature of each class of pictures, summed over both ranks at the end."""
    tower = picture_network("vit_giant_patch14_clip_224", False, num_classes=0).bfloat16().eval()
    with torch.device(GPU):
        pictures, kinds = torch.randn(48, 3, 224, 224, dtype=torch.bfloat16), torch.randint(0, 100, (48,))
        sums = torch.zeros(100, tower.num_features)

    def run():
        found = torch.zeros_like(sums).index_add_(0, kinds, F.normalize(tower(pictures).float(), dim=1))
        dist.all_reduce(found)
        sums.add_(found)
    return inference(run)


CASES = mixed_by_cause(FOUND)
