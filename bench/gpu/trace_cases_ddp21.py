"""A twenty-first set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp21: texts, pictures, knees
and satellites, data-parallel, sharded, cut by heads, or asked on both ranks, each with one plain flaw and its usual
remedy; seven flaws have nothing to do with there being two GPUs. Written by somebody who did not know the analysis."""
import torch
import torch.distributed as dist
import torch.nn.functional as F

import trace_models as own
import trace_nets_ddp21 as nets
from trace_cases import (GPU, Prefetched, adamw, amp, classify, copied, images, inference, loaded, next_token, resident,
                         tf32, tokens, training)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_cases_ddp11 import sharded
from trace_nets_ddp18 import gathered
from trace_nets_ddp18b import recorded

FOUND, case = annotated_case_list()


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("local_sgd_sagas_averaged_after_every_step", "sagas", "multi_gpu_comm", "weights averaged every 16 steps", 4)
def _(kind):
    """Each rank steps by itself; PyTorch's own averager makes the weights equal again."""
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    with torch.device(GPU):
        model = own.Decoder(dim=2560, layers=5, heads=20, length=512, llama=True)
    averager = PeriodicModelAverager(period=1 if kind == "broken" else 16)
    return training(model, next_token, resident(*tokens(2, 512)),
                    tail=lambda m, loss: averager.average_parameters(m.parameters()))


@case("prompts_whole_cache_sent_to_rank1", "prompts", "multi_gpu_comm", "only the places that prompts take are sent", 8)
def _(kind):
    """Rank 0 reads prompts of 512 words, rank 1 writes the answers; the cache has room for 4096."""
    return inference(nets.Prompts(used=kind == "fixed").run)


@case("fsdp_reports_one_text_a_rank", "reports", "multi_gpu_comm", "eight texts a rank for each gathering of weights",
      2, fixed_batch=16, accept=["multi_gpu_comm", "gpu_underused"])
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(dim=4096, layers=4, heads=32, length=512)
    return training(sharded(model, model.blocks), next_token, resident(*tokens(1 if kind == "broken" else 8, 512)),
                    mixed=False)


@case("calibration_sums_reduced_at_every_batch", "calibration", "multi_gpu_comm",
      "each rank adds up its own, all-reduced after 32 batches", 2)
def _(kind):
    """What a matrix is fed with, times itself, for its quantization."""
    return inference(nets.Calibration(batches=1 if kind == "broken" else 32).run)


