"""Loads described by pandas for each window: data_loading. Cured by: all sites described once, windows cut from
one tensor."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from shared.steps import GPU, loaded, training


class Loads(Dataset):
    """What each of many sites draws from the grid by the hour: a week, described in 16 ways, and the day after it."""

    def __init__(self, sites=48, hours=4000):
        import pandas as pd
        drawn = np.random.default_rng(17)
        index = pd.date_range("2024-01-01", periods=hours, freq="h")
        self.frames = [pd.DataFrame(drawn.random((hours, 2)), columns=["load", "warmth"], index=index)
                       for _ in range(sites)]
        self.hours = hours

    @staticmethod
    def described(frame):
        found = frame[[]].copy()
        for name in ("load", "warmth"):
            column = frame[name]
            for hours in (1, 24):
                found[f"{name}_{hours}_ago"] = column.shift(hours)
            for hours in (6, 24):
                found[f"{name}_mean_{hours}"] = column.rolling(hours).mean()
                found[f"{name}_spread_{hours}"] = column.rolling(hours).std()
            found[f"{name}_smooth"] = column.ewm(span=12).mean()
        found["hour"] = np.sin(np.asarray(frame.index.hour) * 0.2618)
        found["weekday"] = np.asarray(frame.index.dayofweek) / 7.0
        return torch.tensor(found.fillna(0.0).to_numpy(dtype=np.float32))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        begin = index * 37 % (self.hours - 240)
        frame = self.frames[index % len(self.frames)].iloc[begin:begin + 240]
        load = torch.tensor(frame["load"].to_numpy(dtype=np.float32))
        return self.described(frame)[48:216], load[216:]

    def tables(self):
        """All sites described, and their loads."""
        loads = [torch.tensor(frame["load"].to_numpy(dtype=np.float32)) for frame in self.frames]
        return torch.stack([self.described(frame) for frame in self.frames]), torch.stack(loads)


class LoadLstm(nn.Module):
    def __init__(self, inputs=16, width=512, ahead=24):
        super().__init__()
        self.lstm, self.head = nn.LSTM(inputs, width, 2, batch_first=True), nn.Linear(width, ahead)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def program(kind):
    data = Loads()
    batches, close = loaded(data, 48, 8) if kind == "flawed" else (None, lambda: None)
    if kind == "cured":
        described, load = (table.to(GPU) for table in data.tables())
        week, day = torch.arange(168, device=GPU), torch.arange(168, 192, device=GPU)

        def batches():
            site, begin = (torch.randint(0, most, (48, 1), device=GPU) for most in (len(load), data.hours - 192))
            return described[site, begin + week], load[site, begin + day]
    with torch.device(GPU):
        model = LoadLstm()
    return training(model, lambda m, x, y: F.l1_loss(m(x).float(), y), batches), close
