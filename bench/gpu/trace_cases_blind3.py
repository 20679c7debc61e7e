"""A fifth set of cases for record_traces.py --cases trace_cases_blind3: networks that no earlier set has, flaws that
look different. Recorded to judge an analysis that has never seen it."""
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own
from trace_cases import (GPU, UNCACHED, WORKERS, Images, Prefetched, adamw, amp, captured, case_list, channels_last,
                         classify, copied, images, inference, loaded, next_token, nhwc, noise_loss, resident, tf32,
                         tokens, training, vision)
from trace_cases_blind import BlindCase

CASES, case = case_list(BlindCase)


# --- networks --------------------------------------------------------------------------------------------------------

def heads_of(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def merged(x):
    return x.transpose(1, 2).flatten(2)


class Flow(nn.Module):
    """A normalizing flow of affine couplings; `watch` is called with every coupling's log-determinant."""

    def __init__(self, dim=128, width=512, depth=24, watch=None):
        super().__init__()
        self.watch = watch
        self.nets = nn.ModuleList(
            nn.Sequential(nn.Linear(dim // 2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                          nn.Linear(width, dim)) for _ in range(depth))

    def forward(self, x):
        a, b = x.chunk(2, dim=-1)
        total = torch.zeros(x.shape[0], device=x.device)
        for net in self.nets:
            scale, shift = net(a).float().chunk(2, dim=-1)
            scale = torch.tanh(scale)
            a, b = b * torch.exp(scale) + shift, a
            change = scale.sum(-1)
            if self.watch:
                self.watch(change)
            total = total + change
        return torch.cat([a, b], dim=-1), total


def flow_loss(model, x):
    z, change = model(x)
    return (0.5 * z.square().sum(-1) - change).mean()


class WaveNet(nn.Module):
    """Gated dilated convolutions with skip connections."""

    def __init__(self, channels=64, layers=20, classes=256):
        super().__init__()
        self.inlet = nn.Conv1d(1, channels, 1)
        self.dilated = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 3, padding=2**(i % 8), dilation=2**(i % 8))
                                     for i in range(layers))
        self.outlets = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 1) for _ in range(layers))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(channels, channels, 1), nn.ReLU(),
                                  nn.Conv1d(channels, classes, 1))

    def forward(self, x):
        x, skips = self.inlet(x), 0
        for dilated, outlet in zip(self.dilated, self.outlets):
            value, gate = dilated(x).chunk(2, dim=1)
            rest, skip = outlet(torch.tanh(value) * torch.sigmoid(gate)).chunk(2, dim=1)
            x, skips = x + rest, skips + skip
        return self.head(skips)


class LanguageLstm(nn.Module):
    """A language model around cuDNN's LSTM."""

    def __init__(self, vocab, dim, layers=2):
        super().__init__()
        self.tokens, self.core = nn.Embedding(vocab, dim), nn.LSTM(dim, dim, layers, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.core(self.tokens(ids))[0])


class ModulatedBlock(nn.Module):
    """A block of a diffusion transformer: shift, scale and gate come from the time."""

    def __init__(self, dim, heads, attention):
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norm1, self.norm2 = (nn.LayerNorm(dim, elementwise_affine=False) for _ in range(2))
        self.condition, self.qkv, self.out = nn.Linear(dim, 6 * dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x, time_code):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.condition(F.silu(time_code))[:, None].chunk(6, dim=-1)
        qkv = self.qkv(self.norm1(x) * (1 + scale1) + shift1)
        q, k, v = (heads_of(part, self.heads) for part in qkv.chunk(3, dim=-1))
        x = x + gate1 * self.out(merged(own.attend(q, k, v, self.attention, causal=False)))
        return x + gate2 * self.down(F.gelu(self.up(self.norm2(x) * (1 + scale2) + shift2)))


class DiffusionTransformer(nn.Module):
    """Predicts the noise of 4-channel latents in patches of 2x2."""

    def __init__(self, dim=512, depth=8, heads=8, attention="flash"):
        super().__init__()
        self.embed = nn.Conv2d(4, dim, 2, stride=2)
        self.time = nn.Sequential(nn.Linear(256, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.blocks = nn.ModuleList(ModulatedBlock(dim, heads, attention) for _ in range(depth))
        self.head = nn.Linear(dim, 16)

    def forward(self, x, t):
        rates = torch.exp(-torch.arange(128, device=x.device, dtype=torch.float32) / 14)
        angles = t[:, None].float() * rates
        time_code = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1).to(x.dtype))
        h = self.embed(x)
        rows, columns = h.shape[2:]
        h = h.flatten(2).transpose(1, 2)
        for block in self.blocks:
            h = block(h, time_code)
        return F.pixel_shuffle(self.head(h).transpose(1, 2).reshape(-1, 16, rows, columns), 2)


