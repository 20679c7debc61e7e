#!/usr/bin/env python3
"""Data-parallel training of a shipped network, as a person writes it: one process a GPU, DistributedDataParallel over NCCL,
bf16 autocast, fused AdamW. Prints one line: samples/s of all ranks, seconds a step, bytes of gradients.

    bench/gpu_ddp.py MODEL RANKS [--seconds 2.5] [--slow RANK:PASSES]

MODEL is resnet50, bert-large or gpt2-medium. Each rank has the same batch (weak scaling). Under `warpmark profile` it runs 8
seconds, so that a window of steady steps fits. --slow plants a rank that computes so many forward passes more.
"""

import argparse
import os
import pathlib
import sys
import time

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src" / "workers" / "models"
RESNET50 = dict(width=64, blocks1=3, blocks2=4, blocks3=6, blocks4=3, size=224, classes=1000)
BERT_LARGE = dict(layers=24, width=1024, heads=16, vocab=30522, positions=512, seq=384, predictions=57)
GPT2_MEDIUM = dict(layers=24, width=1024, heads=16, vocab=50304, positions=1024, seq=1024)
MODELS = {  # network, sizes, samples a rank
    "resnet50": ("resnet50", RESNET50, 128),
    "bert-large": ("bert", BERT_LARGE, 32),
    "gpt2-medium": ("gpt2", GPT2_MEDIUM, 8),
}


def train(asked):
    sys.path.insert(0, str(SOURCES))
    import torch
    import torch.distributed as dist
    import wm_networks
    import wm_tasks

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    name, sizes, batch = MODELS[asked.model]
    torch.manual_seed(1)
    with device:
        model = wm_networks.NETWORKS[name](sizes).train()
    pictures = name == "resnet50"
    if pictures:
        model = model.to(memory_format=torch.channels_last)
    gradients = 4 * sum(p.numel() for p in model.parameters())
    called = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    inputs, target = wm_tasks.pool(name, sizes, batch, 1 + rank)[0]
    inputs, target = [t.to(device) for t in inputs], target.to(device)
    if pictures:
        inputs = [t.contiguous(memory_format=torch.channels_last) for t in inputs]
    slow, extra = (int(x) for x in asked.slow.split(":")) if asked.slow else (-1, 0)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            if rank == slow:
                with torch.no_grad():
                    for _ in range(extra):
                        model(*inputs)
            loss = wm_tasks.loss_of(name, called(*inputs).float(), target)
        loss.backward()
        optimizer.step()

    def steps(count):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / count

    steps(8)
    took = torch.tensor([steps(4)], device=device)
    dist.all_reduce(took, op=dist.ReduceOp.MAX)
    count = max(1, round(0.25 / took.item()))
    seconds = 8 if "CUDA_INJECTION64_PATH" in os.environ else asked.seconds
    blocks = [steps(count) for _ in range(max(3, round(seconds / 0.25)))]
    if rank == 0:
        middle = sorted(blocks)[len(blocks) // 2]
        form = "%s on %d: %.3f samples/s, step %.6f s, gradients %d B"
        print(form % (asked.model, world, world * batch / middle, middle, gradients), flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("ranks", type=int)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--slow", metavar="RANK:PASSES")
    asked = parser.parse_args()
    if "RANK" in os.environ:
        return train(asked)
    sys.path.insert(0, str(SOURCES.parents[2] / "corpus"))
    import run

    os.environ.setdefault("OMP_NUM_THREADS", "4")
    sys.exit(run.run_ranks(asked.ranks, [sys.executable, *sys.argv]))


if __name__ == "__main__":
    main()
