"""A thirteenth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp13: mostly pictures and what
is found in them, each case with one plain flaw and its usual remedy; seven flaws have nothing to do with there being
two GPUs. Written by somebody who did not know the analysis. Needs timm, torchvision and PIL besides."""
import contextlib
import itertools

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
import trace_nets_ddp13 as nets
from trace_cases import (GPU, Prefetched, adamw, amp, channels_last, classify, copied, images, inference, loaded,
                         resident, training, vision)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_cases_ddp11 import sharded
from trace_nets_blind9 import picture_network

FOUND, case = annotated_case_list()


def on_gpu(build, *arguments, **more):
    """A network of convolutions, drawn on the GPU."""
    with torch.device(GPU):
        return build(*arguments, **more).to(memory_format=torch.channels_last)


def lit(batches):
    """Pictures of bytes as numbers around zero."""
    def prepared():
        pictures, *others = batches()
        return channels_last(pictures.float().div_(127.5).sub_(1)), *others
    return prepared


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_murals_gradients_widened", "murals", "multi_gpu_comm", "no hook: bf16 gradients are summed in bf16", 8,
      accept=["multi_gpu_comm", "precision"])
def _(kind):
    """The weights and gradients are bf16; a hook makes each bucket fp32 for the sum, and bf16 again."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=256, patch=16, dim=3584, layers=5, heads=28).bfloat16()
    model = parallel(network, gradient_as_bucket_view=True)

    def widened(_, bucket):
        gradients = bucket.buffer()
        wide = gradients.float().div_(dist.get_world_size())
        future = dist.all_reduce(wide, async_op=True).get_future()
        return future.then(lambda done: gradients.copy_(done.value()[0]))
    if kind == "broken":
        model.register_comm_hook(None, widened)
    x, y = images(4, 256)
    return training(model, classify, resident(x.bfloat16(), y), mixed=False)


@case("ddp_reefs_reduces_every_micro_batch", "reefs", "multi_gpu_comm", "no_sync() but for the last micro-batch", 24)
def _(kind):
    """Six micro-batches of two pictures on each rank."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=224, patch=16, dim=4096, layers=3, heads=32)
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer, (x, y) = adamw(model), resident(*images(12))()

    def step():
        optimizer.zero_grad(set_to_none=True)
        for index, (pictures, kinds) in enumerate(zip(x.split(2), y.split(2))):
            quiet = kind == "fixed" and index < 5
            with model.no_sync() if quiet else contextlib.nullcontext():
                with amp():
                    loss = classify(model, pictures, kinds) / 6
                loss.backward()
        optimizer.step()
    return step


@case("ddp_vit_l16_buckets_of_30_kb", "vit_l_16", "multi_gpu_comm", "bucket_cap_mb 0.03 -> 25", 72,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    model = parallel(vision("vit_l_16", False), bucket_cap_mb=0.03 if kind == "broken" else 25,
                     gradient_as_bucket_view=True)
    return training(model, classify, resident(*images(36)))


@case("ddp_portraits_all_people_on_both_ranks", "portraits", "multi_gpu_comm",
      "each rank has half of the people; features are gathered, not the head's gradients summed", 128,
      accept=["multi_gpu_comm", "optimizer", "memory_bandwidth"])
def _(kind):
    """Whose face it is, of 1.6 million people, each with 512 numbers in the head."""
    people, ranks = 1_600_000, dist.get_world_size()
    network, (x, y) = on_gpu(nets.Portraits), images(64, 112, people)
    data = resident(channels_last(x), y)
    count = people if kind == "broken" else people // ranks
    with torch.device(GPU):
        head = nn.Linear(512, count, bias=False)
    if kind == "broken":
        model = parallel(nn.Sequential(network, head), gradient_as_bucket_view=True)
        return training(model, classify, data, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, fused=True))
    model, first = parallel(network, gradient_as_bucket_view=True), dist.get_rank() * count

    def loss_of(m, x, y):
        wanted = y.new_empty(ranks * len(y))
        dist.all_gather_into_tensor(wanted, y)
        return nets.SplitEntropy.apply(head(nets.Gathered.apply(m(x))), wanted, first)
    weights = [*model.parameters(), *head.parameters()]
    return training(model, loss_of, data, torch.optim.SGD(weights, 0.01, momentum=0.9, fused=True))


@case("tower_layers_gathered_one_after_another", "tower5120", "multi_gpu_comm",
      "the next layer gathered while this one computes", 12)