class Clip(nn.Module):
    """An image and a text tower; gives normalized embeddings."""

    def __init__(self, dim=512, depth=6, image=112, length=32):
        super().__init__()
        self.image = own.PatchTransformer(image=image, patch=16, dim=dim, layers=depth, heads=dim // 64)
        self.text = own.Decoder(vocab=8192, dim=dim, layers=depth, heads=dim // 64, length=length)
        self.image.head, self.text.head = nn.Linear(dim, 512), nn.Linear(dim, 512)

    def forward(self, pixels, ids):
        return F.normalize(self.image(pixels).float(), dim=-1), F.normalize(self.text(ids)[:, -1].float(), dim=-1)


def clip_loss(model, pixels, ids):
    a, b = model(pixels, ids)
    logits = (a @ b.T).float() * 20
    target = torch.arange(a.shape[0], device=a.device)
    return F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)


def captions(batch, image=112, length=32):
    return torch.randn(batch, 3, image, image), torch.randint(0, 8192, (batch, length))


class ConformerBlock(nn.Module):
    """Half a feed-forward, attention, a depthwise convolution, half a feed-forward."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = (nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.SiLU(),
                                                 nn.Linear(4 * dim, dim)) for _ in range(2))
        self.norm1, self.norm2, self.last = (nn.LayerNorm(dim) for _ in range(3))
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.inlet, self.outlet = nn.Conv1d(dim, 2 * dim, 1), nn.Conv1d(dim, dim, 1)
        self.depthwise, self.batch = nn.Conv1d(dim, dim, 15, padding=7, groups=dim), nn.BatchNorm1d(dim)

    def forward(self, x):
        x = x + 0.5 * self.first(x)
        q, k, v = (heads_of(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        x = x + self.out(merged(F.scaled_dot_product_attention(q, k, v)))
        h = F.glu(self.inlet(self.norm2(x).transpose(1, 2)), dim=1)
        x = x + self.outlet(F.silu(self.batch(self.depthwise(h)))).transpose(1, 2)
        return self.last(x + 0.5 * self.second(x))


class Conformer(nn.Module):
    """Classifies speech; four frames of 80 bands are one token; `check` is called after every block."""

    def __init__(self, dim=256, depth=8, heads=4, check=None):
        super().__init__()
        self.inlet, self.head, self.check = nn.Linear(320, dim), nn.Linear(dim, 1000), check
        self.blocks = nn.ModuleList(ConformerBlock(dim, heads) for _ in range(depth))

    def forward(self, x):
        x = self.inlet(x.reshape(x.shape[0], -1, 320))
        for block in self.blocks:
            x = block(x)
            if self.check:
                self.check(x)
        return self.head(x.mean(1))


class Experts(nn.Module):
    """A mixture of experts: the tokens of each are selected by their indices, or all get equally many."""

    def __init__(self, dim, hidden, experts, depth, equal):
        super().__init__()
        self.equal = equal
        self.gates = nn.ModuleList(nn.Linear(dim, experts) for _ in range(depth))
        self.up, self.down = (nn.ParameterList(nn.Parameter(torch.randn(experts, a, b, device=GPU) * 0.02)
                                               for _ in range(depth)) for a, b in ((dim, hidden), (hidden, dim)))

    def equally(self, layer, x, chosen):
        order = chosen.argsort().view(self.up[layer].shape[0], -1)
        hidden = F.gelu(torch.bmm(x[order], self.up[layer]))
        out = torch.bmm(hidden, self.down[layer]).flatten(0, 1)
        return torch.zeros_like(x).index_copy(0, order.flatten(), out.to(x.dtype))

    def selected(self, layer, x, chosen):
        out = torch.zeros_like(x)
        for expert, (up, down) in enumerate(zip(self.up[layer].unbind(), self.down[layer].unbind())):
            rows = (chosen == expert).nonzero().squeeze(1)
            hidden = F.gelu(x.index_select(0, rows) @ up)
            out = out.index_add(0, rows, (hidden @ down).to(x.dtype))
        return out

    def forward(self, x):
        for layer, gate in enumerate(self.gates):
            weight, chosen = gate(x).softmax(-1).max(-1)
            mixed = self.equally(layer, x, chosen) if self.equal else self.selected(layer, x, chosen)
            x = x + mixed * weight[:, None].to(x.dtype)
        return x


class Matching(nn.Module):
    """Optical flow as RAFT does it: all-pairs correlation, looked up around a flow that a GRU refines; `report` is
    called with every update."""

    def __init__(self, width=96, iterations=20, report=None):
        super().__init__()
        sizes = [3, 32, 64, width]
        self.features = nn.Sequential(*(part for a, b in zip(sizes, sizes[1:]) for part in (
            nn.Conv2d(a, b, 5, stride=2, padding=2), nn.InstanceNorm2d(b), nn.ReLU())))
        self.motion = nn.Conv2d(3 * 49 + 2, width, 1)
        self.gates, self.candidate = (nn.Conv2d(2 * width, 2 * width, 3, padding=1),
                                      nn.Conv2d(2 * width, width, 3, padding=1))
        self.outlet = nn.Conv2d(width, 2, 3, padding=1)
        around = torch.arange(-3.0, 4.0)
        self.register_buffer("window", torch.stack(torch.meshgrid(around, around, indexing="xy"), dim=-1)[None])
        self.iterations, self.report = iterations, report

    def look_up(self, pyramid, at):
        batch, _, height, width = at.shape
        centre = at.permute(0, 2, 3, 1).reshape(-1, 1, 1, 2)
        found = []
        for level, volume in enumerate(pyramid):
            places = centre / 2**level + self.window
            x = 2 * places[..., 0] / (volume.shape[-1] - 1) - 1
            y = 2 * places[..., 1] / (volume.shape[-2] - 1) - 1
            sampled = F.grid_sample(volume, torch.stack([x, y], dim=-1), align_corners=True)
            found.append(sampled.reshape(batch, height, width, -1))
        return torch.cat(found, dim=-1).permute(0, 3, 1, 2)

    def forward(self, first, second):
        a, b = self.features(first).float(), self.features(second).float()
        batch, width, rows, columns = a.shape
        volume = (a.flatten(2).transpose(1, 2) @ b.flatten(2)).float() / width**0.5
        pyramid = [volume.reshape(-1, 1, rows, columns)]
        for _ in range(2):
            pyramid.append(F.avg_pool2d(pyramid[-1], 2))
        y, x = torch.meshgrid(torch.arange(rows, device=a.device, dtype=torch.float32),
                              torch.arange(columns, device=a.device, dtype=torch.float32), indexing="ij")
        start = torch.stack([x, y])[None].expand(batch, -1, -1, -1)
        at, state = start, torch.tanh(a)
        for index in range(self.iterations):
            motion = F.relu(self.motion(torch.cat([self.look_up(pyramid, at), at - start], dim=1)))
            z, r = torch.sigmoid(self.gates(torch.cat([state, motion], dim=1))).chunk(2, dim=1)
            wanted = torch.tanh(self.candidate(torch.cat([r * state, motion], dim=1)))
            state = (1 - z) * state + z * wanted
            update = self.outlet(state).float()
            at = at + update
            if self.report:
                self.report(index, update)
        return at - start


class BeamDecoder(nn.Module):
    """One token of a beam search: attention and feed-forward side by side, one key/value head, a static cache that is
    reordered by beam. Nothing comes from the host, so that a step can be captured into a CUDA graph."""

    def __init__(self, beams, vocab=12000, dim=768, layers=14, heads=12, length=384):
        super().__init__()
        self.sizes, self.beams, self.heads, self.vocab = [dim, dim // heads, dim // heads, 4 * dim], beams, heads, vocab
        self.tokens, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(layers))
        self.inlets = nn.ModuleList(nn.Linear(dim, sum(self.sizes)) for _ in range(layers))
        self.outlets = nn.ModuleList(nn.Linear(5 * dim, dim) for _ in range(layers))
        self.register_buffer("cache", torch.zeros(layers, 2, beams, 1, length, dim // heads))
        self.register_buffer("position", torch.zeros(1, dtype=torch.long))
        self.register_buffer("slots", torch.arange(length))

    def forward(self, token, beam):
        x = self.tokens(token)
        self.cache.copy_(self.cache.index_select(2, beam))
        visible = (self.slots <= self.position)[None, None, None, :]
        for layer, (norm, inlet, outlet) in enumerate(zip(self.norms, self.inlets, self.outlets)):
            q, k, v, hidden = inlet(norm(x)).split(self.sizes, dim=-1)
            keys, values = self.cache[layer, 0], self.cache[layer, 1]
            keys.index_copy_(2, self.position, k[:, None, None])
            values.index_copy_(2, self.position, v[:, None, None])
            mixed = F.scaled_dot_product_attention(
                q.reshape(self.beams, self.heads, 1, -1), keys.expand(-1, self.heads, -1, -1),
                values.expand(-1, self.heads, -1, -1), attn_mask=visible)
            x = x + outlet(torch.cat([mixed.reshape(self.beams, -1), F.gelu(hidden)], dim=-1))
        self.position.add_(1).remainder_(self.slots.shape[0])
        best = self.head(x).float().log_softmax(-1).flatten().topk(self.beams).indices
        return best % self.vocab, best // self.vocab


class Ensemble(nn.Module):
    """Many small networks on the same input: one after the other, or as batched products."""

    def __init__(self, members=24, width=256, batched=False):
        super().__init__()
        self.batched, sizes = batched, [32, width, width, 1]
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(members, a, b) * a**-0.5)
                                        for a, b in zip(sizes, sizes[1:]))
        self.members = members

    def forward(self, x):
        if self.batched:
            h = x.expand(self.members, -1, -1)
            for weight in self.weights:
                h = torch.tanh(torch.bmm(h, weight))
            return h
        outputs = []
        for weights in zip(*(weight.unbind() for weight in self.weights)):
            h = x
            for weight in weights:
                h = torch.tanh(h @ weight)
            outputs.append(h)
        return torch.stack(outputs)


class Perceiver(nn.Module):
    """Few latents attend to a long input, then to each other."""

    def __init__(self, written, dim=512, heads=8, depth=3):
        super().__init__()
        self.written, self.heads = written, heads
        self.latents, self.inlet = nn.Parameter(torch.randn(1, 512, dim) * 0.02), nn.Linear(64, dim)
        self.queries, self.outs = (nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth)) for _ in range(2))
        self.pairs = nn.ModuleList(nn.Linear(dim, 2 * dim) for _ in range(depth))
        self.blocks = nn.ModuleList(own.Block(dim, heads, causal=False) for _ in range(depth))
        self.head = nn.Linear(dim, 1000)

    def attend(self, q, k, v):
        if not self.written:
            return F.scaled_dot_product_attention(q, k, v)
        weights = torch.einsum("bhid,bhjd->bhij", q, k).mul(q.shape[-1] ** -0.5).softmax(dim=-1)
        return torch.einsum("bhij,bhjd->bhid", weights.to(v.dtype), v)

    def forward(self, x):
        x = self.inlet(x)
        latents = self.latents.expand(x.shape[0], -1, -1)
        for query, pair, out, block in zip(self.queries, self.pairs, self.outs, self.blocks):
            k, v = (heads_of(part, self.heads) for part in pair(x).chunk(2, dim=-1))
            latents = latents + out(merged(self.attend(heads_of(query(latents), self.heads), k, v)))
            latents = block(latents)
        return self.head(latents.mean(1))


class GroupedBlock(nn.Module):
    """Four query heads share a key/value head; `written` adds a mask to scores and takes the softmax in fp32."""

    def __init__(self, dim, heads, written):
        super().__init__()
        self.heads, self.written, size = heads, written, dim // heads
        self.norm1, self.norm2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.query, self.pair, self.out = (nn.Linear(dim, dim, bias=False),
                                           nn.Linear(dim, 2 * size * heads // 4, bias=False),
                                           nn.Linear(dim, dim, bias=False))
        self.up, self.down = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(2 * dim, dim, bias=False)

    def attend(self, q, k, v, mask):
        if not self.written:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = torch.matmul(q, k.transpose(2, 3)) / q.shape[-1] ** 0.5 + mask
        return torch.matmul(F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype), v)

    def forward(self, x, mask):
        h = self.norm1(x)
        k, v = (heads_of(part, self.heads // 4).repeat_interleave(4, dim=1) for part in self.pair(h).chunk(2, dim=-1))
        x = x + self.out(merged(self.attend(heads_of(self.query(h), self.heads), k, v, mask)))
        gate, value = self.up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * value)


class SuperResolution(nn.Module):
    """EDSR: residual pairs of convolutions, then twice the size by shuffling channels into pixels."""

    def __init__(self, width=256, depth=10):
        super().__init__()
        def convolution(inputs, outputs):
            return nn.Conv2d(inputs, outputs, 3, padding=1)
        self.inlet, self.outlet = convolution(3, width), convolution(width, 12)
        self.pairs = nn.ModuleList(nn.Sequential(convolution(width, width), nn.ReLU(True), convolution(width, width))
                                   for _ in range(depth))

    def forward(self, x):
        x = self.inlet(x)
        for pair in self.pairs:
            x = x + pair(x)
        return F.pixel_shuffle(self.outlet(x), 2)


def segmenter(name):
    from torchvision.models import segmentation
    model = segmentation.__dict__[name](weights=None, weights_backbone=None, num_classes=21).to(GPU)
    return model.to(memory_format=torch.channels_last)


def mask_loss(model, x, masks):
    return F.cross_entropy(model(x)["out"].float(), masks)


def mean_square(model, *inputs):
    return model(*inputs).float().square().mean()


def speech(batch, frames=400):
    return torch.randn(batch, frames, 80), torch.randint(0, 1000, (batch,))


# --- data_loading ----------------------------------------------------------------------------------------------------

class Scenes(Dataset):
    """Crops, flips, blurs and recolours a picture; crops and flips its mask alike."""

    def __init__(self):
        self.pictures = torch.randint(0, 256, (24, 3, 320, 320), dtype=torch.uint8)
        self.masks = torch.randint(0, 21, (24, 320, 320))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from torchvision.transforms.v2 import functional as change
        top, left = torch.randint(0, 64, (2,)).tolist()
        picture = self.pictures[index % 24, :, top:top + 256, left:left + 256].float() / 255
        mask = self.masks[index % 24, top:top + 256, left:left + 256]
        if index % 2:
            picture, mask = picture.flip(-1), mask.flip(-1)
        picture = change.gaussian_blur(change.adjust_hue(picture, 0.1), [7, 7])
        return change.normalize(picture, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), mask.contiguous()


@case("deeplab_augments_in_process", "deeplab", "data_loading", "num_workers 0 -> 14", 24, loader=True)
def _(kind):
    batches, close = loaded(Scenes(), 24, 0 if kind == "broken" else WORKERS)
    return training(segmenter("deeplabv3_mobilenet_v3_large"), mask_loss, nhwc(batches)), close


class Recordings(Dataset):
    """Reads from a slow disk: most of the time of an item is waiting."""

    def __init__(self, wait):
        self.wait, self.frames = wait, torch.randn(32, 440, 80)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        time.sleep(self.wait)
        return self.frames[index % 32, index % 40: index % 40 + 400].clone(), index % 1000


@case("conformer_slow_disk", "conformer", "data_loading", "num_workers 2 -> 14", 24, loader=True)
def _(kind):
    batches, close = loaded(Recordings(0.009), 24, 2 if kind == "broken" else WORKERS)
    return training(Conformer().to(GPU), classify, batches), close


class Jpegs(Dataset):
    """Decodes compressed pictures."""

    def __init__(self):
        from torchvision.io import encode_jpeg
        from torchvision.transforms import v2
        smooth = F.interpolate(torch.rand(16, 3, 32, 40), size=(480, 600), mode="bicubic")
        self.files = [encode_jpeg(picture) for picture in smooth.mul(255).clamp(0, 255).to(torch.uint8)]
        self.transform = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(),
                                     v2.ToDtype(torch.float32, scale=True),
                                     v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from torchvision.io import decode_jpeg
        return self.transform(decode_jpeg(self.files[index % 16])), index % 1000


@case("resnet34_decodes_by_three", "resnet34", "data_loading", "num_workers 3 -> 14", 80, loader=True)
def _(kind):
    batches, close = loaded(Jpegs(), 80, 3 if kind == "broken" else WORKERS)
    return training(vision("resnet34"), classify, nhwc(batches)), close


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("mc3_clips_pageable", "mc3", "host_transfer", "pinned, prefetched on a second stream", 16)
def _(kind):
    from torchvision.models.video import mc3_18
    model = mc3_18(weights=None).to(GPU).eval()
    clips = torch.randn(16, 3, 16, 112, 112)
    batches = copied(clips, pinned=False, blocking=True) if kind == "broken" else Prefetched(clips)

    def run():
        with amp():
            return model(batches()[0])
    return inference(run)


@case("clip_scores_to_host", "clip", "host_transfer", "the ten best chosen on the GPU, only they are copied", 1024)
def _(kind):
    model = Clip().to(GPU).eval()
    pixels, ids = resident(*captions(1024))()
    gallery = F.normalize(torch.randn(8192, 512, device=GPU), dim=-1)

    def run():
        with amp():
            pictures, texts = model(pixels, ids)
            scores = (torch.cat([pictures, texts]) @ gallery.T).float()
        return scores.cpu() if kind == "broken" else scores.topk(10, dim=-1).indices.cpu()
    return inference(run)


@case("swinv2_activations_on_host", "swin_v2", "host_transfer", "activations kept on the GPU", 16)
def _(kind):
    def offloaded(model, x, y):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return classify(model, x, y)
    return training(vision("swin_v2_t", False), offloaded if kind == "broken" else classify, resident(*images(16)))


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("flow_logs_couplings", "flow", "cpu_gpu_sync", "log-determinants not read one by one", 32768)
def _(kind):
    seen = []

    def watch(change):
        seen.append(change.detach().mean().item())
        if len(seen) > 1000:
            seen.clear()
    model = Flow(watch=watch if kind == "broken" else None).to(GPU)
    return training(model, flow_loss, resident(torch.randn(32768, 128)))


@case("experts_select_tokens", "experts", "cpu_gpu_sync", "equally many tokens an expert, one batched product", 8192)
def _(kind):
    model = Experts(512, 2048, 16, 4, equal=kind == "fixed").to(GPU)
    return training(model, mean_square, resident(torch.randn(8192, 512)))


@case("matching_prints_updates", "matching", "cpu_gpu_sync", "no print of every update", 6)
def _(kind):
    def report(index, update):
        print(f"iteration {index}: {update.abs().mean():.4f} pixels")
    model = Matching(report=report if kind == "broken" else None).to(GPU).eval()
    first, second = resident(torch.randn(6, 3, 384, 512), torch.randn(6, 3, 384, 512))()

    def run():
        with amp():
            return model(first, second)
    return inference(run)


@case("diffusion_transformer_timers", "dit", "cpu_gpu_sync", "CUDA events instead of torch.cuda.synchronize", 32)
def _(kind):
    model, began = DiffusionTransformer(depth=16).to(GPU), [0.0, 0.0]

    def start(*_):
        torch.cuda.synchronize()
        began[0] = time.perf_counter()

    def stop(*_):
        torch.cuda.synchronize()
        began[1] += time.perf_counter() - began[0]
    for block in model.blocks:
        if kind == "broken":
            block.register_forward_pre_hook(start)
            block.register_forward_hook(stop)
    return training(model, noise_loss, resident(torch.randn(32, 4, 32, 32)))


@case("conformer_early_exit", "conformer", "cpu_gpu_sync", "masks of finished rows looked at once, at the end", 40)
def _(kind):
    finished = []

    def check(x):
        mask = x.square().mean((1, 2)) > 50
        finished.append(mask if kind == "fixed" else mask.cpu())
        if kind == "broken" and bool(finished[-1].all()):
            raise StopIteration
    model = Conformer(384, 12, 6, check).to(GPU).eval()
    (x,) = resident(speech(40, 1024)[0])()

    def run():
        finished.clear()
        with amp():
            return model(x), torch.stack(finished).cpu()
    return inference(run)


# --- launch_overhead -------------------------------------------------------------------------------------------------

def burgers(model, points):
    """The residual of Burgers' equation; its gradient needs a second backward pass."""
    points = points.detach().requires_grad_()
    u = model(points)
    (first,) = torch.autograd.grad(u.sum(), points, create_graph=True)
    (second,) = torch.autograd.grad(first[:, 0].sum(), points, create_graph=True)
    return (first[:, 1] + u[:, 0] * first[:, 0] - 0.01 * second[:, 0]).square().mean()


@case("physics_small_batch", "physics", "launch_overhead", "CUDA graph", 512)
def _(kind):
    sizes = [2] + [64] * 8
    layers = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), nn.Tanh())]
    model = nn.Sequential(*layers, nn.Linear(64, 1)).to(GPU)
    step = training(model, burgers, resident(torch.rand(512, 2)), adamw(model, fused=True, capturable=True),
                    mixed=False)
    return captured(step) if kind == "fixed" else step


