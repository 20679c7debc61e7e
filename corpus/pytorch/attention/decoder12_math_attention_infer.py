"""Decoder12 math attention infer: attention. Cured by: flash attention."""
from shared.networks import Decoder
from shared.steps import GPU, inference, resident, tokens


def program(kind):
    model = Decoder(vocab=8192, dim=768, layers=8, heads=12, length=1280,
                    attention="math" if kind == "flawed" else "flash").bfloat16().to(GPU).eval()
    (ids,) = resident(*tokens(8, 1280, 8192))()
    return inference(lambda: model(ids))
