"""Lstm fp32: precision. Cured by: bf16 autocast."""
from torch import nn

from shared.steps import GPU, next_token, resident, tf32, tokens, training


class LanguageLstm(nn.Module):
    """A language model around cuDNN's LSTM."""

    def __init__(self, vocab, dim, layers=2):
        super().__init__()
        self.tokens, self.core = nn.Embedding(vocab, dim), nn.LSTM(dim, dim, layers, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.core(self.tokens(ids))[0])


def in_fp32(model, loss_of, data):
    def build(kind):
        return training(model(), loss_of, resident(*data()), mixed=kind == "cured", before=tf32(kind == "cured"))
    return build


program = in_fp32(lambda: LanguageLstm(16384, 1024).to(GPU), next_token, lambda: tokens(64, 128))