@case("beam_search_small", "beam", "launch_overhead", "CUDA graph", 4)
def _(kind):
    model = BeamDecoder(4).bfloat16().to(GPU).eval()
    token, beam = (torch.zeros(4, dtype=torch.long, device=GPU) for _ in range(2))

    def run():
        chosen, came_from = model(token, beam)
        token.copy_(chosen)
        beam.copy_(came_from)
    step = inference(run)
    return captured(step) if kind == "fixed" else step


@case("ensemble_in_a_loop", "ensemble", "launch_overhead", "all members in one batched product", 128)
def _(kind):
    model = Ensemble(batched=kind == "fixed").to(GPU)
    return training(model, mean_square, resident(torch.randn(128, 32)))


@case("mobilenet_v2_one_image", "mobilenet_v2", "launch_overhead",
      'torch.compile(mode="reduce-overhead"), which replays a CUDA graph', 1)
def _(kind):
    model = vision("mobilenet_v2", False).eval()
    run = torch.compile(model, mode="reduce-overhead") if kind == "fixed" else model
    x = torch.randn(1, 3, 224, 224, device=GPU)

    def forward():
        with amp(cache=False):
            return run(x)
    return inference(forward)


@case("wavenet_small_batch", "wavenet", "launch_overhead", "torch.compile", 2)
def _(kind):
    model = WaveNet().to(GPU)
    if kind == "fixed":
        model = torch.compile(model)
    return training(model, classify, resident(torch.randn(2, 1, 2048), torch.randint(0, 256, (2, 2048))))


