"""A fourth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp4."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from trace_cases import GPU, case_list, classify, inference, resident, training
from trace_cases_blind import BlindCase
from trace_cases_blind4 import join_heads, mixed_by_cause, split_heads
from trace_cases_blind5 import Chat, VideoVit
from trace_cases_ddp3 import wrapped

FOUND, case = case_list(BlindCase)


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

class SplitSequence(nn.Module):
    """Half of the sequence on each rank; two heads of keys and values serve all heads of queries. `early`: the ranks
    exchange what keys and values are made of, in fp32, and not keys and values themselves."""

    def __init__(self, dim, heads, early):
        super().__init__()
        self.heads, self.early = heads, early
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.kv, self.proj = nn.Linear(dim, dim), nn.Linear(dim, 4 * dim // heads), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def exchanged(self, part, later=lambda: None):
        """Both ranks' halves as one sequence, and what later() gave meanwhile."""
        both = part.new_empty(2 * part.shape[0], *part.shape[1:])
        going = dist.all_gather_into_tensor(both, part, async_op=True)
        meanwhile = later()
        going.wait()
        return torch.cat(both.chunk(2), dim=1), meanwhile

    def forward(self, x):
        h = self.norm1(x)
        if self.early:
            everything, _ = self.exchanged(h.float())
            kv, q = self.kv(everything.to(x.dtype)), self.q(h)
        else:
            kv, q = self.exchanged(self.kv(h), lambda: self.q(h))
        k, v = (split_heads(part, 2) for part in kv.chunk(2, dim=-1))
        mixed = F.scaled_dot_product_attention(split_heads(q, self.heads), k, v, enable_gqa=True)
        x = x + self.proj(join_heads(mixed))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


@case("split_sequence_exchanges_hidden", "split_sequence", "multi_gpu_comm",
      "bf16 keys and values exchanged, behind the queries' projection", 16)
def _(kind):
    dim = 1024
    model = nn.Sequential(*(SplitSequence(dim, 16, kind == "broken") for _ in range(6))).to(GPU).bfloat16().eval()
    x = torch.randn(16, 512, dim, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: model(x))


@case("split_head_gathers_all_scores", "split_head", "multi_gpu_comm",
      "each rank's best word and its score exchanged, not all the scores", 8)
def _(kind):
    """Checks drafted words; half of the vocabulary is on each rank."""
    half, tokens = 16384, 8 * 1024
    model = Chat(32000, 768, 3, 12).to(GPU).bfloat16().eval()
    head = nn.Linear(768, half, bias=False).to(GPU).bfloat16()
    ids = torch.randint(0, 32000, (8, 1024), device=GPU)

    def run():
        scores = head(model.hidden(ids).flatten(0, 1)).float()
        if kind == "broken":
            both = scores.new_empty(2 * tokens, half)
            dist.all_gather_into_tensor(both, scores)
            values, words = both.view(2, tokens, half).max(-1)
        else:
            best, word = scores.max(-1)
            values, words = best.new_empty(2 * tokens), word.new_empty(2 * tokens)
            dist.all_gather_into_tensor(values, best)
            dist.all_gather_into_tensor(words, word)
            values, words = values.view(2, tokens), words.view(2, tokens)
        winner = values.argmax(0, keepdim=True)
        return words.gather(0, winner)[0] + winner[0] * half
    return inference(run)


def ranker(inputs, width):
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, 1)).to(GPU).bfloat16().eval()


@case("tables_exchanged_one_by_one", "split_tables", "multi_gpu_comm", "one all_to_all for all tables", 4096,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Each rank looks all rows of the batch up in its half of the tables, then sends the other rank's rows over."""
    tables, rows, dim, batch = 32, 20000, 64, 2048
    table = torch.randn(tables * rows, dim, device=GPU, dtype=torch.bfloat16)
    ids = torch.randint(0, rows, (2 * batch, tables), device=GPU) + torch.arange(tables, device=GPU) * rows
    score = ranker(2 * tables * dim, 512)

    def run():
        found = F.embedding(ids, table)
        if kind == "broken":
            columns = []
            for i in range(tables):
                there = found.new_empty(2 * batch, dim)
                dist.all_to_all_single(there, found[:, i].contiguous())
                columns.append(there)
            there = torch.stack(columns, dim=1)
        else:
            there = torch.empty_like(found)
            dist.all_to_all_single(there, found)
        mine, others = there.flatten(1).chunk(2)
        return score(torch.cat([mine, others], dim=1))
    return inference(run)


# --- load_imbalance --------------------------------------------------------------------------------------------------

class RoutedExpert(nn.Module):
    """One expert on each rank; `share` of every rank's tokens goes to rank 0."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, hidden, bias=False), nn.Linear(hidden, dim, bias=False)

    def forward(self, x, share):
        first = int(share * x.shape[0])
        out = [first, x.shape[0] - first]
        came = [out[dist.get_rank()]] * 2
        there = x.new_empty(sum(came), x.shape[1])
        dist.all_to_all_single(there, self.norm(x), came, out)
        back = torch.empty_like(x)
        dist.all_to_all_single(back, self.down(F.gelu(self.up(there))), out, came)
        return x + back


@case("experts_of_which_one_is_hot", "routed_experts", "load_imbalance", "tokens routed evenly", 32768)
def _(kind):
    with torch.device(GPU):
        layers = nn.ModuleList(RoutedExpert(1024, 12288) for _ in range(4)).bfloat16().eval()
    x = torch.randn(16384, 1024, device=GPU, dtype=torch.bfloat16)

    def run():
        h = x
        for layer in layers:
            h = layer(h, 0.85 if kind == "broken" else 0.5)
        return h
    return inference(run)


@case("tables_with_long_histories_on_rank0", "split_tables", "load_imbalance", "long and short histories on both ranks",
      16384)
def _(kind):
    """Rank 0 has the tables that are looked up 240 times a row, rank 1 those of 16 times."""
    tables, rows, dim, batch = 4, 500_000, 128, 8192
    looks = 128 if kind == "fixed" else (240, 16)[dist.get_rank()]
    weights = [torch.randn(rows, dim, device=GPU) for _ in range(tables)]
    ids = [torch.randint(0, rows, (2 * batch, looks), device=GPU) for _ in range(tables)]
    score = ranker(2 * tables * dim, 1024)

    def run():
        found = torch.stack([F.embedding_bag(i, w, mode="sum") for i, w in zip(ids, weights)], dim=1).bfloat16()
        there = torch.empty_like(found)
        dist.all_to_all_single(there, found)
        return score(torch.cat(there.flatten(1).chunk(2), dim=1))
    return inference(run)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_video_vit_healthy", "video_vit", "none", "", 32)
def _(kind):
    with torch.device(GPU):
        model = VideoVit(1024, 6, 16).bfloat16()
    x, y = torch.randn(16, 3, 16, 224, 224).bfloat16(), torch.randint(0, 400, (16,))
    return training(wrapped(model, gradient_as_bucket_view=True), classify, resident(x, y), mixed=False)


CASES = mixed_by_cause(FOUND)
