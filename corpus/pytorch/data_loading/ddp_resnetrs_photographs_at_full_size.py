"""Ddp resnetrs photographs at full size: data_loading. Cured by: the files made smaller once, before training."""
import io

import numpy as np
import torch
from torch.utils.data import Dataset

from shared.networks import picture_network
from shared.ranks import parallel
from shared.steps import classify, loaded, nhwc, training


class Photographs(Dataset):
    """JPEG files of `side` pixels a side, of which 224 x 224 are cut out once they are 256 a side."""

    def __init__(self, side, count=12):
        from PIL import Image
        dice, self.files = np.random.default_rng(3), []
        for _ in range(count):
            coarse = Image.fromarray(dice.integers(0, 256, (32, 32, 3), dtype=np.uint8))
            file = io.BytesIO()
            coarse.resize((side, side), Image.BICUBIC).save(file, "JPEG", quality=92)
            self.files.append(file.getvalue())

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from PIL import Image
        picture = Image.open(io.BytesIO(self.files[index % len(self.files)])).convert("RGB")
        if picture.size != (256, 256):
            picture = picture.resize((256, 256), Image.BILINEAR)
        left, top = index * 7 % 32, index * 11 % 32
        pixels = np.asarray(picture)[top:top + 224, left:left + 224]
        if index % 2:
            pixels = pixels[:, ::-1]
        x = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
        return x.float().div_(127.5).sub_(1), index % 1000


def program(kind):
    """Six workers a rank read files of 640 pixels a side and make them 256 a side, each time anew."""
    batches, close = loaded(Photographs(640 if kind == "flawed" else 256), 64, 6)
    return training(parallel(picture_network("resnetrs50"), gradient_as_bucket_view=True), classify,
                    nhwc(batches)), close