def _(kind):
    """Each rank keeps one half of every layer's weights and describes its own six pictures."""
    tower = nets.SplitTower(5120, 40, 8, ahead=kind == "fixed")
    patches = torch.randn(6, 256, 5120, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: tower(patches))


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_outlines_crowds_on_rank1", "outlines", "load_imbalance", "crowded and empty pictures on both ranks", 16)
def _(kind):
    """Rank 1's pictures have 200 things each, rank 0's have 20; every thing's outline is looked for."""
    each = 110 if kind == "fixed" else (20, 200)[dist.get_rank()]
    x, _ = images(8, 512)
    return training(parallel(on_gpu(nets.Outlines), gradient_as_bucket_view=True), nets.outlines_loss,
                    resident(channels_last(x), *nets.boxed(8, each)))


@case("ddp_dla34_sizes_drawn_by_each_rank", "dla34", "load_imbalance",
      "the size of a step's pictures drawn alike on both ranks", 96)
def _(kind):
    """Pictures of 512, 384 or 256 pixels a side, another size at each step; the ranks' dice differ."""
    sizes = (256, 512, 384) if kind == "broken" and dist.get_rank() == 1 else (512, 384, 256)
    batches = []
    for size in sizes:
        x, y = images(48, size)
        batches.append(resident(channels_last(x), y)())
    turns = itertools.cycle(batches)
    return training(parallel(picture_network("dla34"), gradient_as_bucket_view=True), classify, lambda: next(turns))


@case("ddp_orchards_kept_in_memory_on_rank0", "resnet50c", "load_imbalance", "opened pictures kept on both ranks", 128,
      loader=True, accept=["load_imbalance", "data_loading"])
def _(kind):
    """Rank 0 opened all files once; four workers of rank 1 open them anew whenever they are asked for."""
    batches, close = loaded(nets.Orchards(kept=kind == "fixed" or dist.get_rank() == 0), 64, 4)
    return training(parallel(picture_network("resnet50c"), gradient_as_bucket_view=True), classify,
                    lit(batches)), close


@case("ddp_spotter_rank0_scores_every_step", "spotter", "load_imbalance", "boxes scored once an epoch", 48,
      accept=["load_imbalance", "cpu_gpu_sync"])
def _(kind):
    """After each step rank 0's host goes through 20 boxes of each picture, for the precision in the log."""
    model, kept, log = parallel(on_gpu(nets.Spotter), gradient_as_bucket_view=True), {}, {}
    x, _ = images(24, 512)
    there, boxes = (torch.rand(24, 1024) < 0.03).float(), torch.rand(24, 1024, 4)
    wanted = torch.rand(24, 20, 4)
    wanted[..., 2:] += wanted[..., :2]
    wanted = wanted.numpy()

    def loss_of(m, x, there, boxes):
        found = m(x).float()
        kept["found"] = found.detach()
        return nets.spotted_loss(found, there, boxes)

    @torch.no_grad()
    def score(*_):
        found = kept.pop("found")
        if kind == "fixed" or dist.get_rank() != 0:
            return
        surest = found[..., 0].topk(20).indices[..., None].expand(-1, -1, 4)
        corner, size = found[..., 1:].gather(1, surest).split(2, dim=2)
        log["precision"] = nets.matched(torch.cat([corner, corner + size.abs()], dim=2).cpu().numpy(), wanted)
    return training(model, loss_of, resident(channels_last(x), there, boxes), tail=score)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_mosaics_made_by_three_workers", "mosaics", "data_loading", "num_workers 3 -> 12 on both ranks", 64,
      loader=True)
def _(kind):
    batches, close = loaded(nets.Mosaics(), 32, 3 if kind == "broken" else 12)
    model = parallel(on_gpu(nets.Spotter, depth=3), gradient_as_bucket_view=True)
    return training(model, lambda m, x, there, boxes: nets.spotted_loss(m(x).float(), there, boxes),
                    lit(batches)), close


@case("ddp_flow_frames_from_pageable_memory", "flow_of_pixels", "host_transfer",
      "pinned, copied on a second stream during the step before", 24)
def _(kind):
    """Two frames of a film and how far each pixel moves between them, all in fp32."""
    x, y = channels_last(torch.randn(12, 6, 448, 1024)), torch.randn(12, 2, 448, 1024)
    batches = copied(x, y, pinned=False, blocking=True) if kind == "broken" else Prefetched(x, y)
    return training(parallel(on_gpu(nets.Flow), gradient_as_bucket_view=True),
                    lambda m, frames, moved: F.l1_loss(m(frames), moved), batches)


