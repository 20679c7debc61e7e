#!/usr/bin/env python3
"""A small model at full precision and quantized, behind a server that others wrote, compared by `warpmark eval`.

    python3 bench/quantized_model.py WARPMARK DLLAMA [--work DIR] [--steps 6000] [--items 1000]

DLLAMA is a built checkout of github.com/b4rtaz/distributed-llama (`make dllama-api`). A Llama of 3 layers learns to add (PyTorch,
a minute on a GPU), is written in Meta's format, converted to f32 and q40 by that project's own converter, and served by its
dllama-api. `eval run` asks both for sums that the training never saw, the full one twice: that tells the noise first. Then
`eval compare` says whether the quantized model is worse, and `--margin` whether by more than one wants.
"""
import argparse
import importlib
import json
import math
import os
import random
import subprocess
import sys
import time
import urllib.request

BOS, EOS, WORDS = 256, 257, 288
DIM, HIDDEN, LAYERS, HEADS, LENGTH = 128, 384, 3, 4, 64
LARGEST = 1000  # of what is added


def question(a, b):
    return f"[INST] What is {a}+{b}? [/INST]"


def held_back(a, b):
    """A seventh of the sums, by a rule that no digit tells."""
    return (a * 7919 + b * 104729) % 7 == 0


def sums(count, wanted, seed):
    draw, found = random.Random(seed), []
    while len(found) < count:
        a, b = draw.randrange(LARGEST), draw.randrange(LARGEST)
        if held_back(a, b) == wanted:
            found.append((a, b))
    return found