# --- precision -------------------------------------------------------------------------------------------------------

def in_fp32(model, loss_of, data):
    def build(kind):
        return training(model(), loss_of, resident(*data()), mixed=kind == "fixed", before=tf32(kind == "fixed"))
    return build


case("maxvit_fp32", "maxvit", "precision", "bf16 autocast", 64)(
    in_fp32(lambda: vision("maxvit_t", False), classify, lambda: images(64)))
case("lstm_fp32", "language_lstm", "precision", "bf16 autocast", 64)(
    in_fp32(lambda: LanguageLstm(16384, 1024).to(GPU), next_token, lambda: tokens(64, 128)))


@case("diffusion_transformer_highest", "dit", "precision", 'torch.set_float32_matmul_precision("high")', 32)
def _(kind):
    return training(DiffusionTransformer(768, 8, 12).to(GPU), noise_loss, resident(torch.randn(32, 4, 32, 32)),
                    mixed=False, before=tf32(kind == "fixed"))


# --- attention -------------------------------------------------------------------------------------------------------

@case("diffusion_transformer_manual_attention", "dit", "attention", "scaled_dot_product_attention", 6)
def _(kind):
    model = DiffusionTransformer(768, 6, 12, "manual" if kind == "broken" else "flash").to(GPU)
    return training(model, noise_loss, resident(torch.randn(6, 4, 80, 80)))


