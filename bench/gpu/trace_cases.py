"""The single-GPU cases of record_traces.py: each builds a workload in a "broken" and a "fixed" way that differ in one
cause only. Models are assigned to the "calibrate" or "holdout" half as a whole (HOLDOUT)."""
import contextlib
import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

import trace_models as own

GPU = "cuda"
WORKERS = 14
HOLDOUT = {"mobilenet_v3", "efficientnet_b0", "convnext_tiny", "llama", "lstm", "t5", "diffusion", "video_r3d",
           "ssd_head", "wide_mlp", "swin_t", "segmentation_loss"}
# What a reader of the trace may name instead of the injected cause without being wrong.
ACCEPT = {"cpu_gpu_sync": ["cpu_gpu_sync", "launch_overhead"], "optimizer": ["optimizer", "launch_overhead"],
          "gpu_underused": ["gpu_underused", "launch_overhead"], "none": ["none", "compute_bound"]}


@dataclasses.dataclass
class Case:
    name: str
    model: str
    injected: str
    fix: str
    build: Callable  # kind ("broken" or "fixed") -> a step function, or (step function, close function)
    batch: int
    fixed_batch: int | None = None  # if the fix changes the batch: the speed-up is then per sample
    accept: list[str] | None = None
    environment: dict | None = None  # of the broken variant's process
    loader: bool = False             # worker processes: measured in turns, with longer blocks
    options: dict = dataclasses.field(default_factory=dict)  # shapes, annotations, sync_events, memory: True or False

    def accepted(self):
        return self.accept or ACCEPT.get(self.injected, [self.injected])

    def split(self):
        return "holdout" if self.model in HOLDOUT else "calibrate"


def case_list(kind=Case):
    """The CASES of a module, and the decorator case() that adds a build function to them as one of this kind."""
    cases = []

    def case(name, model, injected, fix, batch, **more):
        def add(build):
            cases.append(kind(name, model, injected, fix, build, batch, **more))
            return build
        return add
    return cases, case


CASES, case = case_list()


# --- batches ---------------------------------------------------------------------------------------------------------

def resident(*tensors):
    moved = tuple(t.to(GPU) for t in tensors)
    return lambda: moved


def copied(*tensors, pinned, blocking):
    """Copies the same host tensors to the GPU at every step."""
    host = tuple(t.pin_memory() if pinned else t for t in tensors)
    return lambda: tuple(t.to(GPU, non_blocking=not blocking) for t in host)


