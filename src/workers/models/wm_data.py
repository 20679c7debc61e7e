"""Data that somebody gives: a folder of images by class, tokens in a file, or lines as Criteo's. Everything is read with what
torch itself has, but for pictures, which need Pillow."""

import math
import os

import torch

from wm_training import Refused


def open_data(name, config, path, augment=False):
    """Two data sets, to train and to evaluate. `augment` crops and flips the pictures to train with at random."""
    if name in ("gpt2", "llama"):
        return tokens(config, path)
    if name == "dlrm" and "hots" in config:
        raise Refused("unsupported", "lines of clicks have one row a table", "--set preset=base, or leave out --set data")
    if name == "dlrm":
        return clicks(config, path)
    if name in ("resnet50", "vit"):
        return images(config, path, augment)
    raise Refused("unsupported", "%s reads no data yet" % name, "leave out --set data")


def missing(path, form):
    return Refused("environment", "there is no %s at %s" % (form, path), "--set data= names it (docs/models.md)")


class Tokens(torch.utils.data.Dataset):
    """Pieces of seq + 1 numbers of 16 bits, as nanoGPT's train.bin: each word is the target of the one before."""

    def __init__(self, path, seq, vocab):
        words = os.path.getsize(path) // 2
        if words <= seq:
            raise Refused("data", "%s has %d words, a sequence %d" % (path, words, seq + 1), "a longer file")
        self.words = torch.from_file(path, shared=False, size=words, dtype=torch.int16)
        self.seq, self.vocab = seq, vocab

    def __len__(self):
        return (len(self.words) - 1) // self.seq

    def __getitem__(self, i):
        piece = self.words[i * self.seq : i * self.seq + self.seq + 1].long() & 0xFFFF
        if int(piece.max()) >= self.vocab:
            raise Refused("data", "word %d is beyond the vocabulary of %d" % (int(piece.max()), self.vocab), "another preset")
        return [piece[:-1]], piece[1:]


def tokens(config, path):
    found = []
    for part in ("train.bin", "val.bin"):
        file = os.path.join(path, part)
        if not os.path.isfile(file):
            raise missing(file, "file of tokens")
        found.append(Tokens(file, config["seq"], config["vocab"]))
    return found


class Clicks(torch.utils.data.Dataset):
    """Criteo's lines: label, 13 numbers, 26 hexadecimal categories, with tabs between; what is empty is 0. A number x becomes
    log(x + 1), a category its remainder by the rows of its table (MLPerf's reference does the same)."""

    def __init__(self, path, rows):
        dense, categories, labels = [], [], []
        with open(path) as file:
            for number, line in enumerate(file, 1):
                fields = line.rstrip("\n").split("\t")
                if len(fields) != 14 + len(rows):
                    raise Refused("data", "%s line %d has %d fields, not %d" % (path, number, len(fields), 14 + len(rows)))
                try:
                    labels.append(float(fields[0]))
                    dense.append([float(f or 0) for f in fields[1:14]])
                    categories.append([int(f or "0", 16) % r for f, r in zip(fields[14:], rows)])
                except ValueError as problem:
                    raise Refused("data", "%s line %d: %s" % (path, number, problem))
        if not labels:
            raise Refused("data", "%s is empty" % path)
        self.dense = torch.log(torch.tensor(dense).clamp(min=0) + 1)
        self.categories, self.labels = torch.tensor(categories), torch.tensor(labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return [self.dense[i], self.categories[i]], self.labels[i]


def clicks(config, path):
    found = []
    for part in ("train.txt", "val.txt"):
        file = os.path.join(path, part)
        if not os.path.isfile(file):
            raise missing(file, "file of clicks")
        found.append(Clicks(file, config["rows"]))
    return found


class Images(torch.utils.data.Dataset):
    """FOLDER/CLASS/PICTURE, as torchvision's ImageFolder: classes by the order of their names."""

    MEAN, SPREAD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])

    def __init__(self, path, size, classes, augment=False):
        self.augment = augment
        try:
            from PIL import Image
        except ImportError:
            raise Refused("unsupported", "reading pictures needs Pillow", "apt-get install python3-pil, or pip install pillow")
        self.open, self.size = Image.open, size
        names = sorted(d for d in os.listdir(path) if os.path.isdir(os.path.join(path, d)))
        if len(names) > classes:
            raise Refused("data", "%s has %d classes, the network %d" % (path, len(names), classes), "another preset")
        self.files = []
        for label, name in enumerate(names):
            folder = os.path.join(path, name)
            self.files += [(os.path.join(folder, f), label) for f in sorted(os.listdir(folder)) if not f.startswith(".")]
        if not self.files:
            raise Refused("data", "%s has no pictures" % path)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path, label = self.files[i]
        with self.open(path) as picture:
            picture = picture.convert("RGB")
            box = random_box(*picture.size) if self.augment else middle(*picture.size)
            picture = picture.resize((self.size, self.size), box=box)
            values = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8).float() / 255
        values = values.view(self.size, self.size, 3)
        if self.augment and torch.rand(()) < 0.5:
            values = values.flip(1)
        return [((values - self.MEAN) / self.SPREAD).permute(2, 0, 1)], torch.tensor(label)


def middle(width, height):
    short = min(width, height)
    left, top = (width - short) // 2, (height - short) // 2
    return left, top, left + short, top + short


def random_box(width, height):
    """Inception's crop (Szegedy et al. 2015): 8 to 100 % of the area, sides 3:4 to 4:3; the middle where none of ten fits."""
    for _ in range(10):
        area = width * height * float(torch.empty(()).uniform_(0.08, 1))
        ratio = math.exp(float(torch.empty(()).uniform_(math.log(3 / 4), math.log(4 / 3))))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = int(torch.randint(width - w + 1, ())), int(torch.randint(height - h + 1, ()))
            return left, top, left + w, top + h
    return middle(width, height)


def images(config, path, augment):
    found = []
    for part in ("train", "val"):
        folder = os.path.join(path, part)
        if not os.path.isdir(folder):
            raise missing(folder, "folder of pictures")
        found.append(Images(folder, config["size"], config["classes"], augment and part == "train"))
    return found
