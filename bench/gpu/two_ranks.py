"""A transformer on two GPUs under DistributedDataParallel, as one would write it, with one flaw: MODE is none, straggler
(rank 1 multiplies more), sleeper (rank 1 waits and sleeps 20 ms), buckets (of 50 kB) or reader (the loss every step).

Usage: warpmark profile --out X.wmrec -- python3 -m torch.distributed.run --nproc-per-node 2 two_ranks.py MODE SECONDS"""
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main(mode, seconds):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    gpu = torch.device("cuda", rank)
    small = mode == "buckets"
    layers = [nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, norm_first=True, dropout=0.0)
              for _ in range(8)]
    model = DistributedDataParallel(nn.Sequential(*layers).to(gpu), bucket_cap_mb=0.05 if small else 25,
                                    gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    x = torch.randn(2 if small else 24, 64 if small else 256, 1024, device=gpu)
    more = torch.randn(8192, 8192, device=gpu, dtype=torch.bfloat16)
    end, steps, began = time.time() + seconds, 0, 0.0
    while True:
        if steps == 20:
            torch.cuda.synchronize()
            began = time.time()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(x).float().square().mean()
        if mode == "straggler" and rank == 1:
            for _ in range(12):
                more @ more
        if mode == "sleeper" and rank == 1:
            torch.cuda.synchronize()
            time.sleep(0.02)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if mode == "reader":
            loss.item()
        steps += 1
        if steps % 50 == 0:
            over = torch.tensor([float(time.time() > end)], device=gpu)
            dist.all_reduce(over)
            if over.item() > 0:
                break
    torch.cuda.synchronize()
    if rank == 0:
        print(f"{mode}: {(time.time() - began) / (steps - 20) * 1e3:.2f} ms a step", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
