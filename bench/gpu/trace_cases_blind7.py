"""A further set of cases for record_traces.py --cases trace_cases_blind7: well-known networks of torchvision and
transformers and a few small ones, each with one plain flaw and its usual remedy; written by somebody who did not know
the analysis."""
import math
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own
from trace_cases import (GPU, UNCACHED, Images, Prefetched, Texts, adamw, captured, case_list, channels_last,
                         classify, click_loss, copied, graph_if, huggingface_loss, images, inference, loaded, nhwc,
                         noise_loss, resident, tf32, tokens, training, vision)
from trace_cases_blind import BlindCase, mean_square
from trace_cases_blind4 import mixed_by_cause

WORKERS = 12
FOUND, add = case_list(BlindCase)


def case(name, model, injected, fix, batch, **more):
    """All traces of this set have shapes and step annotations; memory is recorded where it matters."""
    options = {"shapes": True, "annotations": True, "sync_events": False, "memory": injected == "memory_allocation"}
    return add(name, model, injected, fix, batch, options=options, **more)


# --- networks --------------------------------------------------------------------------------------------------------

def large(name, layout=False):
    """A torchvision network whose many weights are drawn on the GPU."""
    with torch.device(GPU):
        return vision(name, layout)


def vit(hidden, layers, size=224, attention="sdpa"):
    import transformers as hf
    config = hf.ViTConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=hidden // 64,
                          intermediate_size=4 * hidden, image_size=size, patch_size=16, num_labels=1000,
                          hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation=attention)
    with torch.device(GPU):
        return hf.ViTForImageClassification(config).train()


def vit_loss(model, x, y):
    return F.cross_entropy(model(pixel_values=x).logits.float(), y)


def distilbert(length):
    import transformers as hf
    config = hf.DistilBertConfig(vocab_size=16384, max_position_embeddings=length, dim=768, n_layers=6, n_heads=12,
                                 hidden_dim=3072, dropout=0.0, attention_dropout=0.0, attn_implementation="sdpa")
    with torch.device(GPU):
        return hf.DistilBertForMaskedLM(config).train()


def masked_loss(model, ids, labels):
    return model(input_ids=ids, labels=labels).loss


def llama_config(layers):
    import transformers as hf
    return hf.LlamaConfig(vocab_size=16384, hidden_size=1024, intermediate_size=2816, num_hidden_layers=layers,
                          num_attention_heads=16, num_key_value_heads=16, max_position_embeddings=512,
                          use_cache=False, attn_implementation="sdpa")


def bart(attention):
    import transformers as hf
    config = hf.BartConfig(vocab_size=16384, d_model=768, encoder_layers=4, decoder_layers=4,
                           encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072,
                           decoder_ffn_dim=3072, max_position_embeddings=1024, dropout=0.0, use_cache=False,
                           attn_implementation=attention)
    with torch.device(GPU):
        return hf.BartForConditionalGeneration(config).train()


def whisper_encoder(attention):
    import transformers as hf
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    config = hf.WhisperConfig(d_model=512, encoder_layers=6, encoder_attention_heads=8, encoder_ffn_dim=2048,
                              num_mel_bins=80, max_source_positions=1500, attn_implementation=attention)
    with torch.device(GPU):
        return WhisperEncoder(config).bfloat16().eval()


class Tagger(nn.Module):
    """A small encoder that names a class for every word."""

    def __init__(self, vocab=8192, dim=256, depth=8, classes=32):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 8, 4 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        return self.head(self.encoder(self.words(ids)))


def tag_loss(model, ids, tags):
    return F.cross_entropy(model(ids).flatten(0, 1).float(), tags.flatten())


class CrossNetwork(nn.Module):
    """Deep and cross network (DCN-v2) for clicks."""

    def __init__(self, tables=26, rows=1000, dim=16, dense=13, width=256, depth=6):
        super().__init__()
        self.table = nn.Embedding(tables * rows, dim)
        self.register_buffer("first", torch.arange(tables) * rows)
        inputs = tables * dim + dense
        self.crosses = nn.ModuleList(nn.Linear(inputs, inputs) for _ in range(depth))
        self.deep = nn.Sequential(*(part for i in range(4) for part in (
            nn.Linear(width if i else inputs, width), nn.LayerNorm(width), nn.ReLU())))
        self.head = nn.Linear(inputs + width, 1)

    def forward(self, dense, sparse):
        start = torch.cat([dense, self.table(sparse + self.first).flatten(1)], dim=1)
        x = start
        for cross in self.crosses:
            x = start * cross(x) + x
        return self.head(torch.cat([x, self.deep(start)], dim=1))[:, 0]


