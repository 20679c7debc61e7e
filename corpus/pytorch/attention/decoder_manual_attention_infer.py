"""Decoder manual attention infer: attention. Cured by: scaled_dot_product_attention."""
from shared.networks import Decoder
from shared.steps import GPU, inference, resident, tokens


def program(kind):
    model = Decoder(vocab=8192, dim=2048, layers=4, heads=16, length=2048, llama=True,
                    attention="manual" if kind == "flawed" else "flash").bfloat16().to(GPU).eval()
    (ids,) = resident(*tokens(4, 2048, 8192))()
    return inference(lambda: model(ids))
