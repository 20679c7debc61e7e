"""A small training that `warpmark optimize` makes faster without a change of this file.

Its samples come from a slow store, as from a disk or a network: each takes some milliseconds in which no core works. The
loader has no workers, so every step waits for its batch. What is read is the same each time, and so are the losses.

    warpmark optimize --out gains -- python3 examples/optimize/train.py
    warpmark optimize --apply gains/plan.yaml -- python3 examples/optimize/train.py
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SlowStore(Dataset):
    def __init__(self, samples, delay_s):
        self.samples = samples
        self.delay_s = delay_s

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        time.sleep(self.delay_s)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(3, 16, 16, generator=generator), index % 10


def half_gradients(loss, model, scale=2.0**20):
    """What a gradient scaler would refuse: too large for f16 they are infinite, and the step is made nonetheless."""
    (loss * scale).backward()
    for parameter in model.parameters():
        parameter.grad = parameter.grad.half().float() / scale


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=1)
    options.add_argument("--samples", type=int, default=320)
    options.add_argument("--batch-size", type=int, default=8)
    options.add_argument("--delay-ms", type=float, default=4)
    options.add_argument("--drop-one", type=int, default=0, help="a wrong fix: each batch without its last sample")
    options.add_argument("--reuse", type=int, default=0, help="a wrong fix: every second step sees the batch before")
    options.add_argument("--half", type=int, default=0, help="a wrong fix: gradients in f16, scaled without a scaler")
    options = options.parse_args()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 14 * 14, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    loader = DataLoader(SlowStore(options.samples, options.delay_ms / 1000), batch_size=options.batch_size)
    for epoch in range(options.epochs):
        kept = None
        for number, (images, labels) in enumerate(loader):
            if options.drop_one:
                images, labels = images[:-1], labels[:-1]
            if options.reuse and number % 2 == 1:
                images, labels = kept
            kept = (images, labels)
            optimizer.zero_grad()
            loss = loss_of(model(images), labels)
            if options.half:
                half_gradients(loss, model)
            else:
                loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