class Translator(nn.Module):
    """A GRU decoder with attention on the source sentence; writes the likeliest word each time."""

    def __init__(self, vocab=16000, dim=1024):
        super().__init__()
        self.words, self.cell = nn.Embedding(vocab, dim), nn.GRUCell(2 * dim, dim)
        self.query, self.head = nn.Linear(dim, dim), nn.Linear(dim, vocab)

    def forward(self, source, length, stop):
        state, token = source[:, 0], source.new_zeros(source.shape[0], dtype=torch.long)
        written = []
        for _ in range(length):
            scores = torch.bmm(source, self.query(state).unsqueeze(2))
            context = torch.bmm(scores.softmax(1).transpose(1, 2), source)[:, 0]
            state = self.cell(torch.cat([self.words(token), context], dim=1), state)
            token = self.head(state).argmax(1)
            written.append(token)
            if stop(token):
                break
        return torch.stack(written, dim=1)


class MishNet(nn.Module):
    """Layers whose norm and activation are written out."""

    def __init__(self, width=1024, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(width)) for _ in range(depth))
        self.shifts = nn.ParameterList(nn.Parameter(torch.zeros(width)) for _ in range(depth))

    def forward(self, x):
        for layer, scale, shift in zip(self.layers, self.scales, self.shifts):
            h = layer(x)
            centred = h - h.mean(-1, keepdim=True)
            h = centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + 1e-5) * scale + shift
            x = x + h * torch.tanh(torch.log(1 + torch.exp(h)))
        return x


class Sage(nn.Module):
    """GraphSAGE on nodes with 64 features."""

    def __init__(self, dim=128, depth=4, classes=16):
        super().__init__()
        from torch_geometric.nn import SAGEConv
        self.layers = nn.ModuleList(SAGEConv(dim if i else 64, dim) for i in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x, edges):
        for layer in self.layers:
            x = F.relu(layer(x, edges))
        return self.head(x)


def node_loss(model, x, edges, y):
    return F.cross_entropy(model(x, edges), y)


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("vit_small_two_workers", "vit_small", "data_loading", "num_workers 2 -> 12", 96, loader=True)
def _(kind):
    batches, close = loaded(Images("light"), 96, 2 if kind == "broken" else WORKERS)
    return training(vit(384, 12), vit_loss, batches), close


class Jpegs(Dataset):
    """Pictures decoded, cropped and flipped when they are asked for."""

    def __init__(self):
        from torchvision.io import encode_jpeg
        from torchvision.transforms import v2
        smooth = F.interpolate(torch.rand(32, 3, 48, 64), size=(384, 512), mode="bilinear") * 255
        self.files = [encode_jpeg(picture) for picture in smooth.to(torch.uint8)]
        self.transform = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(),
                                     v2.ToDtype(torch.float32, scale=True),
                                     v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from torchvision.io import decode_jpeg
        return self.transform(decode_jpeg(self.files[index % 32])), index % 1000


@case("efficientnet_b1_decodes_in_process", "efficientnet_b1", "data_loading", "num_workers 0 -> 12", 40, loader=True)
def _(kind):
    batches, close = loaded(Jpegs(), 40, 0 if kind == "broken" else WORKERS)
    return training(vision("efficientnet_b1"), classify, nhwc(batches)), close


class Reviews(Texts):
    """Tokenized and masked in Python."""

    def __getitem__(self, index):
        ids, labels = super().__getitem__(index)
        draw = random.Random(index)
        return torch.tensor([103 if draw.random() < 0.15 else token for token in ids.tolist()]), labels


@case("distilbert_masks_in_process", "distilbert", "data_loading", "num_workers 0 -> 12", 64, loader=True)
def _(kind):
    batches, close = loaded(Reviews(256), 64, 0 if kind == "broken" else WORKERS)
    return training(distilbert(256), masked_loss, batches), close


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("alexnet_pageable_images", "alexnet", "host_transfer", "pin_memory and non_blocking=True", 384)
def _(kind):
    pinned = kind == "fixed"
    return training(large("alexnet"), classify, copied(*images(384), pinned=pinned, blocking=not pinned))


