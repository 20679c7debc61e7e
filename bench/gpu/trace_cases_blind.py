"""A third set of cases for record_traces.py --cases trace_cases_blind: networks, batch sizes and flaws that neither
trace_cases.py nor trace_cases_ddp.py has. Scored once before a change of the analysis, then used to set it."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own
from trace_cases import (GPU, UNCACHED, WORKERS, Case, Images, Prefetched, adamw, amp, captured, case_list,
                         channels_last, classify, copied, graph_if, images, inference, loaded, next_token, nhwc,
                         resident, tf32, tokens, training, vision)

class BlindCase(Case):
    def split(self):
        return "blind"


def annotated_case_list():
    """Cases whose traces all have shapes and step annotations; memory is recorded where it matters."""
    found, add = case_list(BlindCase)

    def case(name, model, injected, fix, batch, **more):
        options = {"shapes": True, "annotations": True, "sync_events": False,
                   "memory": injected == "memory_allocation"}
        return add(name, model, injected, fix, batch, options=options, **more)
    return found, case


def transformers_network(kind, config, train=True):
    """Of this class of transformers, with random weights drawn on the GPU."""
    import transformers as hf
    with torch.device(GPU):
        model = getattr(hf, kind)(config)
    return model.train(train)


CASES, case = case_list(BlindCase)


# --- networks --------------------------------------------------------------------------------------------------------

class Mixer(nn.Module):
    """MLP-Mixer; `by_hand` writes its norm and activation in primitive operations."""

    def __init__(self, image=224, patch=16, dim=512, depth=8, by_hand=False):
        super().__init__()
        count, self.by_hand = (image // patch) ** 2, by_hand
        self.embed = nn.Conv2d(3, dim, patch, stride=patch)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * depth))
        self.tokens = nn.ModuleList(nn.Sequential(nn.Linear(count, 256), nn.GELU(), nn.Linear(256, count))
                                    for _ in range(depth))
        self.up = nn.ModuleList(nn.Linear(dim, 4 * dim) for _ in range(depth))
        self.down = nn.ModuleList(nn.Linear(4 * dim, dim) for _ in range(depth))
        self.head = nn.Linear(dim, 1000)

    def activation(self, x):
        if not self.by_hand:
            return F.gelu(x)
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def normal(self, norm, x):
        if not self.by_hand:
            return norm(x)
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * norm.weight + norm.bias

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        for i, mix in enumerate(self.tokens):
            x = x + mix(self.normal(self.norms[2 * i], x).transpose(1, 2)).transpose(1, 2)
            x = x + self.down[i](self.activation(self.up[i](self.normal(self.norms[2 * i + 1], x))))
        return self.head(x.mean(1))


class Audio(nn.Module):
    """Strided 1-D convolutions, then a GRU: a speech command classifier."""

    def __init__(self, width=256, layers=5):
        super().__init__()
        sizes = [1] + [width] * layers
        self.convolutions = nn.ModuleList(nn.Conv1d(a, b, 7, stride=4, padding=3) for a, b in zip(sizes, sizes[1:]))
        self.norms = nn.ModuleList(nn.GroupNorm(8, width) for _ in range(layers))
        self.head = nn.Linear(width, 1000)

    def features(self, x):
        for convolution, norm in zip(self.convolutions, self.norms):
            x = F.gelu(norm(convolution(x)))
        return x

    def forward(self, x):
        return self.head(self.features(x).mean(-1))


class Graph(nn.Module):
    """Message passing over edges; `check` is called between layers."""

    def __init__(self, dim=128, depth=6, check=None, sparse=None):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2 * dim, dim) for _ in range(depth))
        self.head, self.check, self.sparse = nn.Linear(dim, 40), check, sparse

    def forward(self, x, edges):
        for layer in self.layers:
            if self.sparse is not None:
                summed = (self.sparse @ x).to(x.dtype)
            else:
                messages = x[edges[0]]
                summed = torch.zeros_like(x).index_add_(0, edges[1], messages)
            x = x + F.relu(layer(torch.cat([x, summed], dim=1)))
            if self.check:
                self.check(x)
        return self.head(x)


class Experts(nn.Module):
    """Mixture of experts: loops over the experts' tokens, whose counts the host reads, or pads all to a capacity."""

    def __init__(self, dim=512, experts=8, padded=False, depth=4):
        super().__init__()
        self.gates = nn.ModuleList(nn.Linear(dim, experts) for _ in range(depth))
        self.up = nn.Parameter(torch.randn(depth, experts, dim, 4 * dim) * 0.02)
        self.down = nn.Parameter(torch.randn(depth, experts, 4 * dim, dim) * 0.02)
        self.padded = padded

    def forward(self, x):
        for layer, gate in enumerate(self.gates):
            weight, chosen = gate(x).softmax(-1).max(-1)
            if self.padded:
                order = chosen.argsort().view(self.up.shape[1], -1)
                hidden = F.gelu(torch.bmm(x[order], self.up[layer].to(x.dtype)))
                out = torch.bmm(hidden, self.down[layer].to(x.dtype))
                back = torch.zeros_like(x).index_copy_(0, order.flatten(), out.flatten(0, 1).to(x.dtype))
                x = x + back * weight[:, None]
                continue
            out = torch.zeros_like(x)
            for expert in range(self.up.shape[1]):
                at = (chosen == expert).nonzero().squeeze(1)
                if at.numel() == 0:
                    continue
                hidden = F.gelu(x[at] @ self.up[layer, expert].to(x.dtype))
                out[at] = (hidden @ self.down[layer, expert].to(x.dtype)).to(out.dtype)
            x = x + out * weight[:, None]
        return x


