"""Bird calls made spectra by three workers: data_loading. Cured by: num_workers 3 -> 12."""
import numpy as np
import torch
from torch.utils.data import Dataset

from shared.networks import picture_network
from shared.steps import classify, loaded, training


class BirdCalls(Dataset):
    """Five seconds of a forest as 16-bit numbers, made a mel spectrogram; which of 200 birds calls there."""

    def __init__(self, count=32, length=160000):
        drawn = np.random.default_rng(190)
        self.waves = torch.from_numpy(drawn.integers(-9000, 9000, (count, length), dtype=np.int16))
        self.filters = torch.from_numpy(drawn.random((128, 513), dtype=np.float32))
        self.window = torch.hann_window(1024)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        wave = self.waves[index % len(self.waves)].float() / 32768
        wave = wave + 0.01 * torch.randn(len(wave))
        power = torch.stft(wave, 1024, 320, window=self.window, return_complex=True)[:, :500].abs().square()
        mel = torch.log(self.filters @ power + 1e-6)
        mel = (mel - mel.mean()) / (mel.std() + 1e-5)
        begin = index * 37 % 440
        mel[:, begin:begin + 40] = 0.0
        return mel[None], index % 200


def program(kind):
    batches, close = loaded(BirdCalls(), 64, 3 if kind == "flawed" else 12)
    model = picture_network("hgnetv2_b1", in_chans=1, num_classes=200)
    return training(model, classify, batches), close
