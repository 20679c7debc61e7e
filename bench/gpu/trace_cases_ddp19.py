"""A nineteenth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp19: texts, genomes, pictures
and sleep, data-parallel, sharded, as a pipeline and with collectives by hand, each with one plain flaw and its usual
remedy; eight flaws have nothing to do with there being two GPUs. Written by somebody who did not know the analysis."""
import torch
import torch.distributed as dist
import torch.nn.functional as F

import trace_models as own
import trace_nets_ddp19 as nets
import trace_nets_ddp19b as wholes
from trace_cases import (GPU, adamw, amp, classify, images, inference, loaded, next_token, resident, tf32, tokens,
                         training)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_cases_ddp11 import sharded

FOUND, case = annotated_case_list()


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("genome_heads_exchanged_one_by_one", "helix", "multi_gpu_comm", "one all_to_all for queries, keys and values", 1,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Each rank has half of 8192 letters; for attention they change to all letters of half of the heads."""
    return inference(nets.Genome(together=kind == "fixed").run)


@case("zero_essays_scattered_weight_by_weight", "homework", "multi_gpu_comm",
      "one reduce-scatter of all gradients, one all-gather of all weights", 8,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Sharded by hand: each rank keeps the moments of half of every weight."""
    with torch.device(GPU):
        model = own.Decoder(dim=1024, layers=20, heads=16, length=1024).bfloat16()
    optimizer = (nets.ShardedAsOne if kind == "fixed" else nets.ShardedWeightByWeight)(model)
    return training(model, next_token, resident(*tokens(4, 1024)), optimizer, mixed=False)


@case("pipeline_letters_of_the_whole_batch", "mailbag", "multi_gpu_comm", "six micro-batches", 12,
      accept=["multi_gpu_comm", "load_imbalance"])  # each rank waits for the other's half
def _(kind):
    """Four layers on rank 0, four on rank 1; the batch passes through in one piece."""
    with torch.device(GPU):
        half = nets.Half().bfloat16()
        ids = torch.randint(0, 8192, (12, 1024), generator=torch.Generator(GPU).manual_seed(3))
    return nets.pipeline_step(half, adamw(half), ids, 6 if kind == "fixed" else 1)


@case("tp_manuals_ranks_meet_before_every_sum", "manuals", "multi_gpu_comm",
      "no barrier: an all-reduce waits for both ranks by itself", 2, accept=["multi_gpu_comm", "cpu_gpu_sync"])
def _(kind):
    """Tensor parallel; dist.barrier() was put before each all-reduce to be careful."""
    return inference(nets.Manuals(waits=kind == "broken").run)


@case("fsdp_herbs_whole_weights_gathered_for_their_average", "herbs", "multi_gpu_comm",
      "each rank averages its own shards", 192, accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """A moving average of a sharded model's weights."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=224, patch=16, dim=768, layers=14, heads=12)
    model = sharded(network, network.blocks)

    @torch.no_grad()
    def now():
        if kind == "broken":
            return [weight.full_tensor() for weight in model.parameters()]
        shards = [weight.to_local() for weight in model.parameters()]
        return [shard for shard in shards if shard.numel()]
    averages = [part.clone() for part in now()]

    @torch.no_grad()
    def follow(*_):
        torch._foreach_lerp_(averages, now(), 0.001)
    return training(model, classify, resident(*images(96)), mixed=False, tail=follow)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("drawings_fine_ones_on_rank0", "drawings", "load_imbalance", "fine and quick drawings on both ranks", 192)
def _(kind):
    """Fine drawings take six steps, quick ones two; all are gathered at the end."""
    counts = (2, 6)
    with torch.device(GPU):
        network, noise = own.DiffusionUNet(), torch.randn(2, 48, 4, 64, 64)
        everything, times = torch.empty(192, 4, 64, 64), torch.linspace(999, 0, 6)

    def drawn(x, count):
        for at in range(count):
            with amp():
                told = network(x, times[at].expand(len(x)))
            x = x - told.float() / count
        return x

    def run():
        if kind == "fixed":
            mine = torch.cat([drawn(x, count) for x, count in zip(noise, counts)])
        else:
            count = counts[1 - dist.get_rank()]
            mine = torch.cat([drawn(x, count) for x in noise])
        dist.all_gather_into_tensor(everything, mine)
    return inference(run)


@case("ddp_signs_attacked_for_longer_on_rank1", "signs", "load_imbalance",
      "easy and hard signs dealt out to both ranks", 160)
def _(kind):
    """Trained against attacks, which go on until a sign is taken for another: hard ones, on rank 1, need seven."""
    attacks = 4 if kind == "fixed" else (1, 7)[dist.get_rank()]
    with torch.device(GPU):
        network = own.PatchTransformer(image=128, patch=8, dim=512, layers=8, heads=8)
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer, (signs, kinds) = adamw(model), resident(*images(80, 128))()

    def attacked(x):
        for _ in range(attacks):
            x = x.detach().requires_grad_()
            with amp():
                loss = classify(network, x, kinds)
            (slope,) = torch.autograd.grad(loss, x)
            x = x.detach() + 0.01 * slope.sign()
        return x.detach()

    def step():
        x = attacked(signs)
        optimizer.zero_grad(set_to_none=True)
        with amp():
            loss = classify(model, x, kinds)
        loss.backward()
        optimizer.step()
    return step


@case("ddp_hymns_muon_on_rank0_alone", "hymns", "load_imbalance", "matrices dealt out to both ranks by size", 6)
def _(kind):
    """Rank 0 finds the orthogonal change of each matrix and sends it, while rank 1 waits."""
    with torch.device(GPU):
        network = own.Decoder(dim=2048, layers=6, heads=16, length=1024)
    optimizer = nets.Muon(network, network.blocks, dealt=kind == "fixed")
    return training(parallel(network, gradient_as_bucket_view=True), next_token, resident(*tokens(3, 1024)), optimizer)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_sleepers_waves_filtered_by_two_workers", "sleepers", "data_loading", "num_workers 2 -> 12 on both ranks", 64,
      loader=True)
def _(kind):
    batches, close = loaded(wholes.Nights(), 32, 2 if kind == "broken" else 12)
    with torch.device(GPU):
        network = wholes.Sleepers()
    return training(parallel(network, gradient_as_bucket_view=True), classify, batches), close


@case("ddp_sermons_activations_saved_on_host", "sermons", "host_transfer", "activations stay on the GPU: they fit", 8,
      accept=["host_transfer", "cpu_gpu_sync"])
def _(kind):
    with torch.device(GPU):
        network = wholes.Sermons(on_host=kind == "broken")
    return training(parallel(network, gradient_as_bucket_view=True), next_token, resident(*tokens(4, 1024, 8192)))


@case("ddp_barns_boxes_pasted_picture_by_picture", "barns", "cpu_gpu_sync", "all boxes pasted by one mask", 256,
      accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """CutMix with a box and a partner of its own for each picture."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=224, patch=16, dim=512, layers=8, heads=8)
    paste = wholes.pasted_in_turn if kind == "broken" else wholes.pasted_at_once

    def loss_of(m, x, y):
        partners, boxes = torch.randperm(len(x), device=GPU), wholes.drawn_boxes(len(x), x.shape[-1])
        top, bottom, left, right = boxes.unbind(1)
        share = ((bottom - top) * (right - left)).float() / x.shape[-1] ** 2
        scores = m(paste(x, partners, boxes)).float()
        own_loss, other = (F.cross_entropy(scores, wanted, reduction="none") for wanted in (y, y[partners]))
        return ((1 - share) * own_loss + share * other).mean()
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, resident(*images(128)))


@case("ddp_wells_networks_one_after_another", "wells", "launch_overhead", "all small networks in batched products",
      16384)
def _(kind):
    """64 oil wells, each with a small network of its own, 8192 days a rank."""
    with torch.device(GPU):
        network = wholes.Wells(at_once=kind == "fixed")
    return training(parallel(network, gradient_as_bucket_view=True), lambda m, x, y: F.mse_loss(m(x).float(), y),
                    resident(torch.randn(64, 8192, 64), torch.randn(64, 8192)))


@case("ddp_commentary_trained_in_fp32", "commentary", "precision", "bf16 autocast", 48)
def _(kind):
    """As PyTorch comes: products of fp32 matrices do not use TF32."""
    with torch.device(GPU):
        network = wholes.Commentary()
        moves, words = torch.randint(0, 2048, (24, 256)), torch.randint(0, 8192, (24, 256))

    def loss_of(m, moves, words):
        return F.cross_entropy(m(moves, words)[:, :-1].flatten(0, 1).float(), words[:, 1:].flatten())
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, resident(moves, words),
                    mixed=kind == "fixed", before=tf32(False))