def radiance(width=1024, depth=8):
    """A NeRF-like MLP on points."""
    layers = [nn.Linear(63, width), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 4))


def mean_square(model, x, *_):
    return model(x).float().square().mean()


def series(length=96, dim=256, layers=4):
    """A small encoder for time series."""
    layer = nn.TransformerEncoderLayer(dim, 8, 4 * dim, dropout=0.0, batch_first=True, norm_first=True)
    return nn.Sequential(nn.Linear(7, dim), nn.TransformerEncoder(layer, layers), nn.Linear(dim, 7)).to(GPU)


def waves(batch, length=16384):
    return torch.randn(batch, 1, length), torch.randint(0, 1000, (batch,))


def edges_of(nodes, count):
    return torch.randn(nodes, 128), torch.randint(0, nodes, (2, count)), torch.randint(0, 40, (nodes,))


def node_loss(model, x, edges, y):
    return F.cross_entropy(model(x, edges).float(), y)


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("regnet_one_worker", "regnet", "data_loading", "num_workers 1 -> 14", 32, loader=True)
def _(kind):
    batches, close = loaded(Images("light"), 32, 1 if kind == "broken" else WORKERS)
    return training(vision("regnet_y_1_6gf"), classify, nhwc(batches)), close


class Sounds(Dataset):
    """Resamples and windows a wave in PyTorch on the CPU."""

    def __init__(self):
        self.waves = torch.randn(32, 24000)
        self.window = torch.hann_window(400)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        wave = F.interpolate(self.waves[index % 32][None, None], size=16384, mode="linear")[0]
        power = torch.stft(wave[0], 400, 160, window=self.window, return_complex=True).abs()
        return wave / (power.mean() + 1e-3), index % 1000


@case("audio_resampled_in_process", "audio", "data_loading", "num_workers 0 -> 14", 64, loader=True)
def _(kind):
    batches, close = loaded(Sounds(), 64, 0 if kind == "broken" else WORKERS)
    return training(Audio().to(GPU), classify, batches), close


@case("mixer_augmented_by_four_workers", "mixer", "data_loading", "decoded tensors without augmentation", 96,
      loader=True)
