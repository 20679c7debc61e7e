"""A twelfth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp12: data-parallel and sharded
models with few, large kernels, each with one plain flaw and its usual remedy; four flaws have nothing to do with there
being two GPUs. Written by somebody who did not know the analysis. Needs timm, transformers and PIL besides."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
import trace_nets_ddp12 as nets
from trace_cases import (GPU, amp, channels_last, classify, huggingface_loss, images, loaded, next_token, nhwc,
                         resident, tokens, training, vision)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_cases_ddp11 import sharded
from trace_nets_blind9 import picture_network

FOUND, case = annotated_case_list()


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_sharpness_aware_ascent_reduced", "proverbs", "multi_gpu_comm", "no_sync() around the ascent's pass", 2)
def _(kind):
    """Each step goes uphill first and takes its gradient there; uphill each rank may go by its own text."""
    with torch.device(GPU):
        network = own.Decoder(dim=4096, layers=2, heads=32, length=512)
    model, (texts,) = parallel(network, gradient_as_bucket_view=True), resident(*tokens(1, 512))()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)
    weights = list(model.parameters())
    kept = [torch.empty_like(weight) for weight in weights]

    def backward(quiet):
        optimizer.zero_grad(set_to_none=True)
        with model.no_sync() if quiet else contextlib.nullcontext():
            with amp():
                loss = next_token(model, texts)
            loss.backward()

    @torch.no_grad()
    def climb():
        gradients = [weight.grad for weight in weights]
        scale = 0.05 / (torch.stack(torch._foreach_norm(gradients)).norm() + 1e-12)
        torch._foreach_copy_(kept, weights)
        torch._foreach_add_(weights, torch._foreach_mul(gradients, scale))

    def step():
        backward(quiet=kind == "fixed")
        climb()
        backward(quiet=False)
        with torch.no_grad():
            torch._foreach_copy_(weights, kept)
        optimizer.step()
    return step


@case("ddp_selecsls_sync_batchnorm", "selecsls60b", "multi_gpu_comm", "BatchNorm2d: 48 pictures a rank are enough", 96,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    model = picture_network("selecsls60b")
    if kind == "broken":
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    x, y = images(48)
    return training(parallel(model, gradient_as_bucket_view=True), classify, resident(channels_last(x), y))


@case("ddp_scenes_gathers_scores_of_all_pixels", "scenes", "multi_gpu_comm",
      "each rank counts its own pixels, one all-reduce of the counts", 16)
def _(kind):
    """The share of pixels told right of each of 150 kinds, over both ranks, after each step."""
    kinds, kept, log = 150, {}, {}
    network = own.UNet(base=32, depth=4, classes=kinds).to(GPU).to(memory_format=torch.channels_last)
    x, y = torch.randn(8, 3, 512, 512), torch.randint(0, kinds, (8, 512, 512))

    def loss_of(m, x, y):
        scores = m(x).float()
        kept["scores"], kept["wanted"] = scores.detach(), y
        return F.cross_entropy(scores, y)

    def gathered(part):
        parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, part)
        return torch.cat(parts)

    @torch.no_grad()
    def count(*_):
        scores, wanted = kept.pop("scores"), kept.pop("wanted")
        if kind == "broken":
            scores, wanted = gathered(scores.contiguous()), gathered(wanted)
        counts = nets.confusion(scores.argmax(1), wanted, kinds)
        if kind == "fixed":
            dist.all_reduce(counts)
        log["shares"] = counts.diagonal() / (counts.sum(0) + counts.sum(1) - counts.diagonal())
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, resident(channels_last(x), y),
                    tail=count)


@case("fsdp_letters_norms_of_whole_gradients", "letters", "multi_gpu_comm",
      "norms of the shards, one all-reduce of their squares", 8)
def _(kind):
    """The norm of each gradient is logged at every step."""
    with torch.device(GPU):
        model = own.Decoder(dim=3072, layers=4, heads=24, length=512, llama=True, hidden=8192)
    sharded(model, model.blocks)
    weights, log = list(model.parameters()), {}

    @torch.no_grad()
    def norms(*_):
        if kind == "broken":
            log["norms"] = torch.stack([weight.grad.full_tensor().norm() for weight in weights])
            return
        squares = torch.stack(torch._foreach_norm([weight.grad.to_local() for weight in weights])).square()
        dist.all_reduce(squares)
        log["norms"] = squares.sqrt()
    return training(model, next_token, resident(*tokens(4, 512)), mixed=False, tail=norms)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_regnet_y_batch_by_size_of_shard", "regnet_y_3_2gf", "load_imbalance", "96 pictures on both ranks", 192)
def _(kind):
    """Rank 1's folder has three times as many pictures, so its batch was made three times as large."""
    batch = 96 if kind == "fixed" else (48, 144)[dist.get_rank()]
    x, y = images(batch)
    return training(parallel(vision("regnet_y_3_2gf"), gradient_as_bucket_view=True), classify,
                    resident(channels_last(x), y))


