"""Llama prefill healthy: healthy."""
from shared.networks import Decoder
from shared.steps import GPU, inference, resident, tokens


def program(kind):
    model = Decoder(dim=2048, layers=6, heads=16, llama=True, hidden=5504).bfloat16().to(GPU).eval()
    (ids,) = resident(*tokens(64, 512))()
    return inference(lambda: model(ids))