def _(kind):
    batches, close = loaded(Images("heavy" if kind == "broken" else "none"), 96, 4 if kind == "broken" else WORKERS)
    return training(Mixer().to(GPU), classify, batches), close


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("densenet_pageable_images", "densenet", "host_transfer", "pinned, prefetched on a second stream", 64)
def _(kind):
    model = vision("densenet121").eval()
    (data,) = (channels_last(images(64)[0]),)
    batches = copied(data, pinned=False, blocking=True) if kind == "broken" else Prefetched(data)

    def run():
        with amp():
            return model(batches()[0])
    return inference(run)


@case("audio_features_to_host", "audio", "host_transfer", "features stay on the GPU", 128)
def _(kind):
    model = Audio(layers=4).to(GPU).eval()
    (x,) = resident(waves(128)[0])()

    def run():
        with amp():
            features = model.features(x)
            if kind == "broken":
                return features.float().cpu()
            return features.float()
    return inference(run)


@case("radiance_rays_from_host", "radiance", "host_transfer", "rays made on the GPU", 131072)
def _(kind):
    model = radiance(512, 4).to(GPU)
    batches = copied(torch.randn(131072, 63), pinned=False, blocking=True) if kind == "broken" else resident(
        torch.randn(131072, 63))
    return training(model, mean_square, batches)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("experts_counted_on_host", "experts", "cpu_gpu_sync", "experts padded to equal counts", 8192)
def _(kind):
    model = Experts(padded=kind == "fixed").to(GPU)
    return training(model, mean_square, resident(torch.randn(8192, 512)))


@case("graph_checks_for_nan", "graph", "cpu_gpu_sync", "no check for NaN between layers", 20000)
def _(kind):
    def check(x):
        if torch.isnan(x).any().item():
            raise ValueError("NaN")
    model = Graph(check=check if kind == "broken" else None).to(GPU)
    return training(model, node_loss, resident(*edges_of(20000, 200000)))


@case("series_reads_losses", "series", "cpu_gpu_sync", "losses kept on the GPU", 256)
def _(kind):
    model, seen = series(), []

    def tail(m, loss):
        if kind == "fixed":
            seen[:] = [loss.detach()]
            return
        seen[:] = [loss.item()] + [p.grad.norm().item() for p in m.parameters()]
    return training(model, mean_square, resident(torch.randn(256, 96, 7)), tail=tail)


# --- launch_overhead -------------------------------------------------------------------------------------------------

def small_image_inference(network, batch, cure):
    def build(kind):
        model = vision(network, False).eval()
        x = torch.randn(batch, 3, 224, 224, device=GPU)
        run = torch.compile(model) if kind == "fixed" and cure == "compile" else model

        def forward():
            with amp(cache=False):
                return run(x)
        step = inference(forward)
        return captured(step) if kind == "fixed" and cure == "graph" else step
    return build


case("squeezenet_small_batch", "squeezenet", "launch_overhead", "torch.compile", 4)(
    small_image_inference("squeezenet1_1", 4, "compile"))
case("shufflenet_small_batch", "shufflenet", "launch_overhead", "CUDA graph", 2)(
    small_image_inference("shufflenet_v2_x1_0", 2, "graph"))
case("regnet_small_batch", "regnet", "launch_overhead", "CUDA graph", 8)(
    small_image_inference("regnet_y_400mf", 8, "graph"))


@case("series_small_batch", "series", "launch_overhead", "torch.compile", 4)
def _(kind):
    model = series()
    if kind == "fixed":
        model = torch.compile(model)
    return training(model, mean_square, resident(torch.randn(4, 96, 7)))


@case("mixer_small_batch", "mixer", "launch_overhead", "torch.compile", 4)
def _(kind):
    model = Mixer(depth=6).to(GPU)
    if kind == "fixed":
        model = torch.compile(model)
    return training(model, classify, resident(*images(4)))