class Prefetched:
    """Copies the next batch on a second stream while the current one is computed on."""

    def __init__(self, *tensors):
        self.host, self.stream = tuple(t.pin_memory() for t in tensors), torch.cuda.Stream()
        self.load()

    def load(self):
        with torch.cuda.stream(self.stream):
            self.next = tuple(t.to(GPU, non_blocking=True) for t in self.host)

    def __call__(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.next
        for tensor in batch:
            tensor.record_stream(torch.cuda.current_stream())
        self.load()
        return batch


def nhwc(batches):
    def laid_out():
        first, *others = batches()
        return channels_last(first), *others
    return laid_out


def loaded(dataset, batch, workers, **more):
    """(batches, close) of a DataLoader with `workers` processes."""
    loader = DataLoader(dataset, batch, num_workers=workers, pin_memory=True, drop_last=True,
                        persistent_workers=workers > 0, prefetch_factor=2 if workers else None, **more)
    iterator = iter(loader)

    def close():
        if workers:
            iterator._shutdown_workers()
    return lambda: tuple(t.to(GPU, non_blocking=True) for t in next(iterator)), close


class Images(Dataset):
    """Decoded pictures, augmented by torchvision: "light" (crop, flip), "heavy" (also colour, blur) or "none"."""

    def __init__(self, augmentation, size=224):
        from torchvision.transforms import v2
        steps = {"none": [v2.CenterCrop(size)],
                 "light": [v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip()],
                 "heavy": [v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip(),
                           v2.ColorJitter(0.4, 0.4, 0.4, 0.1), v2.GaussianBlur(9)]}[augmentation]
        self.transform = v2.Compose(steps + [v2.ToDtype(torch.float32, scale=True),
                                             v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
        self.pictures = torch.randint(0, 256, (64, 3, 288, 288), dtype=torch.uint8)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return self.transform(self.pictures[index % 64]), index % 1000


class Texts(Dataset):
    """Tokenizes text in plain Python: longest match of word pieces."""

    def __init__(self, length):
        generator = torch.Generator().manual_seed(1)
        letters = torch.randint(97, 105, (400 * 7,), generator=generator).tolist()
        self.words = ["".join(map(chr, letters[i * 7:(i + 1) * 7])) for i in range(400)]
        self.pieces = {word[a:b]: a * 31 + b for word in self.words[:200] for a in range(7) for b in range(a + 1, 8)}
        self.length = length

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        tokens = []
        while len(tokens) < self.length:
            word = self.words[(index * 17 + len(tokens)) % 400]
            begin = 0
            while begin < len(word):
                end = len(word)
                while end > begin + 1 and word[begin:end] not in self.pieces:
                    end -= 1
                tokens.append(self.pieces.get(word[begin:end], 1) % 16000)
                begin = end
        ids = torch.tensor(tokens[: self.length])
        return ids, ids


class Clicks(Dataset):
    """One row at a time, hashed in Python."""

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        dense = torch.tensor([float((index * k) % 97) for k in range(13)])
        sparse = torch.tensor([hash((index, k)) % 10000 for k in range(26)])
        return dense, sparse, float(index % 2)


# --- steps -----------------------------------------------------------------------------------------------------------

def images(batch, size=224, classes=1000):
    return torch.randn(batch, 3, size, size), torch.randint(0, classes, (batch,))


def tokens(batch, length, vocab=16000):
    return (torch.randint(0, vocab, (batch, length)),)


def vision(name, channels_last=True):
    import torchvision
    model = (torchvision.models.video if name == "r3d_18" else torchvision.models).__dict__[name](weights=None).to(GPU)
    return model.to(memory_format=torch.channels_last) if channels_last else model


def classify(model, x, y):
    return F.cross_entropy(model(x).float(), y)


def next_token(model, ids, *_):
    return F.cross_entropy(model(ids)[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())


def huggingface_loss(model, ids, *_):
    return model(input_ids=ids, labels=ids).loss


def click_loss(model, dense, sparse, label):
    return F.binary_cross_entropy_with_logits(model(dense, sparse).float(), label.float())


def amp(on=True, cache=True):
    return torch.autocast("cuda", torch.bfloat16, cache_enabled=cache) if on else contextlib.nullcontext()


def adamw(model, **more):
    return torch.optim.AdamW(model.parameters(), lr=1e-4, **(more or {"fused": True}))


def training(model, loss_of, batches, optimizer=None, mixed=True, tail=None, before=None, cache=True):
    """A training step: forward in bf16 autocast if `mixed`, backward, optimizer, then `tail(model, loss)`."""
    optimizer = optimizer or adamw(model)

    def step():
        if before:
            before()
        batch = batches()
        optimizer.zero_grad(set_to_none=True)
        with amp(mixed, cache):
            loss = loss_of(model, *batch)
        loss.backward()
        optimizer.step()
        if tail:
            tail(model, loss)
    return step


def inference(run, before=None):
    @torch.no_grad()
    def step():
        if before:
            before()
        run()
    return step


def captured(step):
    """The step as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay(keep=step):  # the graph reads weights and inputs, which only the step holds
        graph.replay()
    return replay


def graph_if(fixed, model, loss_of, batches, optimizer=None):
    """Training, as a CUDA graph if `fixed`."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)
    step = training(model, loss_of, batches, optimizer, cache=not fixed)
    return captured(step) if fixed else step


def tf32(on):
    def setting():
        torch.backends.cuda.matmul.allow_tf32 = on
        torch.backends.cudnn.allow_tf32 = on
    return setting


def channels_last(x):
    return x.contiguous(memory_format=torch.channels_last)


def huggingface(kind, attention="sdpa", layers=6, hidden=768, length=512):
    import transformers as hf
    if kind == "bert":
        config = hf.BertConfig(vocab_size=16384, hidden_size=hidden, num_hidden_layers=layers,
                               num_attention_heads=hidden // 64, intermediate_size=4 * hidden,
                               max_position_embeddings=length, attn_implementation=attention, hidden_dropout_prob=0.0,
                               attention_probs_dropout_prob=0.0)
        return hf.BertForMaskedLM(config).to(GPU).train()
    if kind == "gpt2":
        config = hf.GPT2Config(vocab_size=16384, n_embd=hidden, n_layer=layers, n_head=hidden // 64, n_positions=length,
                               attn_implementation=attention, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
        return hf.GPT2LMHeadModel(config).to(GPU).train()
    config = hf.T5Config(vocab_size=16384, d_model=hidden, num_layers=layers, num_decoder_layers=layers,
                         num_heads=hidden // 64, d_ff=4 * hidden, dropout_rate=0.0, decoder_start_token_id=0)
    return hf.T5ForConditionalGeneration(config).to(GPU).train()


# --- data_loading ----------------------------------------------------------------------------------------------------

def image_loader(network, batch, broken, fixed):
    """`broken` and `fixed`: (augmentation, workers)."""
    def build(kind):
        augmentation, workers = broken if kind == "broken" else fixed
        batches, close = loaded(Images(augmentation), batch, workers)
        model = vision(network)
        return training(model, classify, nhwc(batches)), close
    return build


case("resnet18_loader_workers0", "resnet18", "data_loading", "num_workers 0 -> 14", 64, loader=True)(
    image_loader("resnet18", 64, ("light", 0), ("light", WORKERS)))
case("mobilenet_slow_augmentation", "mobilenet_v3", "data_loading", "colour jitter and blur taken out of the loader",
     48, loader=True)(image_loader("mobilenet_v3_large", 48, ("heavy", 10), ("light", 10)))
case("efficientnet_few_workers", "efficientnet_b0", "data_loading", "num_workers 2 -> 14", 64, loader=True)(
    image_loader("efficientnet_b0", 64, ("light", 2), ("light", WORKERS)))


@case("bert_tokenize_in_process", "bert", "data_loading", "num_workers 0 -> 14", 48, loader=True)
def _(kind):
    batches, close = loaded(Texts(256), 48, 0 if kind == "broken" else WORKERS)
    return training(huggingface("bert"), huggingface_loss, batches), close


@case("dlrm_row_by_row", "dlrm", "data_loading", "rows prepared in batches ahead of time", 1024, loader=True)
def _(kind):
    batches, close = loaded(Clicks(), 1024, 2) if kind == "broken" else (Prefetched(
        torch.rand(1024, 13), torch.randint(0, 10000, (1024, 26)), torch.rand(1024)), None)
    return training(own.Recommender().to(GPU), click_loss, batches), close or (lambda: None)


@case("convnext_preprocess_in_loop", "convnext_tiny", "data_loading", "the same preprocessing in 14 loader workers", 32,
      loader=True)
def _(kind):
    data, model = Images("light"), vision("convnext_tiny")
    if kind == "fixed":
        batches, close = loaded(data, 32, WORKERS)
        return training(model, classify, nhwc(batches)), close
    at = iter(range(1 << 30))

    def prepare():
        rows = [data[next(at)] for _ in range(32)]
        return channels_last(torch.stack([x for x, _ in rows]).to(GPU)), torch.tensor([y for _, y in rows]).to(GPU)
    return training(model, classify, prepare)


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("dlrm_pageable_features", "dlrm", "host_transfer", "pinned, bf16, prefetched on a second stream", 16384)
def _(kind):
    model = own.Recommender(dense=2048).to(GPU)
    data = (torch.rand(16384, 2048), torch.randint(0, 10000, (16384, 26)), torch.rand(16384))
    if kind == "broken":
        return training(model, click_loss, copied(*data, pinned=False, blocking=True))
    return training(model, click_loss, Prefetched(data[0].bfloat16(), *data[1:]))


@case("unet_full_masks_to_host", "unet", "host_transfer", "argmax on the GPU, then one small pinned copy", 16)
def _(kind):
    model = own.UNet().to(GPU).eval()
    (x,) = resident(torch.randn(16, 3, 256, 256))()
    host = torch.empty(16, 256, 256, dtype=torch.uint8, pin_memory=True)

    def run():
        with amp():
            logits = model(x)
        if kind == "broken":
            return logits.float().cpu()
        return host.copy_(logits.argmax(1).to(torch.uint8), non_blocking=True)
    return inference(run)


@case("video_pageable_float", "video_r3d", "host_transfer", "pinned uint8, prefetched, normalised on the GPU", 32)
def _(kind):
    model = vision("r3d_18", channels_last=False).eval()
    clips = torch.randint(0, 256, (32, 3, 16, 112, 112), dtype=torch.uint8)
    batches = copied(clips.float() / 255, pinned=False, blocking=True) if kind == "broken" else Prefetched(clips)

    def run():
        (x,) = batches()
        with amp():
            return model(x if kind == "broken" else x.bfloat16() / 255)
    return inference(run)


@case("mobilenet_copy_in_line", "mobilenet_v3", "host_transfer", "copy on a second stream, overlapped", 384)
def _(kind):
    model = vision("mobilenet_v3_large").eval()
    data = images(384)[0]
    batches = copied(data, pinned=True, blocking=True) if kind == "broken" else Prefetched(data)

    def run():
        with amp():
            return model(batches()[0])
    return inference(run)


@case("llama_weights_on_host", "llama", "host_transfer", "weights stay on the GPU", 8)
def _(kind):
    layers = [own.Block(1024, 16, llama=True).bfloat16() for _ in range(8)]
    x = torch.randn(8, 512, 1024, device=GPU, dtype=torch.bfloat16)
    if kind == "fixed":
        for layer in layers:
            layer.to(GPU)
        return inference(lambda: nn.Sequential(*layers)(x))
    working = own.Block(1024, 16, llama=True).bfloat16().to(GPU)
    host = [[p.detach().pin_memory() for p in layer.parameters()] for layer in layers]

    def run():
        h = x
        for weights in host:
            for there, here in zip(working.parameters(), weights):
                there.copy_(here, non_blocking=True)
            h = working(h)
        return h
    return inference(run)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("resnet18_prints_everything", "resnet18", "cpu_gpu_sync", "no loss, accuracy or gradient norms read per step", 32)
def _(kind):
    def report(model, loss):
        if kind == "broken":
            [loss.item()] + [p.grad.norm().item() for p in model.parameters()]
    data = images(32)
    return training(vision("resnet18"), classify, resident(channels_last(data[0]), data[1]), tail=report)


@case("bert_nonzero_masks", "bert", "cpu_gpu_sync", "multiply by the mask instead of boolean indexing", 64)
def _(kind):
    model = huggingface("bert", layers=8)
    (ids,) = resident(*tokens(64, 256))()
    mask = (torch.rand(64, 256, device=GPU) > 0.2)

    def hook(_, __, output):
        hidden = output[0] if isinstance(output, tuple) else output
        if kind == "broken":
            kept = hidden[mask]
            changed = torch.zeros_like(hidden)
            changed[mask] = kept
        else:
            changed = hidden * mask.unsqueeze(-1)
        return (changed, *output[1:]) if isinstance(output, tuple) else changed
    for layer in model.bert.encoder.layer:
        layer.register_forward_hook(hook)
    return training(model, huggingface_loss, lambda: (ids,))


@case("lstm_check_each_time_step", "lstm", "cpu_gpu_sync", "no NaN check at every time step", 64)
def _(kind):
    def check(h):
        if torch.isnan(h).any().item():
            raise FloatingPointError
    model = own.LoopLstm(check=check if kind == "broken" else None).to(GPU)
    return training(model, next_token, resident(*tokens(64, 20, 4096)))


@case("ssd_postprocess_per_image", "ssd_head", "cpu_gpu_sync", "batched top-k on the GPU, one copy at the end", 32)
def _(kind):
    backbone = vision("mobilenet_v3_large").features.eval()
    head = nn.Conv2d(960, 6 * 25, 3, padding=1).to(GPU)
    x = channels_last(torch.randn(32, 3, 320, 320, device=GPU))

    def run():
        with amp():
            out = head(backbone(x)).float().permute(0, 2, 3, 1).reshape(32, -1, 25)
        boxes, scores = out[..., :4], out[..., 4:].softmax(-1).amax(-1)
        if kind == "fixed":
            best, index = scores.topk(50, dim=1)
            return torch.cat([boxes.gather(1, index[..., None].expand(-1, -1, 4)), best[..., None]], dim=2).cpu()
        results = []
        for image in range(32):
            keep = scores[image] > 0.1
            if keep.sum().item() == 0:
                continue
            order = scores[image][keep].argsort(descending=True)[:50]
            results.append(boxes[image][keep][order].cpu())
        return results
    return inference(run)


@case("dcgan_synchronize_phases", "dcgan", "cpu_gpu_sync", "no synchronize and no loss.item() between the phases", 64)
def _(kind):
    return gan_step(64, sync=kind == "broken")


def gan_step(batch, sync=False, capturable=False):
    generator, discriminator = (m.to(GPU) for m in own.dcgan())
    optimizers = [torch.optim.Adam(m.parameters(), 2e-4, betas=(0.5, 0.999), fused=True, capturable=capturable)
                  for m in (generator, discriminator)]
    real = torch.randn(batch, 3, 64, 64, device=GPU)

    def settle(loss):
        if sync:
            loss.item()
            torch.cuda.synchronize()

    def step():
        noise = torch.randn(batch, 100, 1, 1, device=GPU)
        with amp(cache=not capturable):
            fake = generator(noise)
            on_real, on_fake = discriminator(real), discriminator(fake.detach())
            loss = F.softplus(-on_real).mean() + F.softplus(on_fake).mean()
        settle(loss)
        optimizers[1].zero_grad()
        loss.backward()
        optimizers[1].step()
        settle(loss)
        with amp(cache=not capturable):
            loss = F.softplus(-discriminator(fake)).mean()
        settle(loss)
        optimizers[0].zero_grad()
        loss.backward()
        optimizers[0].step()
        settle(loss)
    return step


@case("llama_decode_reads_token", "llama", "cpu_gpu_sync", "end of text looked for every 32 tokens", 4)
def _(kind):
    model = own.CachedDecoder(4).bfloat16().to(GPU).eval()
    state = {"token": torch.zeros(4, 1, dtype=torch.long, device=GPU), "count": 0}

    def run():
        state["token"], state["count"] = model(state["token"]), state["count"] + 1
        if kind == "broken":
            return [t.item() == 2 for t in state["token"].flatten()]
        return state["token"].tolist() if state["count"] % 32 == 0 else None
    return inference(run)


@case("vit_metrics_while_gpu_bound", "vit_b", "cpu_gpu_sync", "metrics kept on the GPU", 64,
      accept=["cpu_gpu_sync", "compute_bound", "none"])
def _(kind):
    def report(model, loss):
        if kind == "broken":
            [loss.item() for _ in range(3)]
            sum(p.detach().float().norm().item() for p in list(model.parameters())[:40])
    return training(vision("vit_b_16", False), classify, resident(*images(64)), tail=report)


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("gpt2_batch1", "gpt2", "launch_overhead", "CUDA graph", 1)
def _(kind):
    return graph_if(kind == "fixed", own.Decoder(layers=8, attention="flash").to(GPU), next_token,
                    resident(*tokens(1, 128)))


@case("mobilenet_infer_batch1", "mobilenet_v3", "launch_overhead", "CUDA graph", 1)
def _(kind):
    model = vision("mobilenet_v3_large").eval()
    x = channels_last(torch.randn(1, 3, 224, 224, device=GPU))

    def run():
        with amp(cache=False):
            return model(x)
    step = inference(run)
    return captured(step) if kind == "fixed" else step


@case("lstm_python_loop", "lstm", "launch_overhead", "CUDA graph", 32)
def _(kind):
    return graph_if(kind == "fixed", own.LoopLstm().to(GPU), next_token, resident(*tokens(32, 24, 4096)))


@case("dlrm_one_kernel_a_table", "dlrm", "launch_overhead", "CUDA graph", 256)
def _(kind):
    model = own.Recommender(tables=40, rows=2000, dim=32).to(GPU)
    return graph_if(kind == "fixed", model, click_loss, resident(
        torch.rand(256, 13), torch.randint(0, 2000, (256, 40)), torch.rand(256)))


@case("dcgan_small_batch", "dcgan", "launch_overhead", "CUDA graph", 8)
def _(kind):
    step = gan_step(8, capturable=True)
    return captured(step) if kind == "fixed" else step


@case("llama_decode_batch1", "llama", "launch_overhead", "CUDA graph", 1)
def _(kind):
    model = own.CachedDecoder(1, layers=12).bfloat16().to(GPU).eval()
    token = torch.zeros(1, 1, dtype=torch.long, device=GPU)
    step = inference(lambda: token.copy_(model(token)))
    return captured(step) if kind == "fixed" else step


@case("efficientnet_train_batch4", "efficientnet_b0", "launch_overhead", "CUDA graph", 4)
def _(kind):
    x, y = images(4)
    return graph_if(kind == "fixed", vision("efficientnet_b0"), classify, resident(channels_last(x), y))


@case("swin_infer_batch2", "swin_t", "launch_overhead", "CUDA graph", 2)
def _(kind):
    model = vision("swin_t", False).eval()
    x = torch.randn(2, 3, 224, 224, device=GPU)

    def run():
        with amp(cache=False):
            return model(x)
    step = inference(run)
    return captured(step) if kind == "fixed" else step


# --- precision -------------------------------------------------------------------------------------------------------

def precise(model, loss_of, data, broken_tf32=False):
    """fp32 (TF32 as given) when broken, bf16 autocast when fixed."""
    def build(kind):
        broken = kind == "broken"
        return training(model(), loss_of, resident(*data()), mixed=not broken,
                        before=tf32(broken_tf32 if broken else True))
    return build


case("vit_fp32", "vit_b", "precision", "bf16 autocast", 48)(
    precise(lambda: vision("vit_b_16", False), classify, lambda: images(48)))
case("convnext_fp32", "convnext_tiny", "precision", "bf16 autocast", 48)(
    precise(lambda: vision("convnext_tiny"), classify, lambda: (channels_last(images(48)[0]), images(48)[1])))
case("llama_fp32", "llama", "precision", "bf16 autocast", 4)(
    precise(lambda: own.Decoder(dim=1024, layers=8, heads=16, llama=True).to(GPU), next_token,
            lambda: tokens(4, 1024)))
case("unet_tf32", "unet", "precision", "bf16 autocast", 8)(
    precise(lambda: own.UNet(base=64).to(GPU).to(memory_format=torch.channels_last),
            lambda m, x, y: F.cross_entropy(m(x).float(), y),
            lambda: (channels_last(torch.randn(8, 3, 256, 256)), torch.randint(0, 16, (8, 256, 256))), True))
case("t5_fp32", "t5", "precision", "bf16 autocast", 16)(
    precise(lambda: huggingface("t5", hidden=768, layers=4), huggingface_loss, lambda: tokens(16, 256)))


@case("bert_matmul_highest", "bert", "precision", 'torch.set_float32_matmul_precision("high")', 32)
def _(kind):
    return training(huggingface("bert", layers=8), huggingface_loss, resident(*tokens(32, 256)), mixed=False,
                    before=tf32(kind == "fixed"))


@case("wide_mlp_float64", "wide_mlp", "precision", "float32 with TF32", 2048)
def _(kind):
    dtype = torch.float64 if kind == "broken" else torch.float32
    model = own.wide_mlp(4096, 6).to(GPU, dtype)
    x = torch.randn(2048, 4096, dtype=dtype)
    return training(model, lambda m, x: m(x).square().mean(), resident(x), mixed=False, before=tf32(True))


# --- attention -------------------------------------------------------------------------------------------------------

@case("vit_manual_attention", "vit_b", "attention", "scaled_dot_product_attention", 32)
def _(kind):
    model = own.PatchTransformer(attention="manual" if kind == "broken" else "flash").to(GPU)
    return training(model, classify, resident(*images(32)))


@case("llama_math_attention", "llama", "attention", "flash attention", 2)
def _(kind):
    model = own.Decoder(dim=1024, layers=6, heads=16, length=2048, llama=True,
                        attention="math" if kind == "broken" else "flash").to(GPU)
    return training(model, next_token, resident(*tokens(2, 2048)))


@case("bert_eager_attention", "bert", "attention", 'attn_implementation "eager" -> "sdpa"', 8)
def _(kind):
    model = huggingface("bert", "eager" if kind == "broken" else "sdpa", layers=6, length=1024)
    return training(model, huggingface_loss, resident(*tokens(8, 1024)))


@case("diffusion_manual_attention", "diffusion", "attention", "scaled_dot_product_attention", 24)
def _(kind):
    model = own.DiffusionUNet(attention="manual" if kind == "broken" else "flash").to(GPU)
    return training(model, noise_loss, resident(torch.randn(24, 4, 96, 96)))


def noise_loss(model, x):
    noise, t = torch.randn_like(x), torch.randint(0, 1000, (x.shape[0],), device=x.device)
    a = torch.cos(t / 1000)[:, None, None, None]
    return F.mse_loss(model(a * x + (1 - a * a).sqrt() * noise, t).float(), noise)


@case("gpt2_eager_infer", "gpt2", "attention", 'attn_implementation "eager" -> "sdpa"', 8)
def _(kind):
    model = huggingface("gpt2", "eager" if kind == "broken" else "sdpa", length=1024).eval().bfloat16()
    (ids,) = resident(*tokens(8, 1024))()
    return inference(lambda: model.transformer(input_ids=ids, use_cache=False))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

def gated_chain(x, scale, shift):
    """An activation and a normalisation in primitive operations."""
    for _ in range(3):
        mean, spread = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        y = (x - mean) / (spread + 1e-5) * scale + shift
        x = x + 0.5 * y * (1 + torch.tanh(0.79788 * (y + 0.044715 * y * y * y)))
    return x


def focal_loss(logits, target):
    p = torch.sigmoid(logits)
    weight = target * (1 - p) ** 2 * 0.25 + (1 - target) * p**2 * 0.75
    entropy = torch.clamp(logits, min=0) - logits * target + torch.log1p(torch.exp(-logits.abs()))
    return (weight * entropy).mean() + (1 - (2 * p * target).sum() / (p.sum() + target.sum()))


@case("vit_activation_chain", "vit_b", "memory_bandwidth", "torch.compile fuses the chain", 64)
def _(kind):
    function = torch.compile(gated_chain) if kind == "fixed" else gated_chain
    x = torch.randn(64, 1024, 768, device=GPU)
    scale, shift = torch.rand(768, device=GPU), torch.rand(768, device=GPU)
    return inference(lambda: function(x, scale, shift))


@case("segmentation_loss_unfused", "segmentation_loss", "memory_bandwidth", "torch.compile fuses the loss", 16)
def _(kind):
    function = torch.compile(focal_loss) if kind == "fixed" else focal_loss
    head = nn.Conv2d(16, 32, 1).to(GPU)
    x = torch.randn(16, 16, 384, 384, device=GPU)
    target = (torch.rand(16, 32, 384, 384, device=GPU) > 0.5).float()
    return training(head, lambda m, x, t: function(m(x), t), lambda: (x, target), mixed=False, before=tf32(True))


@case("dlrm_gather_then_sum", "dlrm", "memory_bandwidth", "embedding_bag sums without storing the rows", 131072)
def _(kind):
    table = torch.randn(4_000_000, 64, device=GPU)
    index = torch.randint(0, 4_000_000, (8, 131072, 20), device=GPU)
    weight = torch.randn(64, 64, device=GPU)

    def run():
        for part in index:
            if kind == "broken":
                pooled = table[part].sum(1)
            else:
                pooled = F.embedding_bag(part, table, mode="sum")
            pooled @ weight
    return inference(run)


def sampler(x, noise):
    """Fifteen updates of a stochastic sampler, one kernel an operation."""
    for i in range(15):
        sigma = 1.0 - i / 15
        denoised = x / (1 + sigma**2) + torch.tanh(x * sigma) * 0.1
        slope = (x - denoised) / (sigma + 0.01)
        x = x + slope * -0.066 + noise * (0.02 * sigma)
        x = torch.where(x.abs() > 4, 4 * torch.sign(x), x)
    return x


@case("diffusion_sampler_unfused", "diffusion", "memory_bandwidth", "torch.compile fuses the updates", 64)
def _(kind):
    function = torch.compile(sampler) if kind == "fixed" else sampler
    x, noise = torch.randn(2, 64, 4, 256, 256, device=GPU)
    return inference(lambda: function(x, noise))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("bert_adamw_per_parameter", "bert", "optimizer", "AdamW(fused=True)", 8)
def _(kind):
    model = huggingface("bert", layers=10)
    optimizer = adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model)
    return training(model, huggingface_loss, resident(*tokens(8, 128)), optimizer)


@case("convnext_adam_per_parameter", "convnext_tiny", "optimizer", "Adam(fused=True)", 16)
def _(kind):
    model = vision("convnext_tiny")
    more = {"foreach": False} if kind == "broken" else {"fused": True}
    x, y = images(16)
    return training(model, classify, resident(channels_last(x), y),
                    torch.optim.Adam(model.parameters(), 1e-4, **more))


@case("resnet18_adam_per_parameter", "resnet18", "optimizer", "Adam(fused=True)", 16)
def _(kind):
    model = vision("resnet18")
    more = {"foreach": False} if kind == "broken" else {"fused": True}
    x, y = images(16)
    return training(model, classify, resident(channels_last(x), y),
                    torch.optim.Adam(model.parameters(), 1e-4, weight_decay=1e-2, amsgrad=True, **more))


@case("efficientnet_rmsprop_per_parameter", "efficientnet_b0", "optimizer", "RMSprop(foreach=True)", 64)
def _(kind):
    model = vision("efficientnet_b0")
    optimizer = torch.optim.RMSprop(model.parameters(), 1e-4, momentum=0.9, foreach=kind == "fixed")
    x, y = images(64)
    return training(model, classify, resident(channels_last(x), y), optimizer)


class HandWritten:
    """AdamW and norm clipping written as a loop over parameters."""

    def __init__(self, model):
        self.parameters = list(model.parameters())
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]

    def zero_grad(self, set_to_none=True):
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self):
        norm = torch.stack([p.grad.norm() for p in self.parameters]).norm()
        for p, m, v in zip(self.parameters, self.first, self.second):
            gradient = p.grad * torch.clamp(1.0 / (norm + 1e-6), max=1.0)
            m.mul_(0.9).add_(gradient, alpha=0.1)
            v.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            p.mul_(1 - 1e-6)
            p.sub_(1e-4 * m / (v.sqrt() + 1e-8))


@case("gpt2_hand_written_adamw", "gpt2", "optimizer", "clip_grad_norm_ and AdamW(fused=True)", 2)
def _(kind):
    model = own.Decoder(layers=12).to(GPU)
    if kind == "broken":
        return training(model, next_token, resident(*tokens(2, 512)), HandWritten(model))
    optimizer = adamw(model)

    def clip(*_):
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.register_step_pre_hook(clip)
    return training(model, next_token, resident(*tokens(2, 512)), optimizer)


# --- memory_allocation -----------------------------------------------------------------------------------------------

UNCACHED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


@case("vit_uncached_allocations", "vit_b", "memory_allocation", "the caching allocator", 16, environment=UNCACHED)
def _(kind):
    return training(vision("vit_b_16", False), classify, resident(*images(16)))


@case("efficientnet_uncached_allocations", "efficientnet_b0", "memory_allocation", "the caching allocator", 32,
      environment=UNCACHED)
def _(kind):
    x, y = images(32)
    return training(vision("efficientnet_b0"), classify, resident(channels_last(x), y))


@case("unet_empties_cache", "unet", "memory_allocation", "no empty_cache() in the loop", 8)
def _(kind):
    def tail(*_):
        if kind == "broken":
            torch.cuda.empty_cache()
    data = torch.randn(8, 3, 256, 256), torch.randint(0, 16, (8, 256, 256))
    return training(own.UNet(base=32).to(GPU), lambda m, x, y: F.cross_entropy(m(x).float(), y), resident(*data),
                    tail=tail)


@case("llama_empties_cache_per_layer", "llama", "memory_allocation", "no empty_cache() in the layers", 4)
def _(kind):
    model = own.Decoder(dim=1024, layers=8, heads=16, llama=True).to(GPU)
    for block in model.blocks:
        if kind == "broken":
            block.register_forward_hook(lambda *_: torch.cuda.empty_cache())
    return training(model, next_token, resident(*tokens(4, 512)))


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("resnet18_batch8", "resnet18", "gpu_underused", "batch 8 -> 512", 8, fixed_batch=512)
def _(kind):
    x, y = images(8 if kind == "broken" else 512)
    return training(vision("resnet18"), classify, resident(channels_last(x), y))


@case("llama_prefill_batch1", "llama", "gpu_underused", "batch 1 -> 32", 1, fixed_batch=32)
def _(kind):
    model = own.Decoder(dim=1024, layers=12, heads=16, llama=True).bfloat16().to(GPU).eval()
    (ids,) = resident(*tokens(1 if kind == "broken" else 32, 256))()
    return inference(lambda: model(ids))


@case("convnext_graph_batch1", "convnext_tiny", "gpu_underused", "batch 1 -> 128", 1, fixed_batch=128,
      accept=["gpu_underused"])
def _(kind):
    x, y = images(1 if kind == "broken" else 128)
    return graph_if(True, vision("convnext_tiny"), classify, resident(channels_last(x), y))


@case("bert_graph_batch1", "bert", "gpu_underused", "batch 1 -> 64", 1, fixed_batch=64, accept=["gpu_underused"])
def _(kind):
    model = own.Decoder(layers=12, causal=False).to(GPU)
    return graph_if(True, model, next_token, resident(*tokens(1 if kind == "broken" else 64, 128)))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("vit_healthy", "vit_b", "none", "", 256)
def _(kind):
    return training(vision("vit_b_16", False).bfloat16(), classify, resident(images(256)[0].bfloat16(), images(256)[1]))


@case("bert_healthy", "bert", "none", "", 96)
def _(kind):
    return training(huggingface("bert", layers=8, hidden=1024).bfloat16(), huggingface_loss, resident(*tokens(96, 512)))


@case("resnet18_healthy_prefetch", "resnet18", "none", "", 512)
def _(kind):
    x, y = images(512)
    return training(vision("resnet18").bfloat16(), classify, Prefetched(channels_last(x.bfloat16()), y))


@case("wide_mlp_healthy", "wide_mlp", "none", "", 8192)
def _(kind):
    model = own.wide_mlp(8192, 6).bfloat16().to(GPU)
    x = torch.randn(8192, 8192, dtype=torch.bfloat16)
    return training(model, lambda m, x: m(x).float().square().mean(), resident(x),
                    torch.optim.SGD(model.parameters(), 1e-3, fused=True), mixed=False)


@case("llama_compiled_healthy", "llama", "none", "", 16)
def _(kind):
    model = own.Decoder(dim=2048, layers=6, heads=16, llama=True).bfloat16().to(GPU)
    loss = torch.compile(next_token)
    return training(model, loss, resident(*tokens(16, 1024)), mixed=False)


@case("llama_prefill_healthy", "llama", "none", "", 64)
def _(kind):
    model = own.Decoder(dim=2048, layers=6, heads=16, llama=True, hidden=5504).bfloat16().to(GPU).eval()
    (ids,) = resident(*tokens(64, 512))()
    return inference(lambda: model(ids))


@case("gpt2_graph_healthy", "gpt2", "none", "", 24)
def _(kind):
    model = own.Decoder(layers=8, dim=1024, heads=16).bfloat16().to(GPU)
    return graph_if(True, model, next_token, resident(*tokens(24, 1024)))


@case("unet_healthy", "unet", "none", "", 32)
def _(kind):
    model = own.UNet(base=64).to(GPU).to(memory_format=torch.channels_last).bfloat16()
    data = channels_last(torch.randn(32, 3, 256, 256, dtype=torch.bfloat16)), torch.randint(0, 16, (32, 256, 256))
    return training(model, lambda m, x, y: F.cross_entropy(m(x).float(), y), resident(*data), mixed=False)
