#!/usr/bin/env python3
"""A classifier in f32 and after quantization to int8, compared by `warpmark eval` on the CPU.

    python3 bench/int8_model.py WARPMARK [--work DIR] [--items 5000] [--epochs 3]

A network of three linear layers learns from files of this machine (headers of C, Python, Perl, shell, JavaScript, man pages) which
of them 160 bytes come from. PyTorch's dynamic quantization (torch.ao.quantization.quantize_dynamic) makes its weights int8. Both
answer for pieces of files that the training did not see. `eval compare` says whether int8 is worse and whether by more than a
margin, `eval pareto` sets accuracy against the measured rate.
"""
import argparse
import copy
import glob
import json
import os
import random
import subprocess
import time

import torch

KINDS = {"c": "/usr/include/**/*.h", "python": "/usr/lib/python3*/**/*.py", "perl": "/usr/share/perl*/**/*.p[ml]",
         "shell": "/usr/share/bash-completion/completions/*", "javascript": "/usr/share/**/*.js", "cmake": "/usr/share/cmake*/**/*.cmake"}
LENGTH, BUCKETS, WIDTH = 160, 4096, 512


def pieces(wanted, seed):
    """(bytes, class): of each kind the same number. Files are either for training or for the test, never for both."""
    draw, found = random.Random(seed), []
    for label, pattern in enumerate(KINDS.values()):
        files = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
        files = [path for i, path in enumerate(files) if (i % 5 == 0) == (wanted == "test")]
        draw.shuffle(files)
        of_kind = []
        for path in files[:3000]:
            with open(path, "rb") as file:
                text = file.read(200_000)
            of_kind += [text[at:at + LENGTH] for at in range(0, len(text) - LENGTH, LENGTH)][:120]
        draw.shuffle(of_kind)
        found.append([(piece, label) for piece in of_kind])
    least = min(len(kind) for kind in found)
    mixed = [one for kind in found for one in kind[:least]]
    draw.shuffle(mixed)
    return mixed


def features(batch):
    """Pairs of bytes, hashed: how often each comes."""
    rows = torch.zeros(len(batch), BUCKETS)
    for row, (text, _) in enumerate(batch):
        codes = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
        rows[row] = torch.bincount((codes[:-1] * 31 + codes[1:] * 7) % BUCKETS, minlength=BUCKETS).clamp(max=4).float()
    return rows


def train(pairs, epochs, batch=256):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(BUCKETS, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH),
                                torch.nn.ReLU(), torch.nn.Linear(WIDTH, len(KINDS)))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(epochs):
        for at in range(0, len(pairs), batch):
            some = pairs[at:at + batch]
            loss = torch.nn.functional.cross_entropy(model(features(some)), torch.tensor([label for _, label in some]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval()


def ternary(full):
    """Each layer's weights as -1, 0 or 1 times a scale of the layer."""
    model = copy.deepcopy(full)
    with torch.no_grad():
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                scale = layer.weight.abs().mean() * 4
                layer.weight.copy_((layer.weight / scale).round().clamp(-1, 1) * scale)
    return model


def rate(model, inputs, seconds=3.0):
    """Pieces a second, in batches of 64, the median of the batches."""
    batches, times = inputs.split(64), []
    with torch.no_grad():
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            for batch in batches:
                begin = time.perf_counter()
                model(batch)
                times.append((time.perf_counter() - begin) / len(batch))
    return 1 / sorted(times)[len(times) // 2]


def bytes_of(model, path):
    torch.save(model.state_dict(), path)
    return os.path.getsize(path)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("warpmark")
    options.add_argument("--work", default="int8_model")
    options.add_argument("--items", type=int, default=5000)
    options.add_argument("--epochs", type=int, default=3)
    asked = options.parse_args()
    os.makedirs(asked.work, exist_ok=True)
    torch.set_num_threads(1)
    training, test = pieces("training", 1), pieces("test", 2)[:asked.items]
    print(f"{len(training)} pieces to train with, {len(test)} for the test")
    full = train(training, asked.epochs)
    int8 = torch.ao.quantization.quantize_dynamic(full, {torch.nn.Linear}, dtype=torch.qint8)
    models = {"f32": full, "int8": int8, "ternary": ternary(full)}
    names, inputs, rates = list(KINDS), features(test), {}

    def write(name, rows):
        with open(os.path.join(asked.work, name), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    write("gold.jsonl", ({"id": i, "label": names[label]} for i, (_, label) in enumerate(test)))
    for name, model in models.items():
        with torch.no_grad():
            answers = model(inputs).argmax(1).tolist()
        write(name + ".jsonl", ({"id": i, "prediction": names[answer]} for i, answer in enumerate(answers)))
        rates[name] = rate(model, inputs)
        size = bytes_of(model, os.path.join(asked.work, name + ".pt"))
        print(f"{name}: {rates[name]:.0f} pieces/s, {size / 1e6:.2f} MB")

    def warpmark(*words):
        print("$ warpmark", " ".join(words))
        done = subprocess.run([os.path.abspath(asked.warpmark), *words], cwd=asked.work, text=True, capture_output=True)
        print(done.stdout + done.stderr + f"exit code {done.returncode}\n")

    for name in ("int8", "ternary"):
        warpmark("eval", "compare", "f32.jsonl", name + ".jsonl", "--ref", "gold.jsonl", "--metric", "accuracy", "--margin", "0.01")
    for name in ("f32", "int8"):
        warpmark("eval", "score", "accuracy", "--ref", "gold.jsonl", "--predictions", name + ".jsonl", "--json", name + ".json",
                 "--no-store")
    warpmark("eval", "pareto", *(f"{name}.json={rates[name]:.0f}" for name in ("f32", "int8")), "--metric", "accuracy",
             "--speed-unit", "pieces/s")


if __name__ == "__main__":
    main()
