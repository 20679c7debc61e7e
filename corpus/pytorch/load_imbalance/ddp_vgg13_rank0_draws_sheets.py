"""Ddp vgg13 rank0 draws sheets: load_imbalance. Cured by: a sheet of pictures once an epoch."""
import io

import torch
import torch.distributed as dist

from shared.ranks import parallel
from shared.steps import channels_last, classify, images, resident, training, vision


def sheet_of(pictures, columns=3):
    """Pictures side by side, as a PNG file."""
    from PIL import Image
    rows = [torch.cat(list(row), dim=2) for row in pictures.split(columns)]
    sheet, file = torch.cat(rows, dim=1).permute(1, 2, 0).contiguous().numpy(), io.BytesIO()
    Image.fromarray(sheet).save(file, "PNG")
    return file.getvalue()


def program(kind):
    """At each step rank 0's host writes six of the pictures, as they came from the disk, into a PNG file."""
    x, y = images(48)
    read, log = torch.randint(0, 256, (6, 3, 224, 224), dtype=torch.uint8), {}

    def draw(*_):
        if kind == "flawed" and dist.get_rank() == 0:
            log["sheet"] = sheet_of(read)
    return training(parallel(vision("vgg13_bn"), gradient_as_bucket_view=True), classify,
                    resident(channels_last(x), y), tail=draw)
