"""Gpt2 graph healthy: healthy."""
from shared.networks import Decoder
from shared.steps import GPU, graph_if, next_token, resident, tokens


def program(kind):
    model = Decoder(layers=8, dim=1024, heads=16).bfloat16().to(GPU)
    return graph_if(True, model, next_token, resident(*tokens(24, 1024)))
