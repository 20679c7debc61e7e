"""A further set of cases for record_traces.py --cases trace_cases_blind8: well-known networks for pictures, language,
sound, graphs, clicks and games, each with one plain flaw and its usual remedy; written by somebody who did not know
the analysis."""
import copy
import math
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own
from trace_cases import (GPU, UNCACHED, Images, Prefetched, Texts, adamw, amp, captured, case_list, channels_last,
                         classify, copied, graph_if, huggingface_loss, images, inference, loaded, next_token, nhwc,
                         resident, tf32, tokens, training, vision)
from trace_cases_blind import BlindCase
from trace_cases_blind4 import mixed_by_cause

WORKERS = 12
FOUND, add = case_list(BlindCase)


def case(name, model, injected, fix, batch, **more):
    """All traces of this set have shapes and step annotations; memory is recorded where it matters."""
    options = {"shapes": True, "annotations": True, "sync_events": False, "memory": injected == "memory_allocation"}
    return add(name, model, injected, fix, batch, options=options, **more)


# --- networks --------------------------------------------------------------------------------------------------------

def large(name, layout=True):
    """A torchvision network whose weights are drawn on the GPU."""
    with torch.device(GPU):
        return vision(name, layout)


def small_t5(layers, hidden=512):
    import transformers as hf
    config = hf.T5Config(vocab_size=16384, d_model=hidden, d_kv=64, num_layers=layers, num_decoder_layers=layers,
                         num_heads=hidden // 64, d_ff=4 * hidden, dropout_rate=0.0, decoder_start_token_id=0)
    with torch.device(GPU):
        return hf.T5ForConditionalGeneration(config).train()


def halves(inputs, outputs):
    """A convolution to half the size."""
    return [nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.SiLU(True)]


class Vae(nn.Module):
    """Pictures to a map of latents and back."""

    def __init__(self, widths=(32, 64, 128, 256), latent=16):
        super().__init__()
        self.encoder = nn.Sequential(*(part for a, b in zip((3, *widths), widths) for part in halves(a, b)))
        self.moments, self.back = nn.Conv2d(widths[-1], 2 * latent, 1), nn.Conv2d(latent, widths[-1], 1)
        turned = widths[::-1]
        self.decoder = nn.Sequential(*(part for a, b in zip(turned, (*turned[1:], 16)) for part in (
            nn.ConvTranspose2d(a, b, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(b), nn.SiLU(True))))
        self.outlet = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x):
        mean, spread = self.moments(self.encoder(x)).chunk(2, dim=1)
        drawn = mean + torch.randn_like(mean) * torch.exp(0.5 * spread)
        return self.outlet(self.decoder(self.back(drawn))), mean.float(), spread.float()


def vae_loss(model, x):
    y, mean, spread = model(x)
    return F.mse_loss(y.float(), x) + 1e-4 * (mean.square() + spread.exp() - 1 - spread).mean()


class Gcn(nn.Module):
    """Graph convolutions: every node gets the mean of its neighbours."""

    def __init__(self, inputs=256, dim=128, depth=3, classes=40):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim if i else inputs, dim) for i in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x, edges, share):
        for layer in self.layers:
            x = layer(x)
            x = F.relu(x + torch.zeros_like(x).index_add_(0, edges[1], x.index_select(0, edges[0])) * share)
        return self.head(x)


def node_loss(model, x, edges, share, y):
    return F.cross_entropy(model(x, edges, share), y)


class Yolo(nn.Module):
    """Boxes at three scales, three anchors each: place, whether there is one, and which of twenty kinds."""

    def __init__(self, widths=(32, 64, 128, 256, 512), kinds=20):
        super().__init__()
        sizes = (3, *widths)
        self.stages = nn.ModuleList(nn.Sequential(*halves(a, b), nn.Conv2d(b, b, 3, padding=1, bias=False),
                                                  nn.BatchNorm2d(b), nn.SiLU(True)) for a, b in zip(sizes, widths))
        self.heads = nn.ModuleList(nn.Conv2d(width, 3 * (5 + kinds), 1) for width in widths[-3:])

    def forward(self, x):
        found = []
        for at, stage in enumerate(self.stages):
            x = stage(x)
            if at >= 2:
                found.append(self.heads[at - 2](x).unflatten(1, (3, -1)).permute(0, 1, 3, 4, 2).float())
        return found


