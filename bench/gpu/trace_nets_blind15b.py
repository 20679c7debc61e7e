"""The networks of trace_cases_blind15.py that no library has: graphs and recommendations."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from trace_cases import GPU


# --- graphs ----------------------------------------------------------------------------------------------------------

class Spread(torch.autograd.Function):
    """What the neighbours say, by a symmetric sparse matrix: its own transpose."""

    @staticmethod
    def forward(ctx, x, near):
        ctx.near, ctx.kind = near, x.dtype
        with torch.autocast("cuda", enabled=False):
            return near @ x.float()

    @staticmethod
    def backward(ctx, grad):
        return (ctx.near @ grad.float().contiguous()).to(ctx.kind), None


def ring_graphs(sizes, reach=6):
    """Graphs put side by side: (the sparse matrix, each node's graph). A node knows the nearest on its graph's ring."""
    rows, columns, begin = [], [], 0
    for size in sizes:
        nodes = torch.arange(size)
        for step in range(1, reach + 1):
            rows += [begin + nodes, begin + (nodes + step) % size]
            columns += [begin + (nodes + step) % size, begin + nodes]
        begin += size
    rows, columns = torch.cat(rows).to(GPU), torch.cat(columns).to(GPU)
    near = torch.sparse_coo_tensor(torch.stack([rows, columns]), torch.full((len(rows),), 0.5 / reach, device=GPU),
                                   (begin, begin)).coalesce().to_sparse_csr()
    return near, torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)).to(GPU)


def best_of_each_graph(scores, graph, graphs, keep):
    """(the places of the `keep` highest nodes, whether there are so many), graph by graph."""
    places = torch.zeros(graphs, keep, dtype=torch.long, device=GPU)
    there = torch.zeros(graphs, keep, dtype=torch.bool, device=GPU)
    for at in range(graphs):
        nodes = (graph == at).nonzero().flatten()
        count = min(keep, len(nodes))
        places[at, :count] = nodes[scores[nodes].topk(count).indices]
        there[at, :count] = True
    return places, there


def best_of_all_graphs(scores, graph, graphs, keep):
    """The same at once: all nodes in the order of their scores, then stably in that of their graphs."""
    order = scores.argsort(descending=True)
    order = order[graph[order].argsort(stable=True)]
    sizes = torch.zeros(graphs, dtype=torch.long, device=GPU).index_add_(0, graph, torch.ones_like(graph))
    ranks = torch.arange(keep, device=GPU)
    there = ranks < sizes[:, None]
    places = (sizes.cumsum(0) - sizes)[:, None] + ranks
    return order[places.clamp(max=len(order) - 1)] * there, there


class SortPoolNet(nn.Module):
    """The deep graph network of Zhang et al.: only the best nodes of each graph are read by the head."""

    def __init__(self, best_of, dim=256, depth=4, keep=32, classes=10):
        super().__init__()
        self.inlet, self.layers = nn.Linear(64, dim), nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.score, self.keep, self.best_of = nn.Linear(dim, 1), keep, best_of
        self.head = nn.Sequential(nn.Linear(keep * dim, 512), nn.ReLU(), nn.Linear(512, classes))

    def forward(self, x, near, graph, graphs):
        x = F.relu(self.inlet(x))
        for layer in self.layers:
            x = F.relu(layer(Spread.apply(x, near)))
        scores = self.score(x).flatten().float()
        places, there = self.best_of(scores.detach(), graph, graphs, self.keep)
        best = x[places] * (torch.sigmoid(scores[places]) * there)[..., None]
        return self.head(best.flatten(1))


class RelationalLayer(nn.Module):
    """Each kind of relation has a matrix of its own (Schlichtkrull et al.)."""

    def __init__(self, kinds, dim, together):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(kinds, dim, dim) * dim**-0.5)
        self.own, self.together = nn.Linear(dim, dim), together

    def forward(self, x, heads, tails):
        out = self.own(x).float()
        if self.together:
            kinds, count = heads.shape
            sent = x.index_select(0, heads.flatten()).view(kinds, count, -1)
            return out.index_add(0, tails.flatten(), torch.bmm(sent, self.weight).flatten(0, 1).float() / count)
        for kind, weight in enumerate(self.weight):
            sent = x.index_select(0, heads[kind]) @ weight
            out = out.index_add(0, tails[kind], sent.float() / heads.shape[1])
        return out


class KnowledgeGraph(nn.Module):
    """Tells which relations hold between things: R-GCN below, DistMult above."""

    def __init__(self, together, things=24000, kinds=12, dim=128):
        super().__init__()
        self.things = nn.Parameter(torch.randn(things, dim))
        self.layers = nn.ModuleList(RelationalLayer(kinds, dim, together) for _ in range(2))
        self.kinds = nn.Embedding(kinds, dim)

    def forward(self, heads, tails, asked, kind, others):
        x = self.things
        for layer in self.layers:
            x = F.relu(layer(x, heads, tails))
        return (x.index_select(0, asked) * self.kinds(kind) * x.index_select(0, others)).sum(-1)


# --- recommendations -------------------------------------------------------------------------------------------------

class WatchedVAE(nn.Module):
    """Mult-VAE (Liang et al.): a user is the row of what he watched."""

    def __init__(self, items=20108, hidden=600, dim=200):
        super().__init__()
        self.items = items
        self.encoder = nn.Sequential(nn.Linear(items, hidden), nn.Tanh(), nn.Linear(hidden, 2 * dim))
        self.decoder = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, items))

    def loss(self, rows):
        mean, spread = self.encoder(F.dropout(F.normalize(rows), 0.5)).float().chunk(2, dim=1)
        taste = mean + torch.randn_like(mean) * torch.exp(0.5 * spread)
        chances = F.log_softmax(self.decoder(taste).float(), dim=1)
        apart = -0.5 * (1 + spread - mean.square() - spread.exp()).sum(1).mean()
        return -(chances * rows).sum(1).mean() + 0.2 * apart


class SessionNet(nn.Module):
    """GRU4Rec (Hidasi et al.): what a session leads to."""

    def __init__(self, items=400_000, dim=512):
        super().__init__()
        self.items, self.gru = nn.Embedding(items, dim), nn.GRU(dim, dim, 2, batch_first=True)

    def forward(self, sessions):
        return self.gru(self.items(sessions))[0][:, -1] @ self.items.weight.T


def gain_user_by_user(best, wanted):
    hits, gain = 0, 0.0
    for top, item in zip(best, wanted):
        place = (top == item).nonzero()
        if len(place):
            hits += 1
            gain += 1 / math.log2(place[0].item() + 2)
    return hits / len(best), gain / len(best)


def gain_of_all_users(best, wanted):
    found = (best == wanted[:, None]).float()
    worth = 1 / torch.log2(torch.arange(best.shape[1], device=best.device) + 2.0)
    return torch.stack([found.amax(1).mean(), (found * worth).sum(1).mean()]).tolist()


class ManyGates(nn.Module):
    """MMoE (Ma et al.): experts that several aims share, each through a gate of its own."""

    def __init__(self, fields=32, words=20000, dim=32, hidden=1024, experts=8, aims=3):
        super().__init__()
        self.table, self.experts, inputs = nn.Embedding(fields * words, dim), experts, fields * dim
        self.first = nn.Linear(inputs, experts * hidden)
        self.second = nn.Parameter(torch.randn(experts, hidden, hidden // 2) * hidden**-0.5)
        self.gates = nn.Linear(inputs, aims * experts)
        self.towers = nn.ModuleList(nn.Sequential(nn.Linear(hidden // 2, 256), nn.ReLU(), nn.Linear(256, 1))
                                    for _ in range(aims))

    def forward(self, ids):
        x = self.table(ids).flatten(1)
        y = F.relu(self.first(x)).view(len(x), self.experts, -1).transpose(0, 1)
        y = F.relu(torch.bmm(y, self.second)).transpose(0, 1)
        gates = self.gates(x).view(len(x), -1, self.experts).softmax(-1)
        mixed = torch.bmm(gates.to(y.dtype), y)
        return torch.cat([tower(mixed[:, at]) for at, tower in enumerate(self.towers)], dim=1)


class Dice(nn.Module):
    """The activation of the deep interest network: where the bend is depends on the batch."""

    def __init__(self, dim):
        super().__init__()
        self.norm, self.alpha = nn.BatchNorm1d(dim, affine=False), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        chance = torch.sigmoid(self.norm(x))
        return chance * x + (1 - chance) * self.alpha * x


class Interest(nn.Module):
    """How much each thing that was bought says of the one that is offered."""

    def __init__(self, dim, hidden=80):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4 * dim, hidden), Dice(hidden), nn.Linear(hidden, hidden // 2),
                                    Dice(hidden // 2), nn.Linear(hidden // 2, 1))

    def forward(self, offered, bought):
        offered = offered[:, None].expand_as(bought)
        pairs = torch.cat([offered, bought, offered - bought, offered * bought], dim=-1)
        weights = self.layers(pairs.flatten(0, 1)).view(*bought.shape[:2], 1)
        return (weights * bought).sum(1)


class InterestNet(nn.Module):
    """DIN (Zhou et al.)."""

    def __init__(self, items=200_000, dim=128):
        super().__init__()
        self.items, self.interest = nn.Embedding(items, dim), Interest(dim)
        self.head = nn.Sequential(nn.Linear(2 * dim, 200), nn.PReLU(), nn.Linear(200, 80), nn.PReLU(),
                                  nn.Linear(80, 1))

    def forward(self, offered, bought):
        offered, bought = self.items(offered), self.items(bought)
        return self.head(torch.cat([offered, self.interest(offered, bought)], dim=1)).flatten()


class NeuMF(nn.Module):
    """Neural matrix factorization (He et al.)."""

    def __init__(self, users=138_000, items=27_000, dim=64):
        super().__init__()
        self.users, self.items = nn.Embedding(users, 2 * dim), nn.Embedding(items, 2 * dim)
        self.layers = nn.Sequential(nn.Linear(2 * dim, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                                    nn.Linear(128, 64), nn.ReLU())
        self.head = nn.Linear(dim + 64, 1)

    def forward(self, user, item):
        user1, user2 = self.users(user).chunk(2, dim=1)
        item1, item2 = self.items(item).chunk(2, dim=1)
        deep = self.layers(torch.cat([user2, item2], dim=1))
        return self.head(torch.cat([user1 * item1, deep], dim=1)).flatten()


class WideRanker(nn.Module):
    """Ranks advertisements: 26 fields, then wide layers."""

    def __init__(self, fields=26, words=10000, dim=64, hidden=6144):
        super().__init__()
        self.table = nn.Embedding(fields * words, dim)
        widths = [fields * dim, hidden, hidden, hidden, hidden]
        parts = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
        self.layers = nn.Sequential(*parts, nn.Linear(hidden, 1))

    def forward(self, ids):
        return self.layers(self.table(ids).flatten(1)).flatten()


def chosen_loss(model, *batch):
    """Of a network whose last argument is what was chosen."""
    return F.binary_cross_entropy_with_logits(model(*batch[:-1]).float(), batch[-1])
