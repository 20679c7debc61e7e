"""What the PyTorch programs share: batches (resident, copied, prefetched, loaded by workers), steps of training and
inference, CUDA graphs, and the networks and losses of torchvision."""
import contextlib

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


GPU = "cuda"


def resident(*tensors):
    moved = tuple(t.to(GPU) for t in tensors)
    return lambda: moved


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


def channels_last(x):
    return x.contiguous(memory_format=torch.channels_last)


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


def graph_if(cured, model, loss_of, batches, optimizer=None):
    """Training, as a CUDA graph if `fixed`."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)
    step = training(model, loss_of, batches, optimizer, cache=not cured)
    return captured(step) if cured else step


def tf32(on):
    def setting():
        torch.backends.cuda.matmul.allow_tf32 = on
        torch.backends.cudnn.allow_tf32 = on
    return setting