@case("gru_small_batch", "gru", "launch_overhead", "cuDNN's GRU instead of a loop of cells", 16)
def _(kind):
    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.whole = nn.GRUCell(256, 256), nn.GRU(256, 256, batch_first=True)

        def forward(self, x):
            if kind == "fixed":
                return self.whole(x)[0]
            state, out = torch.zeros_like(x[:, 0]), []
            for time in range(x.shape[1]):
                state = self.cell(x[:, time], state)
                out.append(state)
            return torch.stack(out, 1)
    return training(Cells().to(GPU), mean_square, resident(torch.randn(16, 64, 256)), mixed=False)


# --- precision -------------------------------------------------------------------------------------------------------

def in_fp32(model, loss_of, data, allow=False):
    def build(kind):
        broken = kind == "broken"
        return training(model(), loss_of, resident(*data()), mixed=not broken, before=tf32(allow if broken else True))
    return build


case("wide_resnet_fp32", "wide_resnet", "precision", "bf16 autocast", 48)(
    in_fp32(lambda: vision("wide_resnet50_2"), classify, lambda: (channels_last(images(48)[0]), images(48)[1])))
case("radiance_fp32", "radiance", "precision", "bf16 autocast", 65536)(
    in_fp32(lambda: radiance().to(GPU), mean_square, lambda: (torch.randn(65536, 63),)))
case("mixer_fp32", "mixer", "precision", "bf16 autocast", 128)(
    in_fp32(lambda: Mixer().to(GPU), classify, lambda: images(128)))


@case("densenet_fp32_infer", "densenet", "precision", "bf16 autocast + channels_last", 96)
def _(kind):
    model = vision("densenet121", kind == "fixed").eval()
    (x,) = resident(images(96)[0])()
    x = channels_last(x) if kind == "fixed" else x
    setting = tf32(kind == "fixed")

    def run():
        setting()
        with amp(kind == "fixed"):
            return model(x)
    return inference(run)


# --- attention -------------------------------------------------------------------------------------------------------

def written_attention(batch, length, dim, heads, layers, mode="manual", causal=True):
    def build(kind):
        model = own.Decoder(vocab=8192, dim=dim, layers=layers, heads=heads, length=length, causal=causal,
                            attention=mode if kind == "broken" else "flash").to(GPU)
        return training(model, next_token, resident(*tokens(batch, length, 8192)))
    return build


case("long_decoder_manual_attention", "decoder32", "attention", "scaled_dot_product_attention", 2)(
    written_attention(2, 3072, 1024, 32, 4))
case("encoder_math_attention", "encoder", "attention", "flash attention", 24)(
    written_attention(24, 640, 512, 8, 8, "math", causal=False))


@case("decoder_manual_attention_infer", "decoder32", "attention", "scaled_dot_product_attention", 4)
def _(kind):
    model = own.Decoder(vocab=8192, dim=2048, layers=4, heads=16, length=2048, llama=True,
                        attention="manual" if kind == "broken" else "flash").bfloat16().to(GPU).eval()
    (ids,) = resident(*tokens(4, 2048, 8192))()
    return inference(lambda: model(ids))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("mixer_norms_by_hand", "mixer", "memory_bandwidth", "LayerNorm and GELU of the framework", 128)
def _(kind):
    return training(Mixer(by_hand=kind == "broken").to(GPU), classify, resident(*images(128)))


@case("photometric_chain", "photometric", "memory_bandwidth", "torch.compile fuses the chain", 96)
def _(kind):
    def distort(x):
        x = (x.float() / 255.0).clamp(0, 1)
        x = x ** 1.2
        grey = 0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:]
        x = (x * 0.8 + grey * 0.2) * 1.1 - 0.05
        x = torch.sigmoid(6 * (x - 0.5))
        return ((x - 0.45) / 0.22).to(torch.bfloat16)
    function = torch.compile(distort) if kind == "fixed" else distort
    (x,) = resident(torch.randint(0, 256, (96, 3, 512, 512), dtype=torch.uint8))()
    return inference(lambda: function(x))


