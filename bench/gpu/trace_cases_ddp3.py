"""A third set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp3."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import trace_cases_blind4 as one
from trace_cases import GPU, case_list, classify, resident, training
from trace_cases_blind import BlindCase
from trace_cases_blind4 import Layer, Lm, Sasrec, SpeechEncoder, n, shifted_loss

CASES, case = case_list(BlindCase)


def wrapped(model, **more):
    if one.TINY:
        return DistributedDataParallel(model, **more)
    return DistributedDataParallel(model, device_ids=[dist.get_rank()], **more)


FUSED = {} if one.TINY else {"fused": True}


# --- the cases -------------------------------------------------------------------------------------------------------

@case("ddp_neox_one_huge_bucket", "neox", "multi_gpu_comm", "bucket_cap_mb 4000 -> 25", 16)
def _(kind):
    vocab, length = n(16000, 100), n(512, 16)
    model = Lm(vocab, n(1536, 32), n(8, 2), n(12, 2), length, parallel=True).to(GPU)
    model = wrapped(model, bucket_cap_mb=4000 if kind == "broken" else 25, gradient_as_bucket_view=True)
    return training(model, shifted_loss, resident(torch.randint(0, vocab, (n(8, 1), length))),
                    torch.optim.AdamW(model.parameters(), 1e-4, **FUSED))


class Ragged(nn.Module):
    """Message passing on the bonds of molecules."""

    def __init__(self, dim, depth):
        super().__init__()
        self.inlet, self.head = nn.Linear(32, dim), nn.Linear(dim, 1)
        self.edges = nn.ModuleList(nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))
                                   for _ in range(depth))
        self.nodes = nn.ModuleList(nn.Linear(2 * dim, dim) for _ in range(depth))

    def forward(self, x, source, target):
        x = self.inlet(x)
        for edge, node in zip(self.edges, self.nodes):
            message = edge(torch.cat([x[source], x[target]], -1))
            summed = torch.zeros_like(x).index_add(0, target, message.to(x.dtype))
            x = x + F.silu(node(torch.cat([x, summed], -1)))
        return self.head(x)


@case("ddp_molecules_by_count", "molecules", "load_imbalance", "batches of like numbers of bonds", 2048)
def _(kind):
    """Both ranks get equally many molecules; those of rank 1 are large."""
    atoms = n(24000, 64) if kind == "fixed" else (n(13000, 32), n(35000, 96))[dist.get_rank()]
    model = wrapped(Ragged(n(256, 16), 4).to(GPU))
    x, source, target = resident(torch.randn(atoms, 32), torch.randint(0, atoms, (8 * atoms,)),
                                 torch.randint(0, atoms, (8 * atoms,)))()
    return training(model, lambda m, *g: m(*g).float().square().mean(), lambda: (x, source, target),
                    torch.optim.Adam(model.parameters(), 1e-4, **FUSED))


@case("ddp_speech_parameters_broadcast", "whisper", "multi_gpu_comm", "no broadcast after the step: replicas are equal",
      24, accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    model = wrapped(SpeechEncoder(n(768, 64), n(8, 1), n(500, 20), classes=500).to(GPU), gradient_as_bucket_view=True)

    def tail(m, _):
        if kind == "broken":
            with torch.no_grad():
                for p in m.parameters():
                    dist.broadcast(p.data, 0)
    data = torch.randn(n(12, 1), 80, 2 * n(500, 20)), torch.randint(0, 500, (n(12, 1),))
    return training(model, classify, resident(*data), torch.optim.AdamW(model.parameters(), 1e-4, **FUSED), tail=tail)


@case("pipeline_without_micro_batches", "pipeline", "multi_gpu_comm", "eight micro-batches", 32,
      accept=["multi_gpu_comm", "load_imbalance"])  # each rank waits for the other's half
def _(kind):
    """Half of the layers on each rank; activations go forward, their gradients back."""
    rank, parts = dist.get_rank(), 1 if kind == "broken" else n(8, 2)
    rows, length, dim = n(32, 2) // parts, n(512, 16), n(1536, 32)
    model = nn.Sequential(*(Layer(dim, n(12, 2), causal=True) for _ in range(n(5, 1)))).to(GPU).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, **FUSED)
    x = torch.randn(rows, length, dim, device=GPU, dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad(set_to_none=True)
        if rank == 0:
            outputs = []
            for _ in range(parts):
                outputs.append(model(x))
                dist.send(outputs[-1].detach(), 1)
            for y in outputs:
                gradient = torch.empty_like(y)
                dist.recv(gradient, 1)
                y.backward(gradient)
        else:
            waiting = []
            for _ in range(parts):
                h = torch.empty_like(x)
                dist.recv(h, 0)
                h.requires_grad_()
                waiting.append((h, model(h).float().square().mean()))
            for h, loss in waiting:
                loss.backward()
                dist.send(h.grad, 0)
        optimizer.step()
    return step


class ParallelExperts(nn.Module):
    """Experts spread over the ranks, and a dense one that every token goes through."""

    def __init__(self, dim, fixed):
        super().__init__()
        self.up, self.down = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)
        self.shared = nn.Sequential(nn.Linear(dim, 2 * dim, bias=False), nn.GELU(), nn.Linear(2 * dim, dim, bias=False))
        self.fixed = fixed

    def forward(self, x):
        if self.fixed:
            there, back = torch.empty_like(x), torch.empty_like(x)
            going = dist.all_to_all_single(there, x, async_op=True)
            shared = self.shared(x)
            going.wait()
            dist.all_to_all_single(back, self.down(F.gelu(self.up(there))))
            return x + shared + back
        wide = x.float()
        there, back = torch.empty_like(wide), torch.empty_like(wide)
        dist.all_to_all_single(there, wide)
        out = self.down(F.gelu(self.up(there.to(x.dtype)))).float()
        dist.all_to_all_single(back, out)
        return x + self.shared(x) + back.to(x.dtype)


@case("moe_dispatches_fp32_in_line", "parallel_experts", "multi_gpu_comm",
      "bf16 dispatch, overlapped with the shared expert", 32768)
def _(kind):
    dim = n(1024, 16)
    model = nn.ModuleList(ParallelExperts(dim, kind == "fixed") for _ in range(n(6, 1))).to(GPU).bfloat16().eval()
    x = torch.randn(n(32768, 8), dim, device=GPU, dtype=torch.bfloat16)

    @torch.no_grad()
    def step():
        h = x
        for layer in model:
            h = layer(h)
        return h
    return step


@case("ddp_sasrec_rank0_writes_histograms", "sasrec", "load_imbalance", "histograms every 500 steps, not every step", 128,
      accept=["load_imbalance", "host_transfer"])  # rank 0 copies all its weights to the host
def _(kind):
    items, length = n(8000, 100), n(200, 16)
    model = wrapped(Sasrec(items, n(384, 32), 4, 6 if not one.TINY else 2, length).to(GPU))
    ids = torch.randint(0, items, (n(64, 2), length), device=GPU)
    kept = []

    def tail(m, _):
        if kind == "broken" and dist.get_rank() == 0:
            kept[:] = [torch.histc(p.detach().float().cpu(), bins=64).numpy() for p in m.parameters()]

    def loss_of(m, ids):
        return F.cross_entropy(m(ids).flatten(0, 1).float(), ids.flatten())
    return training(model, loss_of, lambda: (ids,), torch.optim.AdamW(model.parameters(), 1e-4, **FUSED), tail=tail)


@case("ddp_logs_reduced_one_by_one", "densities", "multi_gpu_comm", "the logged values reduced as one tensor", 64,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Every layer's activation statistics are averaged over the ranks for the log, each by itself."""
    model = wrapped(SpeechEncoder(n(512, 64), n(8, 1), n(200, 20), classes=200).to(GPU))
    seen = []

    def watch(_, __, output):
        y = output.detach().float()
        seen.extend([y.mean(), y.abs().amax()])
    for part in model.module.modules():
        if isinstance(part, (nn.Linear, nn.LayerNorm)):
            part.register_forward_hook(watch)

    def tail(*_):
        if kind == "broken":
            for value in seen:
                dist.all_reduce(value)
        else:
            dist.all_reduce(torch.stack(seen))
        seen.clear()
    data = torch.randn(n(32, 1), 80, 2 * n(200, 20)), torch.randint(0, 200, (n(32, 1),))
    return training(model, classify, resident(*data), torch.optim.AdamW(model.parameters(), 1e-4, **FUSED), tail=tail)


@case("ddp_neox_healthy", "neox", "none", "", 32, accept=["none", "compute_bound"])
def _(kind):
    vocab, length = n(16384, 100), n(1024, 16)
    model = Lm(vocab, n(2048, 32), n(4, 1), n(16, 2), length, parallel=True).to(GPU).bfloat16()
    return training(wrapped(model, gradient_as_bucket_view=True), shifted_loss,
                    resident(torch.randint(0, vocab, (n(16, 1), length))), mixed=False)


CASES = one.mixed_by_cause(CASES)
