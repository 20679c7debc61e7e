"""Makes the local data for the public training programs of public_programs.tsv.

Nothing is downloaded. Images are smooth random pictures, texts are random words with a natural frequency, and models have random
weights. public_programs_data.py FOLDER writes FOLDER/data and the files that a program expects at a fixed place of its own.
"""

import csv
import json
import os
import pathlib
import pickle
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

CLASSES = 37
PICTURES = 1110  # different pictures; more file names link to them
CACHE = "hub"  # in HF_HOME


def picture(arguments):
    """One JPEG of the size of a photograph, 20 to 60 KB."""
    from PIL import Image

    path, seed = arguments
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
    big = np.asarray(small.resize((500, 375), Image.BICUBIC), dtype=np.int16)
    grain = rng.integers(-6, 7, (375, 500, 1), dtype=np.int16)
    Image.fromarray(np.clip(big + grain, 0, 255).astype(np.uint8)).save(path, quality=85)


def pictures(root):
    """The pictures, an image folder with train and val, and a flat folder with names as those of the pets."""
    unique = root / "data/unique"
    unique.mkdir(parents=True)
    with ProcessPoolExecutor() as pool:
        work = [(unique / f"{i}.jpg", i) for i in range(PICTURES)]
        list(pool.map(picture, work, chunksize=16))
    for split, names in (("train", 74_000), ("val", 370)):
        links(unique, root / "data/images" / split, names, lambda c, i: f"class_{c:02d}/{i}.jpg")
    links(unique, root / "data/pets", 148_000, lambda c, i: f"breed_{c:02d}_{i}.jpg")


def links(unique, folder, count, name):
    for c in range(CLASSES):
        (folder / name(c, 0)).parent.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        source, target = unique / f"{i % PICTURES}.jpg", folder / name(i % CLASSES, i)
        try:
            os.link(source, target)
        except OSError:  # too many links, or none at all in this file system
            os.symlink(source, target)


def words(rng, count, vocabulary):
    """Random word numbers, frequent ones first, as in a natural text."""
    weights = 1 / (np.arange(vocabulary) + 2.7)
    return rng.choice(vocabulary, size=count, p=weights / weights.sum())


def lines(rng, count, length, vocabulary):
    ids = words(rng, count * length, vocabulary).reshape(count, length)
    return [" ".join(f"w{i}" for i in line) for line in ids]