@case("perceiver_einsum_attention", "perceiver", "attention", "scaled_dot_product_attention", 8)
def _(kind):
    model = Perceiver(written=kind == "broken").to(GPU)
    return training(model, classify, resident(torch.randn(8, 6144, 64), torch.randint(0, 1000, (8,))))


@case("grouped_prefill_masked_scores", "grouped", "attention", "scaled_dot_product_attention", 4)
def _(kind):
    blocks = nn.ModuleList(GroupedBlock(2048, 32, kind == "broken") for _ in range(4)).bfloat16().to(GPU).eval()
    x = torch.randn(4, 1792, 2048, device=GPU, dtype=torch.bfloat16)
    mask = torch.full((1792, 1792), float("-inf"), device=GPU, dtype=torch.bfloat16).triu(1)

    def run():
        h = x
        for block in blocks:
            h = block(h, mask)
        return h
    return inference(run)


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("wave_equation_rolled", "stencil", "memory_bandwidth", "torch.compile fuses the time step", 1)
def _(kind):
    def advance(now, before, speed):
        for _ in range(3):
            around = torch.roll(now, 1, 0) + torch.roll(now, -1, 0) + torch.roll(now, 1, 1) + torch.roll(now, -1, 1)
            now, before = 2 * now - before + speed * (around - 4 * now), now
        return now, before
    function = torch.compile(advance) if kind == "fixed" else advance
    now, before, speed = resident(torch.randn(6144, 6144), torch.randn(6144, 6144), torch.rand(6144, 6144) * 0.2)()
    return inference(lambda: function(now, before, speed))