@case("ddp_tales_scores_softmaxed_in_fp32", "tales", "attention", "scaled_dot_product_attention(is_causal=True)", 4,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    """Products by einsum, a mask of later words, a softmax in fp32."""
    with torch.device(GPU):
        network = wholes.Tales(written_out=kind == "broken")
    return training(parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False), next_token,
                    resident(*tokens(2, 2048, 8192)))


@case("ddp_glaciers_group_norm_as_in_the_paper", "glaciers", "memory_bandwidth", "F.group_norm and F.silu", 64)
def _(kind):
    with torch.device(GPU):
        network = wholes.Glaciers(by_hand=kind == "broken")
    return training(parallel(network, gradient_as_bucket_view=True), classify,
                    resident(torch.randn(32, 4, 128, 128), torch.randint(0, 8, (32, 128, 128))))


@case("ddp_riddles_radam_per_parameter", "riddles", "optimizer", "RAdam(foreach=True)", 32,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        network = own.Decoder(dim=768, layers=16, heads=12, length=512)
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-4, foreach=kind == "fixed")
    return training(model, next_token, resident(*tokens(16, 512)), optimizer)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_patches_2048_wide_healthy", "patches2048", "none", "", 128)
def _(kind):
    with torch.device(GPU):
        network = own.PatchTransformer(image=224, patch=16, dim=2048, layers=6, heads=16).bfloat16()
    x, y = images(64)
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(x.bfloat16(), y), mixed=False)


@case("fsdp_decoder_3840_wide_healthy", "decoder3840", "none", "", 10)
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(dim=3840, layers=4, heads=30, length=1024, llama=True, hidden=10240)
    return training(sharded(model, model.blocks), next_token, resident(*tokens(5, 1024)), mixed=False)


CASES = mixed_by_cause(FOUND)
