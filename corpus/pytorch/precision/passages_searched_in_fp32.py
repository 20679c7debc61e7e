"""Passages searched in fp32: precision. Cured by: passages and questions in bf16."""
import torch
import torch.nn.functional as F

from shared.steps import GPU, inference, tf32


def program(kind):
    """The nearest hundred of 400,000."""
    dtype = torch.float32 if kind == "flawed" else torch.bfloat16
    with torch.device(GPU):
        passages = F.normalize(torch.randn(400_000, 1024), dim=1).to(dtype)
        questions = F.normalize(torch.randn(768, 1024), dim=1).to(dtype)
    return inference(lambda: (questions @ passages.T).topk(100, dim=1), tf32(False))
