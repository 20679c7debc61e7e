"""The two-GPU cases of record_traces.py: one process a GPU. Like trace_cases.py, "broken" and "fixed" differ in one
cause only."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import trace_cases as single
import trace_models as own
from trace_cases import (GPU, Images, Prefetched, adamw, case_list, channels_last, classify, huggingface,
                         huggingface_loss, images, inference, loaded, next_token, nhwc, resident, tokens, training,
                         vision)

CASES, case = case_list()


def parallel(model, **more):
    return DistributedDataParallel(model, device_ids=[dist.get_rank()], **more)


def average_after_backward(model, reduce):
    """An optimizer hook that averages every gradient by itself once backward is over."""
    optimizer = adamw(model)

    def average(*_):
        for p in model.parameters():
            reduce(p.grad)
            p.grad /= dist.get_world_size()
    optimizer.register_step_pre_hook(average)
    return optimizer


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_gpt2_tiny_buckets", "gpt2", "multi_gpu_comm", "bucket_cap_mb 0.01 -> 25", 8,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    model = parallel(own.Decoder(layers=10).to(GPU), bucket_cap_mb=0.01 if kind == "broken" else 25)
    return training(model, next_token, resident(*tokens(8, 512)))


@case("ddp_vit_reduce_after_backward", "vit_b", "multi_gpu_comm", "DistributedDataParallel overlaps the all-reduce", 32,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    model = vision("vit_b_16", False)
    if kind == "broken":
        return training(model, classify, resident(*images(32)), average_after_backward(model, dist.all_reduce))
    return training(parallel(model), classify, resident(*images(32)))


@case("ddp_wide_mlp_small_batch", "wide_mlp", "multi_gpu_comm", "batch 64 -> 2048 an all-reduce", 64, fixed_batch=2048)
def _(kind):
    model = parallel(own.wide_mlp(8192, 6).to(GPU), gradient_as_bucket_view=True)
    x = torch.randn(64 if kind == "broken" else 2048, 8192)
    return training(model, lambda m, x: m(x).float().square().mean(), resident(x),
                    torch.optim.SGD(model.parameters(), 1e-3, fused=True))


@case("ddp_recommender_fp32_gradients", "dlrm", "multi_gpu_comm", "bf16_compress_hook", 2048)
def _(kind):
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
    model = parallel(own.Recommender(rows=100000).to(GPU), gradient_as_bucket_view=True)
    if kind == "fixed":
        model.register_comm_hook(None, bf16_compress_hook)
    data = torch.rand(2048, 13), torch.randint(0, 100000, (2048, 26)), torch.rand(2048)
    return training(model, single.click_loss, resident(*data), torch.optim.SGD(model.parameters(), 0.1, fused=True))


@case("tp_mlp_all_reduce_in_line", "llama", "multi_gpu_comm", "four chunks, their all-reduces overlapped", 8)
def _(kind):
    """Tensor parallel feed-forward layers: each rank has half of the hidden units and sums the outputs."""
    layers = [(nn.Linear(4096, 8192).bfloat16().to(GPU), nn.Linear(8192, 4096).bfloat16().to(GPU)) for _ in range(8)]
    x = torch.randn(8 * 1024, 4096, device=GPU, dtype=torch.bfloat16)

    def run():
        chunks = list(x.chunk(4 if kind == "fixed" else 1))
        pending = [None] * len(chunks)
        for up, down in layers:
            for index in range(len(chunks)):
                if pending[index]:
                    pending[index].wait()
                chunks[index] = down(F.gelu(up(chunks[index])))
                pending[index] = dist.all_reduce(chunks[index], async_op=kind == "fixed")
        for work in pending:
            if work:
                work.wait()
    return inference(run)


@case("ddp_gpt2_gradients_over_host", "gpt2", "multi_gpu_comm", "NCCL through DistributedDataParallel", 8,
      accept=["multi_gpu_comm", "host_transfer"])
def _(kind):
    model = own.Decoder(layers=6, dim=512, heads=8).to(GPU)
    if kind == "fixed":
        return training(parallel(model), next_token, resident(*tokens(8, 512)))
    group = dist.new_group(backend="gloo")

    def reduce(gradient):
        host = gradient.cpu()
        dist.all_reduce(host, group=group)
        gradient.copy_(host)
    return training(model, next_token, resident(*tokens(8, 512)), average_after_backward(model, reduce))


@case("fsdp_bert_small_units", "bert", "multi_gpu_comm", "fully_shard by layer instead of by matrix", 16,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    from torch.distributed.fsdp import fully_shard
    model = huggingface("bert", layers=6)
    for layer in model.bert.encoder.layer:
        for unit in ([m for m in layer.modules() if isinstance(m, nn.Linear)] if kind == "broken" else [layer]):
            fully_shard(unit)
    fully_shard(model)
    return training(model, huggingface_loss, resident(*tokens(16, 256)), torch.optim.AdamW(model.parameters(), 1e-4))


@case("ddp_efficientnet_sync_batchnorm", "efficientnet_b0", "multi_gpu_comm", "BatchNorm2d, not SyncBatchNorm", 64,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    model = vision("efficientnet_b0")
    if kind == "broken":
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    x, y = images(64)
    return training(parallel(model), classify, resident(channels_last(x), y))


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_llama_uneven_lengths", "llama", "load_imbalance", "sequences of like length on both ranks", 8)
def _(kind):
    length = 768 if kind == "fixed" else (384, 1152)[dist.get_rank()]
    model = parallel(own.Decoder(dim=1024, layers=6, heads=16, length=1152, llama=True).to(GPU))
    return training(model, next_token, resident(*tokens(8, length)))


@case("ddp_convnext_uneven_batches", "convnext_tiny", "load_imbalance", "the same batch on both ranks", 128)
def _(kind):
    batch = 64 if kind == "fixed" else (96, 32)[dist.get_rank()]
    x, y = images(batch)
    return training(parallel(vision("convnext_tiny")), classify, resident(channels_last(x), y))


@case("ddp_resnet18_slow_loader_on_rank0", "resnet18", "load_imbalance", "12 loader workers on every rank", 128,
      loader=True, accept=["load_imbalance", "data_loading"])
def _(kind):
    workers = 12 if kind == "fixed" or dist.get_rank() == 1 else 1
    batches, close = loaded(Images("light"), 64, workers)
    return training(parallel(vision("resnet18")), classify, nhwc(batches)), close


@case("ddp_vit_checkpoints_on_rank0", "vit_b", "load_imbalance", "metrics computed on both ranks in turn", 64)
def _(kind):
    """Rank 0 also evaluates a second batch after every step; fixed: each rank evaluates half of it."""
    model = parallel(vision("vit_b_16", False))
    extra = images(32 if kind == "fixed" else 64)[0].to(GPU)

    def evaluate(*_):
        if kind == "fixed" or dist.get_rank() == 0:
            with torch.no_grad(), single.amp():
                model.module(extra)
    return training(model, classify, resident(*images(32)), tail=evaluate)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_vit_healthy", "vit_b", "none", "", 256)
def _(kind):
    model = parallel(vision("vit_b_16", False).bfloat16(), gradient_as_bucket_view=True)
    x, y = images(128)
    return training(model, classify, resident(x.bfloat16(), y))


@case("ddp_llama_healthy", "llama", "none", "", 32)
def _(kind):
    model = parallel(own.Decoder(dim=2048, layers=5, heads=16, llama=True).bfloat16().to(GPU),
                     gradient_as_bucket_view=True)
    return training(model, next_token, resident(*tokens(16, 1024)))


@case("ddp_resnet18_healthy", "resnet18", "none", "", 1024)
def _(kind):
    x, y = images(512)
    return training(parallel(vision("resnet18").bfloat16(), gradient_as_bucket_view=True), classify,
                    Prefetched(channels_last(x.bfloat16()), y))