def model():
    import torch
    from torch import nn

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(DIM))

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.wq, self.wk, self.wv, self.wo = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))

        def forward(self, x, turn, mask):
            batch, length, _ = x.shape
            q, k, v = (f(x).view(batch, length, HEADS, -1).transpose(1, 2) for f in (self.wq, self.wk, self.wv))
            q, k = (torch.view_as_real(torch.view_as_complex(t.reshape(*t.shape[:-1], -1, 2)) * turn).flatten(-2) for t in (q, k))
            weights = (q @ k.transpose(-1, -2) / math.sqrt(DIM / HEADS) + mask).softmax(-1)
            return self.wo((weights @ v).transpose(1, 2).reshape(batch, length, DIM))

    class FeedForward(nn.Module):
        def __init__(self):
            super().__init__()
            self.w1, self.w3 = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(DIM, HIDDEN, bias=False)
            self.w2 = nn.Linear(HIDDEN, DIM, bias=False)

        def forward(self, x):
            return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.feed_forward, self.attention_norm, self.ffn_norm = Attention(), FeedForward(), Norm(), Norm()

        def forward(self, x, turn, mask):
            x = x + self.attention(self.attention_norm(x), turn, mask)
            return x + self.feed_forward(self.ffn_norm(x))

    class Llama(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok_embeddings = nn.Embedding(WORDS, DIM)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.norm = Norm()
            self.output = nn.Linear(DIM, WORDS, bias=False)

        def forward(self, words):
            half = DIM // HEADS // 2
            angle = torch.outer(torch.arange(words.shape[1], device=words.device), 10000.0 ** (-torch.arange(half, device=words.device) / half))
            mask = torch.full((words.shape[1],) * 2, -math.inf, device=words.device).triu(1)
            x = self.tok_embeddings(words)
            for layer in self.layers:
                x = layer(x, torch.polar(torch.ones_like(angle), angle), mask)
            return self.output(self.norm(x))

    return Llama()


def train(folder, steps):
    import torch

    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net, batch = model().to(device), 256
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.1)
    warm = steps // 20
    plan = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1, (i + 1) / warm) * (0.5 + 0.5 * math.cos(math.pi * i / steps)))
    examples, begin = sums(400_000, False, 1), time.time()
    draw = random.Random(2)
    for step in range(steps):
        rows, answers = [], []
        for a, b in draw.choices(examples, k=batch):
            asked = [BOS, *question(a, b).encode(), EOS]
            said = [*str(a + b).encode(), EOS]
            rows.append(asked + said + [EOS] * (LENGTH - len(asked) - len(said)))
            answers.append([-100] * (len(asked) - 1) + said + [-100] * (LENGTH - len(asked) - len(said)))
        words = torch.tensor(rows, device=device)[:, :44]
        wanted = torch.tensor(answers, device=device)[:, :43]
        loss = torch.nn.functional.cross_entropy(net(words[:, :-1]).flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        plan.step()
        if step % 200 == 0 or step + 1 == steps:
            print(f"step {step}: loss {loss.item():.4f}, {time.time() - begin:.0f} s", flush=True)
    torch.save({name: tensor.cpu() for name, tensor in net.state_dict().items()}, os.path.join(folder, "consolidated.00.pth"))
    with open(os.path.join(folder, "params.json"), "w", encoding="ascii") as file:
        json.dump({"dim": DIM, "n_layers": LAYERS, "n_heads": HEADS, "vocab_size": WORDS, "max_seq_len": LENGTH, "rope_theta": 10000}, file)


def write_tokenizer(converter, path):
    sys.path.insert(0, converter)
    words = [bytes([i]) if 32 <= i < 127 else b"<0x%02X>" % i for i in range(256)]
    words += [b"<s>", b"</s>"] + [b"<unused%d>" % i for i in range(WORDS - 258)]
    with open(path, "wb") as file:
        importlib.import_module("tokenizer-writer").writeTokenizer(file, words, [0.0] * WORDS, b"[INST]", BOS, True, [EOS])


class Served:
    def __init__(self, dllama, model_file, tokenizer, buffers, port, log):
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen([os.path.join(dllama, "dllama-api"), "--model", model_file, "--tokenizer", tokenizer, "--buffer-float-type",
                                         buffers, "--nthreads", "1", "--temperature", "0", "--port", str(port)], stdout=log, stderr=log)
        for _ in range(100):
            try:
                urllib.request.urlopen(self.url + "/v1/models", timeout=5).read()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("dllama-api does not answer: see the log")

    def stop(self):
        self.process.kill()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warpmark")
    parser.add_argument("dllama")
    parser.add_argument("--work", default="quantized")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--items", type=int, default=1000)
    asked = parser.parse_args()
    work = os.path.abspath(asked.work)
    os.makedirs(work, exist_ok=True)
    converter, place = os.path.join(asked.dllama, "converter"), lambda name: os.path.join(work, name)
    if not os.path.exists(place("params.json")):
        train(work, asked.steps)
    log = open(place("log.txt"), "a", encoding="utf-8")
    for kind in ("f32", "q40"):
        subprocess.run([sys.executable, os.path.abspath(os.path.join(converter, "convert-llama.py")), work, kind], cwd=work, check=True, stdout=log)
    write_tokenizer(os.path.abspath(converter), place("tokenizer.t"))
    with open(place("sums.jsonl"), "w", encoding="ascii") as file:
        for i, (a, b) in enumerate(sums(asked.items, True, 3)):
            file.write(json.dumps({"id": f"sum{i}", "question": f"What is {a}+{b}?", "answer": str(a + b)}) + "\n")
    with open(place("sums.yaml"), "w", encoding="ascii") as file:
        file.write('schema: warpmark.task/1\nname: sums\nversion: "1"\ndata: {file: sums.jsonl, split: held-back}\nprompt: "{{question}}"\n'
                   'answer: "{{answer}}"\ngeneration: {max_tokens: 8, temperature: 0}\nmetrics: [exact_match, cer]\n')
    files = {kind: next(os.path.join(work, f) for f in os.listdir(work) if f.endswith(f"_{kind}.m")) for kind in ("f32", "q40")}
    for name, kind in (("full", "f32"), ("full-again", "f32"), ("q40", "q40")):
        served = Served(asked.dllama, files[kind], place("tokenizer.t"), "f32" if kind == "f32" else "q80", 9990, log)
        done = subprocess.run([asked.warpmark, "eval", "run", place("sums.yaml"), "--endpoint", served.url + "/v1", "--model", name, "--concurrency", "1",
                               "--run-dir", place(name), "--no-store", "--json", place(name + ".json")], capture_output=True, text=True)
        print(f"## {name}, {os.path.getsize(files[kind])} bytes, exit {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
        served.stop()
    answers = {name: os.path.join(place(name), "answers.jsonl") for name in ("full", "full-again", "q40")}
    for margin in ([], ["--margin", "0.02"]):
        done = subprocess.run([asked.warpmark, "eval", "compare", answers["full"], answers["q40"], "--again", answers["full-again"], "--ref",
                               place("sums.jsonl"), "--metric", "exact_match", *margin], capture_output=True, text=True)
        print(f"## compared {' '.join(margin)}: exit {done.returncode}\n{done.stdout}{done.stderr}", flush=True)


if __name__ == "__main__":
    main()