def box_targets(batch, size):
    """For each scale: where a box is, its place, its kind."""
    return [(torch.rand(batch, 3, side, side, device=GPU) < 0.02, torch.rand(batch, 3, side, side, 4, device=GPU),
             torch.randint(0, 20, (batch, 3, side, side), device=GPU)) for side in (size // 8, size // 16, size // 32)]


def boxes_selected(found, has, box, kind):
    """Image by image, the cells that have a box."""
    loss = 0
    for at in range(found.shape[0]):
        mine = found[at][has[at]]
        loss = loss + F.smooth_l1_loss(mine[:, :4], box[at][has[at]], reduction="sum")
        loss = loss + F.cross_entropy(mine[:, 5:], kind[at][has[at]], reduction="sum")
    return loss


def boxes_weighted(found, has, box, kind):
    """All cells at once; those without a box count nothing."""
    place = F.smooth_l1_loss(found[..., :4], box, reduction="none").sum(-1)
    named = F.cross_entropy(found[..., 5:].flatten(0, 3), kind.flatten(), reduction="none").view_as(place)
    return ((place + named) * has).sum()


def nature_cnn(actions=18):
    return nn.Sequential(nn.Conv2d(4, 32, 8, stride=4), nn.ReLU(), nn.Conv2d(32, 64, 4, stride=2), nn.ReLU(),
                         nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(),
                         nn.Linear(512, actions))


class Unfused(nn.Module):
    """Layers with dropout; `by_hand`: with a mask drawn, compared, turned and multiplied in single operations."""

    def __init__(self, width=512, depth=6, by_hand=False):
        super().__init__()
        self.layers, self.by_hand = nn.ModuleList(nn.Linear(width, width) for _ in range(depth)), by_hand
        self.head = nn.Linear(width, 100)

    def thinned(self, x):
        if not self.by_hand:
            return F.dropout(x, 0.1)
        kept = (torch.rand(x.shape, device=x.device) > 0.1).to(x.dtype)
        return x * kept / 0.9

    def forward(self, x):
        for layer in self.layers:
            x = self.thinned(F.relu(layer(x)))
        return self.head(x)


class SpectrogramLayer(nn.Module):
    """`by_hand`: softmax(QK)V by einsum."""

    def __init__(self, dim, heads, by_hand):
        super().__init__()
        self.heads, self.by_hand = heads, by_hand
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.feed = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def attend(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(2)
        if self.by_hand:
            scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
            mixed = torch.einsum("bhqk,bkhd->bqhd", torch.softmax(scores, dim=-1), v)
        else:
            mixed = F.scaled_dot_product_attention(*(part.transpose(1, 2) for part in (q, k, v))).transpose(1, 2)
        return self.proj(mixed.flatten(2))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.feed(self.norm2(x))


class SpectrogramTransformer(nn.Module):
    """Overlapping patches of a spectrogram of 128 bands and 1024 frames (AST)."""

    def __init__(self, dim=384, heads=6, depth=6, by_hand=False):
        super().__init__()
        self.embed, self.places = nn.Conv2d(1, dim, 16, stride=10), nn.Parameter(torch.zeros(1212, dim))
        self.layers = nn.Sequential(*(SpectrogramLayer(dim, heads, by_hand) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 527)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.layers(x)).mean(1))


class DitLayer(nn.Module):
    """A layer whose norms are scaled and shifted by the condition."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.change = heads, nn.Linear(dim, 6 * dim)
        self.norm1, self.norm2 = (nn.LayerNorm(dim, elementwise_affine=False) for _ in range(2))
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x, condition):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.change(F.silu(condition))[:, None].chunk(6, dim=-1)
        h = self.norm1(x) * (1 + scale1) + shift1
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(h).chunk(3, dim=-1))
        x = x + gate1 * self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        h = self.norm2(x) * (1 + scale2) + shift2
        return x + gate2 * self.down(F.gelu(self.up(h), approximate="tanh"))


class Dit(nn.Module):
    """The noise in latents of 4x32x32, in patches of 2x2."""

    def __init__(self, dim=768, heads=12, depth=8):
        super().__init__()
        self.embed, self.places = nn.Conv2d(4, dim, 2, stride=2), nn.Parameter(torch.zeros(256, dim))
        self.times, self.layers = nn.Embedding(1000, dim), nn.ModuleList(DitLayer(dim, heads) for _ in range(depth))
        self.norm, self.out = nn.LayerNorm(dim), nn.ConvTranspose2d(dim, 4, 2, stride=2)

    def forward(self, x, t):
        condition, x = self.times(t), self.embed(x).flatten(2).transpose(1, 2) + self.places
        for layer in self.layers:
            x = layer(x, condition)
        return self.out(self.norm(x).transpose(1, 2).unflatten(2, (16, 16)))


class Hubert(nn.Module):
    """Names a code for every frame of speech."""

    def __init__(self, dim, heads, depth, codes=512):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.inlet, self.head = nn.Linear(512, dim), nn.Linear(dim, codes)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)

    def forward(self, x):
        return self.head(self.encoder(self.inlet(x)))


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("resnext50_loader_workers0", "resnext50", "data_loading", "num_workers 0 -> 12", 48, loader=True)
def _(kind):
    batches, close = loaded(Images("light"), 48, 0 if kind == "broken" else WORKERS)
    return training(large("resnext50_32x4d"), classify, nhwc(batches)), close


class Scans(Dataset):
    """Pictures and their masks, turned and moved alike."""

    def __init__(self):
        from torchvision.transforms import v2
        self.transform = v2.Compose([v2.RandomAffine(20, (0.1, 0.1), (0.8, 1.2)), v2.RandomHorizontalFlip()])
        self.pictures = torch.randint(0, 256, (32, 3, 256, 256), dtype=torch.uint8)
        self.masks = torch.randint(0, 16, (32, 256, 256), dtype=torch.uint8)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from torchvision import tv_tensors
        picture, mask = self.transform(tv_tensors.Image(self.pictures[index % 32]),
                                       tv_tensors.Mask(self.masks[index % 32]))
        return picture.as_subclass(torch.Tensor).float() / 255, mask.as_subclass(torch.Tensor)


@case("unet_masks_turned_by_one_worker", "unet", "data_loading", "num_workers 1 -> 12", 16, loader=True)
def _(kind):
    batches, close = loaded(Scans(), 16, 1 if kind == "broken" else WORKERS)
    model = own.UNet().to(GPU).to(memory_format=torch.channels_last)
    return training(model, lambda m, x, y: F.cross_entropy(m(x).float(), y.long()), nhwc(batches)), close


class LeftOut(Texts):
    """Tokenizes in Python and leaves out words, which are to be written."""

    def __getitem__(self, index):
        draw, source, target = random.Random(index), [], []
        for token in super().__getitem__(index)[0].tolist():
            (target if draw.random() < 0.15 else source).append(token)
        rest = [0] * self.length
        return torch.tensor((source + rest)[:self.length]), torch.tensor((target + rest)[:48])


def written_loss(model, source, target):
    return model(input_ids=source, labels=target).loss


@case("t5_tokenizes_in_process", "t5", "data_loading", "num_workers 0 -> 12", 96, loader=True)
def _(kind):
    batches, close = loaded(LeftOut(256), 96, 0 if kind == "broken" else WORKERS)
    return training(small_t5(3), written_loss, batches), close


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("vae_pageable_pictures", "picture_vae", "host_transfer", "pin_memory and non_blocking=True", 128)
def _(kind):
    model, pinned = Vae().to(GPU).to(memory_format=torch.channels_last), kind == "fixed"
    x = channels_last(torch.rand(128, 3, 256, 256))
    return training(model, vae_loss, copied(x, pinned=pinned, blocking=not pinned))


@case("gcn_graph_moved_every_step", "gcn", "host_transfer", "the graph moved to the GPU once", 120000)
def _(kind):
    nodes, edges = 120000, torch.randint(0, 120000, (2, 1000000))
    share = 1 / torch.bincount(edges[1], minlength=nodes).clamp(min=1).float()[:, None]
    data = torch.randn(nodes, 256), edges, share, torch.randint(0, 40, (nodes,))
    batches = copied(*data, pinned=False, blocking=True) if kind == "broken" else resident(*data)
    return training(Gcn().to(GPU), node_loss, batches, mixed=False, before=tf32(True))


@case("lraspp_one_hot_masks_from_host", "lraspp", "host_transfer", "masks as bytes, in pinned memory", 32)
def _(kind):
    import torchvision
    with torch.device(GPU):
        model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)
    model = model.to(memory_format=torch.channels_last)
    x, masks = channels_last(torch.randn(32, 3, 256, 256)), torch.randint(0, 21, (32, 256, 256))
    if kind == "broken":
        whole = F.one_hot(masks, 21).permute(0, 3, 1, 2).float().contiguous()
        return training(model, lambda m, x, y: F.cross_entropy(m(x)["out"].float(), y),
                        copied(x, whole, pinned=False, blocking=True))
    return training(model, lambda m, x, y: F.cross_entropy(m(x)["out"].float(), y.long()),
                    copied(x, masks.to(torch.uint8), pinned=True, blocking=False))


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("densenet_clips_every_gradient", "densenet", "cpu_gpu_sync", "clip_grad_norm_", 64)
def _(kind):
    model, (x, y) = large("densenet121"), resident(*images(64))()
    optimizer, parameters, x = adamw(model), list(model.parameters()), channels_last(x)

    def clip():
        if kind == "fixed":
            nn.utils.clip_grad_norm_(parameters, 1.0)
            return
        for p in parameters:
            norm = p.grad.norm().item()
            if norm > 1.0:
                p.grad.mul_(1.0 / norm)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with amp():
            loss = classify(model, x, y)
        loss.backward()
        clip()
        optimizer.step()
    return step


@case("yolo_boxes_by_boolean_masks", "yolo", "cpu_gpu_sync", "losses weighted by the mask", 16)
def _(kind):
    model = Yolo().to(GPU).to(memory_format=torch.channels_last)
    x, targets = channels_last(torch.randn(16, 3, 320, 320, device=GPU)), box_targets(16, 320)
    boxes = boxes_selected if kind == "broken" else boxes_weighted

    def loss_of(m, x):
        loss = 0
        for found, (has, box, kinds) in zip(m(x), targets):
            loss = loss + boxes(found, has, box, kinds) / 16
            loss = loss + F.binary_cross_entropy_with_logits(found[..., 4], has.float())
        return loss
    return training(model, loss_of, lambda: (x,))


@case("dqn_targets_sample_by_sample", "dqn", "cpu_gpu_sync", "targets of the whole batch at once", 128)
def _(kind):
    model = nature_cnn().to(GPU)
    old = copy.deepcopy(model).requires_grad_(False)
    now, later = torch.randint(0, 256, (2, 128, 4, 84, 84), dtype=torch.uint8, device=GPU)
    actions, done = torch.randint(0, 18, (128, 1), device=GPU), (torch.rand(128, device=GPU) < 0.1).float()
    reward = torch.randn(128, device=GPU)

    def wanted(q):
        if kind == "fixed":
            return reward + 0.99 * (1 - done) * q.amax(1)
        values = []
        for at in range(128):
            value = reward[at].item()
            if not done[at].item():
                value += 0.99 * q[at].max().item()
            values.append(value)
        return torch.tensor(values, device=GPU)

    def loss_of(m, now):
        target = wanted(old(later.float() / 255).float())
        return F.smooth_l1_loss(m(now.float() / 255).gather(1, actions)[:, 0].float(), target)
    return training(model, loss_of, lambda: (now,))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("densenet201_infer_batch1", "densenet201", "launch_overhead", "CUDA graph", 1)
def _(kind):
    model = large("densenet201").bfloat16().eval()
    x = channels_last(torch.randn(1, 3, 224, 224, device=GPU, dtype=torch.bfloat16))
    step = inference(lambda: model(x))
    return captured(step) if kind == "fixed" else step


@case("unet_small_pictures", "unet", "launch_overhead", "CUDA graph", 2)
def _(kind):
    data = channels_last(torch.randn(2, 3, 64, 64)), torch.randint(0, 16, (2, 64, 64))
    model = own.UNet(base=16).to(GPU).to(memory_format=torch.channels_last)
    return graph_if(kind == "fixed", model, classify, resident(*data))


@case("vit_tiny_infer_batch1", "vit_tiny", "launch_overhead", 'torch.compile(mode="reduce-overhead")', 1)
def _(kind):
    model = own.PatchTransformer(patch=16, dim=192, layers=8, heads=3).to(GPU).bfloat16().eval()
    if kind == "fixed":
        model = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(1, 3, 224, 224, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: model(x))


# --- precision -------------------------------------------------------------------------------------------------------

@case("resnet34_fp32", "resnet34", "precision", "bf16 autocast + channels_last", 96)
def _(kind):
    fixed = kind == "fixed"
    x, y = images(96)
    return training(large("resnet34", fixed), classify, resident(channels_last(x) if fixed else x, y), mixed=fixed,
                    before=tf32(False))


@case("gpt2_fp32", "gpt2", "precision", "bf16 autocast", 8)
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(dim=1024, layers=6, heads=16, length=512)
    return training(model, next_token, resident(*tokens(8, 512)), mixed=kind == "fixed", before=tf32(False))


@case("dense_autoencoder_highest", "dense_autoencoder", "precision",
      'torch.set_float32_matmul_precision("high"): TF32', 8192)
def _(kind):
    sizes = (4096, 2048, 512, 2048, 4096)
    parts = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b, device=GPU), nn.ReLU())]
    return training(nn.Sequential(*parts[:-1]), lambda m, x: F.mse_loss(m(x), x), resident(torch.randn(8192, 4096)),
                    mixed=False, before=tf32(kind == "fixed"))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("mlp_dropout_by_hand", "dropout_mlp", "memory_bandwidth", "F.dropout", 131072)
def _(kind):
    data = torch.randn(131072, 512).bfloat16(), torch.randint(0, 100, (131072,))
    return training(Unfused(by_hand=kind == "broken").to(GPU), classify, resident(*data))


def distillation(student, teacher, heat=2.0):
    """How far the student's words are from the teacher's."""
    wanted = torch.softmax(teacher / heat, dim=-1)
    found = torch.log_softmax(student.float() / heat, dim=-1)
    return (wanted * (torch.log(wanted) - found)).sum(-1).mean() * heat * heat


@case("distillation_loss_unfused", "student_head", "memory_bandwidth", "torch.compile fuses the loss", 8192)
def _(kind):
    model, loss = nn.Linear(512, 32000, device=GPU), torch.compile(distillation) if kind == "fixed" else distillation
    x, teacher = torch.randn(8192, 512, device=GPU), torch.randn(8192, 32000, device=GPU)
    return training(model, lambda m, x: loss(m(x), teacher), lambda: (x,))


def mixture_loss(out, target):
    """The negative likelihood of points of 16 numbers under a mixture of 32 normal distributions."""
    weights = torch.log_softmax(out[:, :32], dim=1)
    means, logs = out[:, 32:544].unflatten(1, (32, 16)), out[:, 544:].unflatten(1, (32, 16))
    error = (target[:, None] - means) * torch.exp(-logs)
    each = (-0.5 * error * error - logs - 0.9189385).sum(-1)
    return -torch.logsumexp(weights + each, dim=1).mean()


@case("mixture_density_unfused", "mixture_density", "memory_bandwidth", "torch.compile fuses the likelihood", 131072)
def _(kind):
    model = nn.Sequential(nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1056)).to(GPU)
    loss = torch.compile(mixture_loss) if kind == "fixed" else mixture_loss
    data = torch.randn(131072, 32), torch.randn(131072, 16)
    return training(model, lambda m, x, y: loss(m(x).float(), y), resident(*data))


# --- attention -------------------------------------------------------------------------------------------------------

@case("qwen2_eager_attention", "qwen2", "attention", 'attn_implementation "eager" -> "sdpa"', 4)
def _(kind):
    import transformers as hf
    config = hf.Qwen2Config(vocab_size=16384, hidden_size=1024, intermediate_size=2816, num_hidden_layers=5,
                            num_attention_heads=16, num_key_value_heads=4, max_position_embeddings=2048,
                            use_cache=False, attn_implementation="eager" if kind == "broken" else "sdpa")
    with torch.device(GPU):
        model = hf.Qwen2ForCausalLM(config).train()
    return training(model, huggingface_loss, resident(*tokens(4, 2048)))


@case("spectrogram_transformer_einsum", "spectrogram_transformer", "attention", "scaled_dot_product_attention", 24)
def _(kind):
    model = SpectrogramTransformer(by_hand=kind == "broken").to(GPU)
    return training(model, classify, resident(torch.randn(24, 1, 128, 1024), torch.randint(0, 527, (24,))))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("vit_b_adamw_per_parameter", "vit_b", "optimizer", "AdamW(fused=True)", 8)
def _(kind):
    model = large("vit_b_16", False)
    return training(model, classify, resident(*images(8)),
                    adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model))


@case("t5_amsgrad_per_parameter", "t5", "optimizer", "Adam(amsgrad=True, fused=True)", 4)
def _(kind):
    model, more = small_t5(6), {"foreach": False} if kind == "broken" else {"fused": True}
    return training(model, written_loss, resident(*tokens(4, 128), *tokens(4, 64)),
                    torch.optim.Adam(model.parameters(), 1e-4, amsgrad=True, **more))


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("gpt2_uncached_allocations", "gpt2", "memory_allocation", "caching allocator on", 8, environment=UNCACHED)
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(layers=8, length=512)
    return training(model, next_token, resident(*tokens(8, 512)))


@case("dit_sampler_empties_cache", "dit", "memory_allocation", "no empty_cache() between the sampling steps", 16)
def _(kind):
    """Eight sampling steps."""
    with torch.device(GPU):
        model = Dit().bfloat16().eval()
        noise, times = torch.randn(16, 4, 32, 32, dtype=torch.bfloat16), torch.arange(999, 0, -125)

    def run():
        x = noise
        for t in times[:, None].expand(-1, 16):
            x = x - 0.125 * model(x, t)
            if kind == "broken":
                torch.cuda.empty_cache()
        return x
    return inference(run)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("vae_train_batch4", "picture_vae", "gpu_underused", "batch 4 -> 512", 4, fixed_batch=512)
def _(kind):
    model = Vae().to(GPU).to(memory_format=torch.channels_last)
    x = torch.rand(4 if kind == "broken" else 512, 3, 128, 128, device=GPU)
    return training(model, vae_loss, resident(channels_last(x)))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("resnet34_healthy", "resnet34", "none", "", 384)
def _(kind):
    x, y = images(384)
    return training(large("resnet34"), classify, Prefetched(channels_last(x), y))


@case("hubert_healthy", "hubert", "none", "", 16)
def _(kind):
    with torch.device(GPU):
        model = Hubert(2560, 20, 4).bfloat16().train()
    data = torch.randn(16, 1024, 512).bfloat16(), torch.randint(0, 512, (16, 1024))
    return training(model, lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1).float(), y.flatten()),
                    Prefetched(*data), mixed=False)


@case("albert_infer_healthy", "albert", "none", "", 32)
def _(kind):
    import transformers as hf
    config = hf.AlbertConfig(vocab_size=16384, embedding_size=128, hidden_size=2560, num_hidden_layers=6,
                             num_attention_heads=20, intermediate_size=10240, hidden_act="gelu",
                             max_position_embeddings=512, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                             attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.AlbertModel(config, add_pooling_layer=False).bfloat16().eval()
    batches = Prefetched(*tokens(32, 512))
    return inference(lambda: model(input_ids=batches()[0]).last_hidden_state)


CASES = mixed_by_cause(FOUND)