@case("resnet152_feature_maps_to_cpu", "resnet152", "host_transfer", "pooled on the GPU, copied to pinned memory", 96)
def _(kind):
    whole = vision("resnet152").bfloat16().eval()
    model = nn.Sequential(whole.conv1, whole.bn1, whole.relu, whole.maxpool, whole.layer1, whole.layer2, whole.layer3)
    x = channels_last(torch.randn(96, 3, 224, 224, device=GPU, dtype=torch.bfloat16))
    kept = torch.empty(96, 1024, pin_memory=True)

    def run():
        maps = model(x)
        if kind == "broken":
            return maps.float().cpu()
        return kept.copy_(maps.mean((2, 3)).float(), non_blocking=True)
    return inference(run)


@case("swin_s_float64_images", "swin_s", "host_transfer", "float32 in pinned memory, copied on a second stream", 128)
def _(kind):
    model, data = vision("swin_s", False).bfloat16().eval(), images(128)[0]
    batches = copied(data.double(), pinned=False, blocking=True) if kind == "broken" else Prefetched(data)
    return inference(lambda: model(batches()[0].bfloat16()))


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("llama_checks_every_layer", "llama_hf", "cpu_gpu_sync", "no isfinite().all().item() in the layers", 8)
def _(kind):
    import transformers as hf
    with torch.device(GPU):
        model = hf.LlamaModel(llama_config(16)).bfloat16().eval()

    def check(_, __, output):
        if not torch.isfinite(output).all().item():
            raise FloatingPointError
    if kind == "broken":
        for layer in model.layers:
            for part in (layer.input_layernorm, layer.post_attention_layernorm, layer.mlp):
                part.register_forward_hook(check)
    (ids,) = resident(*tokens(8, 256))()
    return inference(lambda: model(input_ids=ids).last_hidden_state)


@case("alexnet_confusion_matrix", "alexnet", "cpu_gpu_sync", "the confusion matrix filled by one index_add_", 128)
def _(kind):
    x, y = resident(*images(128))()
    matrix, ones, seen = torch.zeros(1000, 1000, device=GPU), torch.ones(128, device=GPU), {}

    def loss_of(model, x, y):
        logits = model(x)
        seen["found"] = logits.detach().argmax(1)
        return F.cross_entropy(logits.float(), y)

    def count(*_):
        if kind == "fixed":
            matrix.view(-1).index_add_(0, y * 1000 + seen["found"], ones)
            return
        for truth, found in zip(y, seen["found"]):
            matrix[truth.item(), found.item()] += 1
    return training(large("alexnet"), loss_of, lambda: (x, y), tail=count)


@case("gru_translator_looks_for_the_end", "gru_translator", "cpu_gpu_sync",
      "end of sentence looked for once, after the last word", 512)
def _(kind):
    with torch.device(GPU):
        model = Translator().bfloat16().eval()
        source = torch.randn(512, 48, 1024, dtype=torch.bfloat16)

    def stop(token):
        return kind == "broken" and (token == 2).all().item()

    def run():
        written = model(source, 48, stop)
        return written, (written == 2).any(1).all()
    return inference(run)


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("efficientnet_b4_infer_batch2", "efficientnet_b4", "launch_overhead", "CUDA graph", 2)
def _(kind):
    model = vision("efficientnet_b4").bfloat16().eval()
    x = channels_last(torch.randn(2, 3, 380, 380, device=GPU, dtype=torch.bfloat16))
    step = inference(lambda: model(x))
    return captured(step) if kind == "fixed" else step


@case("word_tagger_batch4", "word_tagger", "launch_overhead", "CUDA graph", 4)
def _(kind):
    data = torch.randint(0, 8192, (4, 64)), torch.randint(0, 32, (4, 64))
    return graph_if(kind == "fixed", Tagger().to(GPU), tag_loss, resident(*data))


@case("cross_network_batch256", "cross_network", "launch_overhead", "torch.compile", 256)
def _(kind):
    model = CrossNetwork().to(GPU)
    if kind == "fixed":
        model = torch.compile(model)
    data = torch.rand(256, 13), torch.randint(0, 1000, (256, 26)), torch.randint(0, 2, (256,))
    return training(model, click_loss, resident(*data))


# --- precision -------------------------------------------------------------------------------------------------------