@case("ddp_scans_of_the_city_on_rank0", "scans", "load_imbalance", "scans of city and country on both ranks", 16)
def _(kind):
    """A scan in the city has 65536 points, one in the country 16384."""
    with torch.device(GPU):
        model = nets.Scans()
    points = 40960 if kind == "fixed" else (65536, 16384)[dist.get_rank()]
    return training(parallel(model, gradient_as_bucket_view=True), nets.points_loss, resident(*nets.scans(8, points)))


@case("ddp_betwixt_rank0_validates_every_step", "vit_betwixt", "load_imbalance", "validated once in 500 steps", 192)
def _(kind):
    """After each step rank 0 looks how well 256 pictures are told that were put aside; rank 1 waits."""
    network, log = picture_network("vit_betwixt_patch16_reg4_gap_256", False), {}
    x, y = images(96, 256)
    if dist.get_rank() == 0:
        aside, wanted = resident(*images(256, 256))()

    @torch.no_grad()
    def validate(*_):
        if kind == "fixed" or dist.get_rank() != 0:
            return
        network.eval()
        with amp():
            log["share"] = (network(aside).argmax(1) == wanted).float().mean()
        network.train()
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(x, y), tail=validate)


@case("ddp_vgg13_rank0_draws_sheets", "vgg13", "load_imbalance", "a sheet of pictures once an epoch", 96,
      accept=["load_imbalance", "data_loading"])
def _(kind):
    """At each step rank 0's host writes six of the pictures, as they came from the disk, into a PNG file."""
    x, y = images(48)
    read, log = torch.randint(0, 256, (6, 3, 224, 224), dtype=torch.uint8), {}

    def draw(*_):
        if kind == "broken" and dist.get_rank() == 0:
            log["sheet"] = nets.sheet_of(read)
    return training(parallel(vision("vgg13_bn"), gradient_as_bucket_view=True), classify,
                    resident(channels_last(x), y), tail=draw)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_resnetrs_photographs_at_full_size", "resnetrs50", "data_loading",
      "the files made smaller once, before training", 128, loader=True)
def _(kind):
    """Six workers a rank read files of 640 pixels a side and make them 256 a side, each time anew."""
    batches, close = loaded(nets.Photographs(640 if kind == "broken" else 256), 64, 6)
    return training(parallel(picture_network("resnetrs50"), gradient_as_bucket_view=True), classify,
                    nhwc(batches)), close


@case("ddp_tunes_noise_levels_read_one_by_one", "tunes", "cpu_gpu_sync", "levels of all tunes looked up on the GPU",
      256, accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        model = nets.Tunes()
    schedule = nets.Schedule(together=kind == "fixed")
    return training(parallel(model, gradient_as_bucket_view=True), schedule.loss, resident(torch.randn(128, 64, 128)))


@case("ddp_enlarger_pictures_back_to_host", "enlarger", "host_transfer",
      "enlarged pictures stay on the GPU, the last ones are copied at the end", 32,
      accept=["host_transfer", "cpu_gpu_sync"])
def _(kind):
    with torch.device(GPU):
        network = nets.Enlarger().to(memory_format=torch.channels_last)
    log, x = {}, channels_last(torch.randn(16, 3, 256, 256))

    def loss_of(m, x, y):
        large = m(x).float()
        log["pictures"] = large.detach()
        return F.l1_loss(large, y)

    def keep(*_):
        if kind == "broken":
            log["pictures"] = log["pictures"].cpu()
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(x, torch.randn(16, 3, 1024, 1024)), tail=keep)


@case("ddp_slides_attention_written_out", "slides", "attention", "scaled_dot_product_attention", 8,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    """3600 patches of a slide under the microscope look at each other."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=480, patch=8, dim=768, layers=5, heads=12,
                                       attention="manual" if kind == "broken" else "flash")
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(*images(4, 480)))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("fsdp_arcee_healthy", "arcee", "none", "", 16)
def _(kind):
    import transformers as hf
    config = hf.ArceeConfig(vocab_size=16384, hidden_size=4096, intermediate_size=16384, num_hidden_layers=3,
                            num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=1024,
                            attention_dropout=0.0, bos_token_id=1, eos_token_id=2, use_cache=False,
                            attn_implementation="sdpa")
    model = transformers_network("ArceeForCausalLM", config)
    return training(sharded(model, model.model.layers), huggingface_loss, resident(*tokens(8, 512)), mixed=False)


@case("ddp_siglip_large_aesthetics_healthy", "siglip_l16", "none", "", 96)
def _(kind):
    model = picture_network("vit_large_patch16_siglip_256", False, num_classes=10).bfloat16()
    x, y = images(48, 256, classes=10)
    return training(parallel(model, gradient_as_bucket_view=True), classify, resident(x.bfloat16(), y), mixed=False)


CASES = mixed_by_cause(FOUND)