@case("streets_boxes_gathered_picture_by_picture", "streets", "multi_gpu_comm", "boxes of all pictures gathered as one",
      128, accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Both ranks want the boxes that either has found."""
    with torch.device(GPU):
        network, pictures = nets.BoxFinder().bfloat16(), torch.randn(64, 3, 256, 256, dtype=torch.bfloat16)

    def run():
        boxes, scores = network(pictures)
        if kind == "fixed":
            return gathered(boxes), gathered(scores)
        return [gathered(part) for part in boxes], [gathered(part) for part in scores]
    return inference(run)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("biopsies_large_ones_on_rank0", "biopsies", "load_imbalance", "batches of tiles dealt out, not biopsies", 768)
def _(kind):
    """Two large biopsies of three batches of tiles, two small ones of one."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=224, patch=16, dim=768, layers=12, heads=12).bfloat16()
        tiles = torch.randn(96, 3, 224, 224, dtype=torch.bfloat16)
    biopsies, rank = [0, 0, 0, 1, 1, 1, 2, 3], dist.get_rank()
    mine = biopsies[rank::2] if kind == "fixed" else [each for each in biopsies if each // 2 == rank]

    def run():
        told = torch.zeros(4, 1000, device=GPU)
        for biopsy in mine:
            told[biopsy] += network(tiles).float().sum(0)
        dist.all_reduce(told)
    return inference(run)


@case("ddp_guide_pictures_all_on_rank1", "guide", "load_imbalance",
      "texts with and without a picture on both ranks", 96)
def _(kind):
    """A picture is 196 words' worth; the eyes are frozen."""
    count = 24 if kind == "fixed" else (0, 48)[dist.get_rank()]
    with torch.device(GPU):
        network, eyes = nets.Assistant(), nets.Eyes().bfloat16().requires_grad_(False)

    def loss_of(m, ids, pictures):
        with torch.no_grad():
            seen = eyes(pictures) if count else pictures
        return m(ids, seen)
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(*tokens(48, 64), torch.randn(count, 3, 224, 224, dtype=torch.bfloat16)))


@case("tp_statutes_most_heads_on_rank0", "statutes", "load_imbalance", "sixteen heads on each rank", 4)
def _(kind):
    """Cut for two GPUs of which the second was smaller: 26 heads and 6."""
    return inference(nets.Split(16 if kind == "fixed" else (26, 6)[dist.get_rank()]).run)


@case("ddp_diarists_rank0_logs_norms_of_weights", "diarists", "load_imbalance", "norms logged every 500 steps", 32,
      accept=["load_imbalance", "cpu_gpu_sync", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        network = own.Decoder(dim=1024, layers=12, heads=16, length=512)
    log = {}

    @torch.no_grad()
    def watch(*_):
        if kind == "broken" and dist.get_rank() == 0:
            for name, weight in network.named_parameters():
                log[name] = weight.norm().item(), weight.grad.norm().item()
    return training(parallel(network, gradient_as_bucket_view=True), next_token, resident(*tokens(16, 512)), tail=watch)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_knees_pictured_by_three_workers", "knees", "data_loading", "num_workers 3 -> 12 on both ranks", 16,
      loader=True)
def _(kind):
    batches, close = loaded(nets.Knees(), 8, 3 if kind == "broken" else 12)
    with torch.device(GPU):
        network = own.UNet(base=48).to(memory_format=torch.channels_last)
    model = parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False)
    return training(model, lambda m, x, y: classify(m, x.contiguous(memory_format=torch.channels_last), y),
                    batches), close


@case("ddp_bands_copied_from_pageable_memory", "bands", "host_transfer", "pinned, copied ahead on a second stream", 320)
def _(kind):
    data = torch.randn(160, 13, 128, 128), torch.randint(0, 43, (160,))
    with torch.device(GPU):
        network = nets.Bands()
    batches = copied(*data, pinned=False, blocking=True) if kind == "broken" else Prefetched(*data)
    return training(parallel(network, gradient_as_bucket_view=True), classify, batches)


@case("ddp_moulds_gradients_checked_one_by_one", "moulds", "cpu_gpu_sync", "one check of the norms of all", 112,
      accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """A step is left out if a gradient is not a number."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=224, patch=16, dim=768, layers=16, heads=12)
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer, (x, y) = adamw(model), resident(*images(56))()

    def usable(gradients):
        if kind == "fixed":
            return bool(torch.stack(torch._foreach_norm(gradients)).isfinite().all())
        return not any([torch.isnan(gradient).any().item() for gradient in gradients])

    def step():
        optimizer.zero_grad(set_to_none=True)
        with amp():
            loss = classify(model, x, y)
        loss.backward()
        if usable([weight.grad for weight in model.parameters()]):
            optimizer.step()
    return step


@case("writers_words_launched_one_by_one", "writers", "launch_overhead", "two words as one CUDA graph", 64)
def _(kind):
    """Each rank goes on with its texts, two words a step; both want what was written."""
    writers = nets.Writers()
    write = recorded(writers.write) if kind == "fixed" else writers.write

    def run():
        write()
        writers.gather()
    return inference(run)


@case("ddp_xrays_products_in_full_fp32", "xrays", "precision", "TF32 allowed", 48)
def _(kind):
    """float32 as PyTorch comes."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=224, patch=16, dim=1024, layers=8, heads=16)
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(*images(24)), mixed=False,
                    before=tf32(kind == "fixed"))


@case("ddp_engravings_scores_written_out", "engravings", "attention", "scaled_dot_product_attention", 6,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    """4096 patches a picture."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=512, patch=8, dim=768, layers=4, heads=12,
                                       attention="manual" if kind == "broken" else "flash")
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(*images(3, 512)))


@case("ddp_sonnets_lion_weight_by_weight", "sonnets", "optimizer", "torch._foreach operations on all weights", 16,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        network = own.Decoder(dim=896, layers=18, heads=14, length=512)
    return training(parallel(network, gradient_as_bucket_view=True), next_token, resident(*tokens(8, 512)),
                    nets.Lion(network, at_once=kind == "fixed"))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_decoder_2816_wide_healthy", "decoder2816", "none", "", 24)
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(dim=2816, layers=4, heads=22, length=512)
    return training(parallel(model, gradient_as_bucket_view=True), next_token, resident(*tokens(12, 512)))


@case("answers_scored_on_both_ranks_healthy", "answers4096", "none", "", 12)
def _(kind):
    """Each rank scores its half of the answers."""
    with torch.device(GPU):
        model = own.Decoder(dim=4096, layers=6, heads=32, length=1024, llama=True, hidden=11008).bfloat16()
    (ids,) = resident(*tokens(6, 1024))()

    def run():
        scores = F.log_softmax(model(ids)[:, :-1].float(), dim=-1).gather(2, ids[:, 1:, None]).squeeze(2)
        gathered(scores.sum(1))
    return inference(run)


CASES = mixed_by_cause(FOUND)