@case("smoothed_loss_by_hand", "language_mlp", "memory_bandwidth", "F.cross_entropy(label_smoothing=0.1)", 8192)
def _(kind):
    vocab = 32768

    def loss_of(model, ids, target):
        logits = model(ids).float()
        if kind == "fixed":
            return F.cross_entropy(logits, target, label_smoothing=0.1)
        wanted = F.one_hot(target, vocab).float() * 0.9 + 0.1 / vocab
        return -(wanted * logits.log_softmax(-1)).sum(-1).mean()
    model = nn.Sequential(nn.Embedding(vocab, 512), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, vocab)).to(GPU)
    return training(model, loss_of, resident(torch.randint(0, vocab, (8192,)), torch.randint(0, vocab, (8192,))))


@case("rotary_chain", "rotary", "memory_bandwidth", "torch.compile fuses norm and rotation", 8)
def _(kind):
    def prepare(x, cos, sin, weight):
        x = x.float()
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight
        a, b = x.chunk(2, dim=-1)
        return (x * cos + torch.cat([-b, a], dim=-1) * sin).to(torch.bfloat16)
    function = torch.compile(prepare) if kind == "fixed" else prepare
    q, k = torch.randn(2, 8, 16, 4096, 128, device=GPU, dtype=torch.bfloat16)
    cos, sin, weight = torch.rand(4096, 128, device=GPU), torch.rand(4096, 128, device=GPU), torch.rand(128, device=GPU)
    return inference(lambda: (function(q, cos, sin, weight), function(k, cos, sin, weight)))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("convnext_small_adamax_per_parameter", "convnext_small", "optimizer", "Adamax(foreach=True)", 16)
