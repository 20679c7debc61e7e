"""A second set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp2: other networks than
trace_cases_ddp.py has, flaws that look different."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
from trace_cases import (GPU, Prefetched, adamw, amp, case_list, classify, images, inference, loaded, next_token, nhwc,
                         noise_loss, resident, tokens, training, vision)
from trace_cases_blind import BlindCase
from trace_cases_blind3 import (Clip, Conformer, DiffusionTransformer, Recordings, Scenes, captions, clip_loss,
                                mask_loss, segmenter, speech)
from trace_cases_ddp import parallel

CASES, case = case_list(BlindCase)


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_conformer_tiny_buckets", "conformer", "multi_gpu_comm", "bucket_cap_mb 0.02 -> 25", 64,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    model = parallel(Conformer(512, 12, 8).to(GPU), bucket_cap_mb=0.02 if kind == "broken" else 25)
    return training(model, classify, resident(*speech(32)))


@case("ddp_clip_one_reduce_at_the_end", "clip", "multi_gpu_comm", "DistributedDataParallel overlaps the all-reduce", 64)
def _(kind):
    """Gradients are flattened into one tensor that is averaged once backward is over."""
    model = Clip(1024, 12, 224, 64).to(GPU)
    data = resident(*captions(32, 224, 64))
    if kind == "fixed":
        return training(parallel(model, gradient_as_bucket_view=True), clip_loss, data)
    optimizer, parameters = adamw(model), list(model.parameters())

    def average(*_):
        gradients = [p.grad for p in parameters]
        flat = torch.cat([g.flatten() for g in gradients])
        dist.all_reduce(flat)
        flat /= dist.get_world_size()
        parts = flat.split([g.numel() for g in gradients])
        torch._foreach_copy_(gradients, [part.view_as(g) for part, g in zip(parts, gradients)])
    optimizer.register_step_pre_hook(average)
    return training(model, clip_loss, data, optimizer)


@case("ddp_convnext_reduces_in_hooks", "convnext_small", "multi_gpu_comm",
      "DistributedDataParallel gathers gradients into buckets", 48, accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Every parameter's hook averages its gradient, and backward waits for it."""
    model = vision("convnext_small", False)
    data = resident(*images(24))
    if kind == "fixed":
        return training(parallel(model), classify, data)

    def reduce(p):
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(reduce)
    return training(model, classify, data)


@case("ddp_decoder_fp32_gradients", "wide_decoder", "multi_gpu_comm", "bf16_compress_hook", 4)
def _(kind):
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
    model = parallel(own.Decoder(vocab=32768, dim=2048, layers=8, heads=16, length=256).to(GPU),
                     gradient_as_bucket_view=True)
    if kind == "fixed":
        model.register_comm_hook(None, bf16_compress_hook)
    return training(model, next_token, resident(*tokens(2, 256)),
                    torch.optim.SGD(model.parameters(), 1e-3, fused=True))


@case("ddp_decoder_reduces_every_micro_batch", "wide_decoder", "multi_gpu_comm",
      "no_sync() but for the last micro-batch", 16)
def _(kind):
    model = parallel(own.Decoder(vocab=32768, dim=2048, layers=6, heads=16, length=256).to(GPU),
                     gradient_as_bucket_view=True)
    optimizer = adamw(model)
    (ids,) = resident(*tokens(2, 256))()

    def step():
        optimizer.zero_grad(set_to_none=True)
        for index in range(4):
            with model.no_sync() if kind == "fixed" and index < 3 else contextlib.nullcontext():
                with amp():
                    loss = next_token(model, ids)
                loss.backward()
        optimizer.step()
    return step


@case("tp_gathers_every_layer", "tensor_parallel", "multi_gpu_comm", "rows after columns: one all-reduce a pair", 4)
def _(kind):
    """Feed-forward layers split over the ranks: both products by columns, each output gathered; fixed: the second
    product by rows, only its output is summed."""
    ranks, dim, hidden = dist.get_world_size(), 4096, 16384
    columns = [nn.Linear(dim, hidden // ranks, bias=False).bfloat16().to(GPU) for _ in range(6)]
    inputs, outputs = (hidden, dim // ranks) if kind == "broken" else (hidden // ranks, dim)
    seconds = [nn.Linear(inputs, outputs, bias=False).bfloat16().to(GPU) for _ in range(6)]
    x = torch.randn(4 * 1024, dim, device=GPU, dtype=torch.bfloat16)

    def gathered(part):
        whole = torch.empty(ranks, *part.shape, device=GPU, dtype=part.dtype)
        dist.all_gather_into_tensor(whole, part)
        return whole.transpose(0, 1).flatten(1)

    def run():
        h = x
        for first, second in zip(columns, seconds):
            middle = F.gelu(first(h))
            if kind == "broken":
                h = h + gathered(second(gathered(middle)))
                continue
            out = second(middle)
            dist.all_reduce(out)
            h = h + out
        return h
    return inference(run)


@case("fsdp_decoder_small_batch", "decoder", "multi_gpu_comm", "DistributedDataParallel: the model fits", 4,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    from torch.distributed.fsdp import fully_shard
    model = own.Decoder(vocab=16384, dim=1536, layers=8, heads=12, length=256).to(GPU)
    if kind == "fixed":
        model = parallel(model, gradient_as_bucket_view=True)
    else:
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    return training(model, next_token, resident(*tokens(2, 256)), torch.optim.AdamW(model.parameters(), 1e-4))


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_diffusion_uneven_latents", "dit", "load_imbalance", "latents of one size on both ranks", 32)
def _(kind):
    size = 64 if kind == "fixed" else (80, 44)[dist.get_rank()]
    model = parallel(DiffusionTransformer(768, 8, 12).to(GPU))
    return training(model, noise_loss, resident(torch.randn(16, 4, size, size)))


@case("ddp_conformer_slow_disk_on_rank1", "conformer", "load_imbalance", "rank 1 reads from the fast disk too", 128,
      loader=True, accept=["load_imbalance", "data_loading"])
def _(kind):
    wait = 0.003 if kind == "broken" and dist.get_rank() == 1 else 0.0001
    batches, close = loaded(Recordings(wait), 64, 2)  # few workers: batches do not come in bursts
    return training(parallel(Conformer(512, 10, 8).to(GPU)), classify, batches), close


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("ddp_deeplab_one_worker", "deeplab", "data_loading", "num_workers 1 -> 12 on both ranks", 32, loader=True,
      accept=["data_loading", "load_imbalance"])  # only the slower of two slow loaders is seen to be waited for
def _(kind):
    batches, close = loaded(Scenes(), 16, 1 if kind == "broken" else 12)
    return training(parallel(segmenter("deeplabv3_mobilenet_v3_large")), mask_loss, nhwc(batches)), close


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_clip_healthy", "clip", "none", "", 512)
def _(kind):
    model = parallel(Clip(1024, 8, 224, 64).to(GPU).bfloat16(), gradient_as_bucket_view=True)
    pixels, ids = captions(256, 224, 64)
    return training(model, clip_loss, Prefetched(pixels.bfloat16(), ids))