@case("graph_gathers_messages", "graph", "memory_bandwidth", "sparse matrix product", 100000)
def _(kind):
    x, edges, y = edges_of(100000, 3000000)
    sparse = None
    if kind == "fixed":
        order = torch.sparse_coo_tensor(torch.stack([edges[1], edges[0]]), torch.ones(edges.shape[1]), (100000, 100000))
        sparse = order.coalesce().to_sparse_csr().to(GPU)
    model = Graph(depth=4, sparse=sparse).to(GPU).eval()
    x, edges, _ = resident(x, edges, y)()
    return inference(lambda: model(x, edges))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("densenet_adamw_per_parameter", "densenet", "optimizer", "AdamW(fused=True)", 32)
def _(kind):
    model = vision("densenet121")
    x, y = images(32)
    return training(model, classify, resident(channels_last(x), y),
                    adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model))


@case("mixer_nadam_per_parameter", "mixer", "optimizer", "NAdam(foreach=True)", 32)
def _(kind):
    model = Mixer().to(GPU)
    return training(model, classify, resident(*images(32)),
                    torch.optim.NAdam(model.parameters(), 1e-4, foreach=kind == "fixed"))


@case("decoder_adam_per_parameter", "decoder32", "optimizer", "Adam(fused=True)", 4)
def _(kind):
    model = own.Decoder(vocab=32768, dim=1024, layers=8, heads=16, length=256).to(GPU)
    more = {"foreach": False} if kind == "broken" else {"fused": True}
    return training(model, next_token, resident(*tokens(4, 256)), torch.optim.Adam(model.parameters(), 1e-4, **more))


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("mixer_uncached_allocations", "mixer", "memory_allocation", "the caching allocator", 64, environment=UNCACHED)
def _(kind):
    return training(Mixer().to(GPU), classify, resident(*images(64)))


@case("regnet_empties_cache_per_step", "regnet", "memory_allocation", "no empty_cache() in the loop", 96)
def _(kind):
    x, y = images(96)

    def tail(*_):
        if kind == "broken":
            torch.cuda.empty_cache()
    return training(vision("regnet_y_1_6gf"), classify, resident(channels_last(x), y), tail=tail)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("mixer_graph_batch2", "mixer", "gpu_underused", "batch 2 -> 128", 2, fixed_batch=128, accept=["gpu_underused"])
def _(kind):
    x, y = images(2 if kind == "broken" else 128)
    return graph_if(True, Mixer().to(GPU), classify, resident(x, y))


@case("radiance_batch1024", "radiance", "gpu_underused", "batch 1024 -> 65536", 1024, fixed_batch=65536)
def _(kind):
    return training(radiance(256).to(GPU), mean_square, resident(torch.randn(1024 if kind == "broken" else 65536, 63)))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("mixer_healthy", "mixer", "none", "", 384)
def _(kind):
    model = Mixer(dim=768, depth=8).to(GPU).bfloat16()
    x, y = images(384)
    return training(model, classify, resident(x.bfloat16(), y))


@case("radiance_healthy", "radiance", "none", "", 262144)
def _(kind):
    return training(radiance(2048, 6).to(GPU).bfloat16(), mean_square, resident(torch.randn(262144, 63).bfloat16()))


@case("decoder32_healthy", "decoder32", "none", "", 12)
def _(kind):
    model = own.Decoder(dim=2048, layers=6, heads=32, length=1024).to(GPU).bfloat16()
    return training(model, next_token, resident(*tokens(12, 1024)), mixed=False)


@case("wide_resnet_healthy", "wide_resnet", "none", "", 192)
def _(kind):
    model = vision("wide_resnet50_2").bfloat16()
    x, y = images(192)
    return training(model, classify, Prefetched(channels_last(x.bfloat16()), y))