def _(kind):
    model = vision("convnext_small")
    x, y = images(16)
    return training(model, classify, resident(channels_last(x), y),
                    torch.optim.Adamax(model.parameters(), 1e-4, foreach=kind == "fixed"))


@case("swinv2_average_per_parameter", "swin_v2", "optimizer", "foreach for the average and for the clipping", 24)
def _(kind):
    model, fixed = vision("swin_v2_t", False), kind == "fixed"
    optimizer, parameters = adamw(model), list(model.parameters())
    averages = [p.detach().clone() for p in parameters]

    def clip(*_):
        nn.utils.clip_grad_norm_(parameters, 1.0, foreach=fixed)

    @torch.no_grad()
    def average(*_):
        if fixed:
            torch._foreach_lerp_(averages, parameters, 0.001)
            return
        for kept, p in zip(averages, parameters):
            kept.mul_(0.999).add_(p, alpha=0.001)
    optimizer.register_step_pre_hook(clip)
    optimizer.register_step_post_hook(average)
    return training(model, classify, resident(*images(24)), optimizer)


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("clip_uncached_allocations", "clip", "memory_allocation", "the caching allocator", 256, environment=UNCACHED)
def _(kind):
    return training(Clip().to(GPU), clip_loss, resident(*captions(256)))


@case("fcn_empties_cache_per_tile", "fcn", "memory_allocation", "no empty_cache() between the tiles", 6)
def _(kind):
    model = segmenter("fcn_resnet50").eval()
    tiles = resident(*(channels_last(torch.randn(1, 3, 512, 512)) for _ in range(6)))()

    def run():
        for tile in tiles:
            with amp():
                model(tile)["out"].argmax(1)
            if kind == "broken":
                torch.cuda.empty_cache()
    return inference(run)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("conformer_graph_one_recording", "conformer", "gpu_underused", "batch 1 -> 64", 1, fixed_batch=64,
      accept=["gpu_underused"])
