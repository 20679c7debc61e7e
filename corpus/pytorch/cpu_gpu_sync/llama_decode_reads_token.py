"""Llama decode reads token: cpu_gpu_sync. Cured by: end of text looked for every 32 tokens."""
import torch

from shared.networks import CachedDecoder
from shared.steps import GPU, inference


def program(kind):
    model = CachedDecoder(4).bfloat16().to(GPU).eval()
    state = {"token": torch.zeros(4, 1, dtype=torch.long, device=GPU), "count": 0}

    def run():
        state["token"], state["count"] = model(state["token"]), state["count"] + 1
        if kind == "flawed":
            return [t.item() == 2 for t in state["token"].flatten()]
        return state["token"].tolist() if state["count"] % 32 == 0 else None
    return inference(run)