@case("resnet152_fp32", "resnet152", "precision", "bf16 autocast + channels_last", 48)
def _(kind):
    fixed = kind == "fixed"
    x, y = images(48)
    return training(vision("resnet152", fixed), classify, resident(channels_last(x) if fixed else x, y), mixed=fixed,
                    before=tf32(fixed))


@case("vit_l_fp32_infer", "vit_l", "precision", "bf16 weights and images", 32)
def _(kind):
    dtype = torch.bfloat16 if kind == "fixed" else torch.float32
    model = large("vit_l_16").to(dtype).eval()
    x = torch.randn(32, 3, 224, 224, device=GPU, dtype=dtype)
    return inference(lambda: model(x), before=tf32(kind == "fixed"))


@case("ddpm_unet_fp32", "ddpm_unet", "precision", "bf16 autocast", 32)
def _(kind):
    fixed = kind == "fixed"
    return training(own.DiffusionUNet().to(GPU), noise_loss, resident(torch.randn(32, 4, 64, 64)), mixed=fixed,
                    before=tf32(fixed))


# --- attention -------------------------------------------------------------------------------------------------------

@case("vit_384_eager_attention", "vit_384", "attention", 'attn_implementation "eager" -> "sdpa"', 24)
def _(kind):
    model = vit(768, 12, 384, "eager" if kind == "broken" else "sdpa")
    return training(model, vit_loss, resident(*images(24, 384)))


@case("whisper_eager_attention", "whisper_hf", "attention", 'attn_implementation "eager" -> "sdpa"', 24)
def _(kind):
    model = whisper_encoder("eager" if kind == "broken" else "sdpa")
    sound = torch.randn(24, 80, 3000, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: model(sound).last_hidden_state)


@case("bart_eager_attention", "bart", "attention", 'attn_implementation "eager" -> "sdpa"', 12)
def _(kind):
    model = bart("eager" if kind == "broken" else "sdpa")
    return training(model, huggingface_loss, resident(*tokens(12, 1024)))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("mish_layers_written_out", "mish_net", "memory_bandwidth", "torch.compile fuses norm and activation", 32768)
def _(kind):
    model = MishNet().to(GPU)
    if kind == "fixed":
        model = torch.compile(model)
    return training(model, mean_square, resident(torch.randn(32768, 1024)), mixed=False, before=tf32(True))


def black_scholes(spot, strike, years, rate=0.03, spread=0.3):
    """Prices of calls and puts."""
    root = spread * torch.sqrt(years)
    first = (torch.log(spot / strike) + (rate + 0.5 * spread * spread) * years) / root
    second = first - root
    discounted = strike * torch.exp(-rate * years)
    below_first = 0.5 * (1 + torch.erf(first / math.sqrt(2)))
    below_second = 0.5 * (1 + torch.erf(second / math.sqrt(2)))
    call = spot * below_first - discounted * below_second
    return call, call - spot + discounted


@case("black_scholes_unfused", "black_scholes", "memory_bandwidth", "torch.compile fuses the formula", 1 << 26)
def _(kind):
    function = torch.compile(black_scholes) if kind == "fixed" else black_scholes
    spot, strike, years = torch.rand(3, 1 << 26, device=GPU) + 0.5
    return inference(lambda: function(spot, strike, years))


def pull(places, masses):
    """What every body feels of all others."""
    between = places[None] - places[:, None]
    inverse = ((between * between).sum(-1) + 1e-3) ** -1.5
    return (between * (inverse * masses)[..., None]).sum(1)


@case("bodies_pairwise_unfused", "bodies", "memory_bandwidth", "torch.compile fuses the pairwise forces", 8192)
def _(kind):
    function = torch.compile(pull) if kind == "fixed" else pull
    places, masses = torch.randn(8192, 3, device=GPU), torch.rand(8192, device=GPU) * 1e-4
    speeds = torch.zeros_like(places)

    def run():
        here = places
        for _ in range(2):
            motion = speeds + 0.01 * function(here, masses)
            here = here + 0.01 * motion
        return here
    return inference(run)


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("efficientnet_b3_adamw_per_parameter", "efficientnet_b3", "optimizer", "AdamW(fused=True)", 16)
def _(kind):
    model = vision("efficientnet_b3")
    x, y = images(16)
    return training(model, classify, resident(channels_last(x), y),
                    adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model))