def _(kind):
    model = Conformer(512, 8, 8).to(GPU).eval()
    (x,) = resident(speech(1 if kind == "broken" else 64, 512)[0])()

    def run():
        with amp(cache=False):
            return model(x)
    return captured(inference(run))


@case("lstm_batch8", "language_lstm", "gpu_underused", "batch 8 -> 256", 8, fixed_batch=256)
def _(kind):
    return training(LanguageLstm(4096, 512).to(GPU), next_token,
                    resident(*tokens(8 if kind == "broken" else 256, 96, 4096)))


@case("flow_batch512", "flow", "gpu_underused", "batch 512 -> 32768", 512, fixed_batch=32768)
def _(kind):
    return training(Flow(depth=12).to(GPU), flow_loss, resident(torch.randn(512 if kind == "broken" else 32768, 128)))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("clip_healthy", "clip", "none", "", 512)
def _(kind):
    model = Clip(1024, 8, 224, 64).to(GPU).bfloat16()
    pixels, ids = captions(512, 224, 64)
    return training(model, clip_loss, resident(pixels.bfloat16(), ids))


@case("super_resolution_healthy", "edsr", "none", "", 24)
def _(kind):
    model = SuperResolution(384, 10).to(GPU).to(memory_format=torch.channels_last).bfloat16()
    small, large = torch.randn(24, 3, 96, 96).bfloat16(), torch.randn(24, 3, 192, 192).bfloat16()
    return training(model, lambda m, x, y: F.mse_loss(m(x), y), Prefetched(channels_last(small), channels_last(large)),
                    mixed=False)


@case("experts_healthy", "experts", "none", "", 32768)
def _(kind):
    model = Experts(2048, 8192, 8, 2, equal=True).bfloat16().to(GPU)
    return training(model, mean_square, resident(torch.randn(32768, 2048).bfloat16()), mixed=False)


@case("resnet101_loader_healthy", "resnet101", "none", "", 128, loader=True)
def _(kind):
    batches, close = loaded(Images("none"), 128, WORKERS)
    return training(vision("resnet101"), classify, nhwc(batches)), close
