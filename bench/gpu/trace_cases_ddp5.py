"""A fifth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp5."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from trace_cases import GPU, case_list, inference, resident, training
from trace_cases_blind import BlindCase
from trace_cases_blind4 import join_heads, mixed_by_cause, split_heads
from trace_cases_blind6 import Latents, Weather
from trace_cases_ddp3 import wrapped

FOUND, case = case_list(BlindCase)


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("sharded_weights_gathered_in_fp32", "sharded_weights", "multi_gpu_comm",
      "bf16 weights gathered, those of the next layer while this one computes", 8192)
def _(kind):
    """Each rank keeps a half of every layer and gathers the other half before use."""
    dim, hidden, depth = 2048, 8192, 8
    dtype = torch.float32 if kind == "broken" else torch.bfloat16
    shards = [(torch.randn(dim * hidden, device=GPU) * 0.01).to(dtype) for _ in range(depth)]
    x = torch.randn(4096, dim, device=GPU, dtype=torch.bfloat16)

    def gathered(shard):
        whole = shard.new_empty(2 * shard.numel())
        return whole, dist.all_gather_into_tensor(whole, shard, async_op=True)

    def layer(h, whole):
        up, down = whole.to(h.dtype).chunk(2)
        inner = F.gelu(F.layer_norm(h, (dim,)) @ up.view(dim, hidden))
        return h + inner @ down.view(hidden, dim)

    def run():
        h = x
        ahead = gathered(shards[0]) if kind == "fixed" else None
        for at, shard in enumerate(shards):
            whole, going = ahead or gathered(shard)
            going.wait()
            if kind == "fixed":
                ahead = gathered(shards[at + 1]) if at + 1 < depth else None
            h = layer(h, whole)
        return h
    return inference(run)


@case("domain_gathers_the_whole_field", "flow_domain", "multi_gpu_comm", "only the rows at the border exchanged", 8)
def _(kind):
    """Eight time steps of a field whose upper half is on rank 0 and whose lower half is on rank 1."""
    rank, rows, columns, width = dist.get_rank(), 1536, 2048, 32
    convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=(0, 1)) for _ in range(8)).to(GPU).bfloat16()
    convs = convs.to(memory_format=torch.channels_last).eval()
    start = torch.randn(rows, columns, width, device=GPU, dtype=torch.bfloat16)

    def neighbours(part):
        if kind == "broken":
            whole = part.new_empty(2 * rows, columns, width)
            dist.all_gather_into_tensor(whole, part)
            return whole[rank * rows - 1], whole[(rank + 1) * rows % (2 * rows)]
        edges = part.new_empty(4, columns, width)
        dist.all_gather_into_tensor(edges, torch.stack([part[0], part[-1]]))
        first, last = edges[2 * (1 - rank):2 * (2 - rank)]
        return last, first

    def run():
        part = start
        for conv in convs:
            above, below = neighbours(part)
            x = torch.cat([above[None], part, below[None]]).permute(2, 0, 1)[None]
            part = part + F.relu(conv(x))[0].permute(1, 2, 0)
        return part
    return inference(run)


class HalfOfExperts(nn.Module):
    """One expert on each rank; a half of every rank's tokens belongs to each. `everything`: all tokens are gathered on
    both ranks, and the experts' outputs added up there in fp32."""

    def __init__(self, dim, hidden, everything):
        super().__init__()
        self.everything, self.norm = everything, nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, hidden, bias=False), nn.Linear(hidden, dim, bias=False)

    def expert(self, rows):
        return self.down(F.gelu(self.up(rows)))

    def summed(self, h):
        rank, (tokens, dim) = dist.get_rank(), h.shape
        everyone = h.new_empty(2 * tokens, dim)
        dist.all_gather_into_tensor(everyone, h)
        mine = everyone.view(2, 2, tokens // 2, dim)[:, rank].flatten(0, 1)
        out = torch.zeros(2, 2, tokens // 2, dim, device=h.device)
        out[:, rank] = self.expert(mine).float().unflatten(0, (2, -1))
        dist.all_reduce(out)
        return out[rank].flatten(0, 1).to(h.dtype)

    def sent(self, h):
        there, back = torch.empty_like(h), torch.empty_like(h)
        dist.all_to_all_single(there, h)
        dist.all_to_all_single(back, self.expert(there))
        return back

    def forward(self, x):
        h = self.norm(x)
        return x + (self.summed(h) if self.everything else self.sent(h))


@case("experts_gather_all_tokens", "half_of_experts", "multi_gpu_comm",
      "only the tokens of an expert sent to it and back, in bf16", 16384)
def _(kind):
    with torch.device(GPU):
        model = nn.Sequential(*(HalfOfExperts(2048, 6144, kind == "broken") for _ in range(6))).bfloat16().eval()
        x = torch.randn(8192, 2048, dtype=torch.bfloat16)
    return inference(lambda: model(x))


# --- load_imbalance --------------------------------------------------------------------------------------------------

class Pieces(nn.Module):
    """A causal layer over a long text in four pieces; held[rank]: the two that the rank has."""

    def __init__(self, dim, heads, held):
        super().__init__()
        from torch.nn.attention.bias import causal_lower_right
        self.heads, self.held, self.mask = heads, held, causal_lower_right
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.kv, self.proj = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def everywhere(self, mine):
        """The keys and values of all pieces, in the order of the text."""
        both = mine.new_empty(4, *mine.shape[1:])
        dist.all_gather_into_tensor(both, mine)
        places = self.held[0] + self.held[1]
        whole = torch.cat([both[places.index(piece)] for piece in range(4)])
        return (split_heads(part, self.heads)[None] for part in whole.chunk(2, dim=-1))

    def forward(self, x):
        h, length, mixed = self.norm1(x), x.shape[1], []
        k, v = self.everywhere(self.kv(h))
        q = split_heads(self.q(h), self.heads)
        for at, piece in enumerate(self.held[dist.get_rank()]):
            seen = (piece + 1) * length
            mixed.append(F.scaled_dot_product_attention(q[at:at + 1], k[:, :, :seen], v[:, :, :seen],
                                                        attn_mask=self.mask(length, seen)))
        x = x + self.proj(join_heads(torch.cat(mixed)))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


@case("long_text_cut_in_the_middle", "long_text", "load_imbalance",
      "the first and last quarter on one rank, those between on the other", 1)
def _(kind):
    """What comes late in the text sees more of it."""
    held = ((0, 1), (2, 3)) if kind == "broken" else ((0, 3), (1, 2))
    with torch.device(GPU):
        model = nn.Sequential(*(Pieces(1024, 8, held) for _ in range(5))).bfloat16().eval()
        x = torch.randn(2, 8192, 1024, dtype=torch.bfloat16)
    return inference(lambda: model(x))


@case("ensemble_members_shared_unevenly", "weather", "load_imbalance", "eight members on each rank", 16)
def _(kind):
    """Three times six hours; after each, the members are drawn a little to the mean of all."""
    members = 8 if kind == "fixed" else (12, 4)[dist.get_rank()]
    with torch.device(GPU):
        model = Weather(24, 1024, 4, 16).bfloat16().eval()
        start = torch.randn(members, 24, 128, 256, dtype=torch.bfloat16)

    def run():
        state = start
        for _ in range(3):
            state = model(state)
            mean = state.float().sum(0)
            dist.all_reduce(mean)
            state = torch.lerp(state, (mean / 16).to(state.dtype).expand_as(state), 0.1)
        return state
    return inference(run)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_video_latents_healthy", "latents", "none", "", 24)
def _(kind):
    with torch.device(GPU):
        model = Latents(2048, 4, 16, 1024).bfloat16()
    x, t, y = torch.randn(12, 1024, 64).bfloat16(), torch.rand(12).bfloat16(), torch.randn(12, 1024, 64)
    return training(wrapped(model, gradient_as_bucket_view=True), lambda m, x, t, y: F.mse_loss(m(x, t).float(), y),
                    resident(x, t, y), mixed=False)


CASES = mixed_by_cause(FOUND)