@case("llama_adam_per_parameter", "llama_hf", "optimizer", "Adam(fused=True)", 2)
def _(kind):
    import transformers as hf
    with torch.device(GPU):
        model = hf.LlamaForCausalLM(llama_config(10)).train()
    more = {"foreach": False} if kind == "broken" else {"fused": True}
    return training(model, huggingface_loss, resident(*tokens(2, 128)),
                    torch.optim.Adam(model.parameters(), 1e-4, weight_decay=1e-2, **more))


@case("vgg16_adamw_unfused", "vgg16", "optimizer", "AdamW(fused=True)", 8, accept=["optimizer", "memory_bandwidth"])
def _(kind):
    model = large("vgg16", True)
    x, y = images(8)
    return training(model, classify, resident(channels_last(x), y),
                    adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model))


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("distilbert_uncached_allocations", "distilbert", "memory_allocation", "caching allocator on", 24,
      environment=UNCACHED)
def _(kind):
    return training(distilbert(256), huggingface_loss, resident(*tokens(24, 256)))


@case("swin_s_empties_cache_per_step", "swin_s", "memory_allocation", "no empty_cache() in the loop", 48)
def _(kind):
    def tail(*_):
        if kind == "broken":
            torch.cuda.empty_cache()
    return training(vision("swin_s", False), classify, resident(*images(48)), tail=tail)


@case("ddpm_unet_uncached_allocations", "ddpm_unet", "memory_allocation", "caching allocator on", 16,
      environment=UNCACHED)
def _(kind):
    return training(own.DiffusionUNet().to(GPU), noise_loss, resident(torch.randn(16, 4, 64, 64)))


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("resnet152_graph_batch1", "resnet152", "gpu_underused", "batch 1 -> 64", 1, fixed_batch=64,
      accept=["gpu_underused"])
def _(kind):
    model = vision("resnet152").bfloat16().eval()
    x = torch.randn(1 if kind == "broken" else 64, 3, 224, 224, device=GPU, dtype=torch.bfloat16)
    x = channels_last(x)
    return captured(inference(lambda: model(x)))


@case("sage_one_small_graph", "sage", "gpu_underused", "1 -> 128 graphs a batch", 1, fixed_batch=128)
def _(kind):
    graphs = 1 if kind == "broken" else 128
    edges = torch.randint(0, 1000, (2, graphs, 10000)) + 1000 * torch.arange(graphs)[:, None]
    data = torch.randn(1000 * graphs, 64), edges.flatten(1), torch.randint(0, 16, (1000 * graphs,))
    return training(Sage().to(GPU), node_loss, resident(*data), mixed=False, before=tf32(True))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("resnet152_healthy", "resnet152", "none", "", 128)
def _(kind):
    x, y = images(128)
    return training(vision("resnet152"), classify, Prefetched(channels_last(x), y))


@case("vit_l_healthy", "vit_l", "none", "", 64)
def _(kind):
    return training(large("vit_l_16"), classify, Prefetched(*images(64)))


@case("gpt2_xl_width_healthy", "gpt2_xl", "none", "", 8)
def _(kind):
    import transformers as hf
    config = hf.GPT2Config(vocab_size=16384, n_embd=1600, n_layer=8, n_head=25, n_positions=1024, resid_pdrop=0.0,
                           embd_pdrop=0.0, attn_pdrop=0.0, activation_function="gelu_pytorch_tanh", use_cache=False,
                           attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.GPT2LMHeadModel(config).train()
    return training(model, huggingface_loss, resident(*tokens(8, 1024)))


@case("roberta_large_infer_healthy", "roberta", "none", "", 64)
def _(kind):
    import transformers as hf
    config = hf.RobertaConfig(vocab_size=16384, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                              intermediate_size=4096, max_position_embeddings=514, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.RobertaModel(config, add_pooling_layer=False).bfloat16().eval()
    batches = Prefetched(*tokens(64, 256))
    return inference(lambda: model(input_ids=batches()[0]).last_hidden_state)


@case("dense_autoencoder_healthy", "dense_autoencoder", "none", "", 16384)
def _(kind):
    sizes = (4096, 8192, 2048, 8192, 4096)
    parts = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b, device=GPU), nn.ReLU())]
    model = nn.Sequential(*parts[:-1])
    return training(model, lambda m, x: F.mse_loss(m(x).float(), x.float()),
                    Prefetched(torch.randn(16384, 4096).bfloat16()))


CASES = mixed_by_cause(FOUND)
