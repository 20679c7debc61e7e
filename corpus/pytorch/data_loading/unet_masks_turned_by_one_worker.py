"""Unet masks turned by one worker: data_loading. Cured by: num_workers 1 -> 12."""
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset

from shared.networks import UNet
from shared.steps import GPU, loaded, nhwc, training


class Scans(Dataset):
    """Pictures and their masks, turned and moved alike."""

    def __init__(self):
        from torchvision.transforms import v2
        self.transform = v2.Compose([v2.RandomAffine(20, (0.1, 0.1), (0.8, 1.2)), v2.RandomHorizontalFlip()])
        self.pictures = torch.randint(0, 256, (32, 3, 256, 256), dtype=torch.uint8)
        self.masks = torch.randint(0, 16, (32, 256, 256), dtype=torch.uint8)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from torchvision import tv_tensors
        picture, mask = self.transform(tv_tensors.Image(self.pictures[index % 32]),
                                       tv_tensors.Mask(self.masks[index % 32]))
        return picture.as_subclass(torch.Tensor).float() / 255, mask.as_subclass(torch.Tensor)


def program(kind):
    batches, close = loaded(Scans(), 16, 1 if kind == "flawed" else 12)
    model = UNet().to(GPU).to(memory_format=torch.channels_last)
    return training(model, lambda m, x, y: F.cross_entropy(m(x).float(), y.long()), nhwc(batches)), close