def texts(root):
    """Texts of lines, two CSV files with a label, and instructions with answers."""
    rng = np.random.default_rng(1)
    wikitext = root / "data/wikitext-2"
    wikitext.mkdir(parents=True)
    for name, count in (("train", 80_000), ("valid", 800), ("test", 800)):
        (wikitext / f"{name}.txt").write_text("\n".join(lines(rng, count, 25, 33_000)) + "\n")
    text = root / "data/text"
    text.mkdir(parents=True)
    (text / "train.txt").write_text("\n".join(lines(rng, 80_000, 25, 40_000)) + "\n")
    for name, count in (("train", 20_000), ("val", 200)):
        with open(text / f"{name}.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["sentence", "label"])
            out.writerows(zip(lines(rng, count, 100, 30_000), rng.integers(0, 2, count).tolist()))
    alpaca = root / "data/alpaca"
    alpaca.mkdir(parents=True)
    with open(alpaca / "train.json", "w") as file:
        for question, answer in zip(lines(rng, 8_000, 30, 30_000), lines(rng, 8_000, 150, 30_000)):
            file.write(json.dumps({"instruction": question, "input": "", "output": answer}) + "\n")


def sentence_pairs(root):
    """Pairs of sentences with a score. The program takes the folder of this name for the public data set."""
    rng = np.random.default_rng(2)
    folder = root / "sts/sentence-transformers/stsb"
    folder.mkdir(parents=True)
    for name, count in (("train", 170_000), ("validation", 200), ("test", 200)):
        length = 11 if name == "train" else 12
        with open(folder / f"{name}.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["sentence1", "sentence2", "score"])
            scores = rng.random(count).round(3).tolist()
            out.writerows(zip(lines(rng, count, length, 30_000), lines(rng, count, length, 30_000), scores))


def digits(root):
    """MNIST's four files, with random digits."""
    folder = root / "vae/data/MNIST/raw"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(3)
    for name, count in (("train", 60_000), ("t10k", 10_000)):
        coarse = rng.integers(0, 256, (count, 7, 7), dtype=np.uint8)
        images = coarse.repeat(4, axis=1).repeat(4, axis=2)
        head = np.array([2051, count, 28, 28], dtype=">i4").tobytes()
        (folder / f"{name}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        head = np.array([2049, count], dtype=">i4").tobytes()
        labels = rng.integers(0, 10, count, dtype=np.uint8)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(head + labels.tobytes())
    (root / "vae/vae/results").mkdir(parents=True, exist_ok=True)


def characters(root):
    """A text of 65 characters as numbers, in train.bin and val.bin."""
    rng = np.random.default_rng(4)
    signs = [chr(48 + i) for i in range(65)]
    meta = {"vocab_size": 65, "itos": dict(enumerate(signs)), "stoi": {s: i for i, s in enumerate(signs)}}
    for program in ("nanogpt", "nanogpt_ddp", "nanogpt_healthy"):
        folder = root / program / "data/shakespeare_char"
        folder.mkdir(parents=True)
        for name, count in (("train", 1_003_854), ("val", 111_540)):
            words(rng, count, 65).astype(np.uint16).tofile(folder / f"{name}.bin")
        (folder / "meta.pkl").write_bytes(pickle.dumps(meta))


def citations(root):
    """A random graph with the sizes of Cora, in the files of planetoid."""
    rng = np.random.default_rng(5)
    folder = root / "gcn/data/Planetoid/Cora/raw"
    folder.mkdir(parents=True)
    nodes, tests, features, classes = 2708, 1000, 1433, 7
    x = (rng.random((nodes, features)) < 0.0127).astype(np.float32)
    x[:, 0] = 1  # no empty row
    y = np.eye(classes, dtype=np.int32)[rng.integers(0, classes, nodes)]
    first = nodes - tests
    graph = {i: [] for i in range(nodes)}
    for a, b in rng.integers(0, nodes, (5278, 2)).tolist():
        graph[a].append(b)
        graph[b].append(a)
    parts = {"x": x[:140], "y": y[:140], "allx": x[:first], "ally": y[:first], "tx": x[first:], "ty": y[first:], "graph": graph}
    for name, part in parts.items():
        (folder / f"ind.cora.{name}").write_bytes(pickle.dumps(part))
    (folder / "ind.cora.test.index").write_text("".join(f"{first + i}\n" for i in rng.permutation(tests)))


def waves(root):
    """The program's own maker of sine waves."""
    subprocess.run([sys.executable, "generate_sine_wave.py"], cwd=root / "time_sequence", check=True)


def tokenizer(folder, vocabulary, length):
    """A tokenizer of whole words, saved as the Hugging Face libraries read it."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    names = special + [f"w{i}" for i in range(vocabulary - len(special))]
    inner = Tokenizer(WordLevel({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    inner.pre_tokenizer = WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
        bos_token="[CLS]", eos_token="[SEP]", model_max_length=length, model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)


def bert(root):
    from transformers import BertConfig, BertForSequenceClassification

    tokenizer(root / "data/bert", 30_522, 512)
    BertForSequenceClassification(BertConfig()).save_pretrained(root / "data/bert")  # 12 layers of 768


def small_bert(root):
    from transformers import BertConfig, BertModel

    tokenizer(root / "data/minilm", 30_522, 512)
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    BertModel(config).save_pretrained(root / "data/minilm")


def gpt2(root):
    from transformers import GPT2Config

    tokenizer(root / "data/gpt2", 50_257, 1024)
    GPT2Config().save_pretrained(root / "data/gpt2")


def llama(root):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer(root / "data/llama", 32_000, 2048)
    config = LlamaConfig(vocab_size=32_000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12)
    LlamaForCausalLM(config).to(torch.float16).save_pretrained(root / "data/llama")


def resnet(root):
    """Random weights at the place where the program looks for the pretrained ones."""
    import timm
    from safetensors.torch import save_file

    model = timm.create_model("resnet50d")
    identity = model.pretrained_cfg.get("hf_hub_id") or "timm/"
    if identity.endswith("/"):
        identity += f"resnet50d.{model.pretrained_cfg['tag']}"
    folder = pathlib.Path(os.environ["HF_HOME"]) / CACHE / f"models--{identity.replace('/', '--')}"
    commit = "0" * 39 + "1"
    for part in ("refs", f"snapshots/{commit}"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "refs/main").write_text(commit)
    save_file(model.state_dict(), folder / "snapshots" / commit / "model.safetensors")


PARTS = [pictures, texts, sentence_pairs, digits, characters, citations, waves, bert, small_bert, gpt2, llama, resnet]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        start = time.monotonic()
        {part.__name__: part for part in PARTS}[sys.argv[2]](root)
        print(f"{sys.argv[2]}: {time.monotonic() - start:.1f} s", flush=True)
        return
    (root / "data").mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("HF_HOME", str(root / "hf"))
    started = [(part, subprocess.Popen([sys.executable, __file__, str(root), part.__name__])) for part in PARTS]
    failed = [part.__name__ for part, process in started if process.wait() != 0]
    if failed:
        sys.exit("failed: " + " ".join(failed))


if __name__ == "__main__":
    main()