@case("ddp_resnet14t_sure_guesses_picked_in_turn", "resnet14t", "cpu_gpu_sync",
      "guesses that are not sure weighted with zero on the GPU", 320, accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """128 pictures on each rank have no label: a guess about a picture is learnt from where it is sure."""
    network = picture_network("resnet14t", num_classes=10)
    (x, y), (weak, _), (strong, _) = images(32, classes=10), images(128), images(128)

    def unlabelled(scores, guesses):
        if kind == "fixed":
            sure, kinds = guesses.max(1)
            return (F.cross_entropy(scores, kinds, reduction="none") * (sure > 0.3)).mean()
        chosen = []
        for index, guess in enumerate(guesses):
            if guess.max() > 0.3:
                chosen.append(index)
        chosen = torch.tensor(chosen, dtype=torch.long, device=GPU)
        return F.cross_entropy(scores[chosen], guesses[chosen].argmax(1), reduction="sum") / len(guesses)

    def loss_of(m, x, y, weak, strong):
        with torch.no_grad():
            guesses = network(weak).float().softmax(1)
        scores = m(torch.cat([x, strong])).float()
        return F.cross_entropy(scores[:len(x)], y) + unlabelled(scores[len(x):], guesses)
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(channels_last(x), y, channels_last(weak), channels_last(strong)))


@case("ddp_fcn_trains_in_fp32", "fcn_resnet50", "precision", "bf16 autocast", 16)
def _(kind):
    import torchvision
    network = on_gpu(torchvision.models.segmentation.fcn_resnet50, weights=None, weights_backbone=None, num_classes=21)
    x, y = torch.randn(8, 3, 512, 512), torch.randint(0, 21, (8, 512, 512))
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, x, y: F.cross_entropy(m(x)["out"].float(), y), resident(channels_last(x), y),
                    mixed=kind == "fixed")


@case("ddp_crowns_scores_written_out", "crowns", "attention", "scaled_dot_product_attention with the mask", 8,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    """2304 patches of a wood from above; what is far off counts less."""
    with torch.device(GPU):
        network = nets.Crowns(written=kind == "broken")
    x, y = images(4, 384, 40)
    return training(parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False), classify,
                    resident(x, y))


@case("ddp_places_frozen_norms_apart", "frozen_resnet50", "memory_bandwidth",
      "scale and shift of the frozen norms folded into the convolutions", 96,
      accept=["memory_bandwidth", "precision"])
def _(kind):
    """A backbone fine-tuned for finding things, its norms frozen as usual; these make fp32 out of bf16."""
    import torchvision
    network = on_gpu(torchvision.models.resnet50, weights=None, norm_layer=torchvision.ops.FrozenBatchNorm2d)
    if kind == "fixed":
        network = nets.folded(network)
    network = nn.Sequential(*list(network.children())[:-2], on_gpu(nn.Conv2d, 2048, 80, 1))
    x, y = torch.randn(48, 3, 320, 320), torch.randint(0, 80, (48, 10, 10))
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(channels_last(x), y))


@case("ddp_deit_distilled_group_per_parameter", "deit_base_distilled", "optimizer",
      "one group for all parameters with the same rate and decay", 192, accept=["optimizer", "launch_overhead"])
def _(kind):
    """The earlier a layer, the lower its rate; norms and biases do not decay."""
    network, groups = picture_network("deit_base_distilled_patch16_224", False), {}
    for name, weight in network.named_parameters():
        layer = int(name.split(".")[1]) + 1 if name.startswith("blocks.") else 13 * name.startswith(("norm", "head"))
        rate, decay = 1e-4 * 0.75 ** (13 - layer), 0.05 * (weight.ndim > 1)
        key = name if kind == "broken" else (rate, decay)
        groups.setdefault(key, {"params": [], "lr": rate, "weight_decay": decay})["params"].append(weight)
    optimizer = torch.optim.AdamW(list(groups.values()), fused=True)
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(*images(96)), optimizer)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("fsdp_maps_healthy", "maps4096", "none", "", 16)
def _(kind):
    with torch.device(GPU):
        model = own.PatchTransformer(image=384, patch=16, dim=4096, layers=4, heads=32)
    return training(sharded(model, model.blocks), classify, resident(*images(8, 384)), mixed=False)


@case("ddp_clip_huge_healthy", "vit_huge_clip", "none", "", 56)
def _(kind):
    model = picture_network("vit_huge_patch14_clip_224", False, num_classes=200).bfloat16()
    x, y = images(28, classes=200)
    return training(parallel(model, gradient_as_bucket_view=True), classify, resident(x.bfloat16(), y), mixed=False)


CASES = mixed_by_cause(FOUND)
