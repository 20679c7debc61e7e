"""Mistral width prefill healthy: healthy."""
from shared.networks import transformers_network
from shared.steps import inference, Prefetched, tokens


def program(kind):
    import transformers as hf
    config = hf.MistralConfig(vocab_size=16384, hidden_size=4096, intermediate_size=14336, num_hidden_layers=5,
                              num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=1024,
                              sliding_window=None, use_cache=False, attn_implementation="sdpa")
    model = transformers_network("MistralModel", config, train=False).bfloat16()
    batches = Prefetched(*tokens(8, 1024))
    return inference(lambda: model(input_ids=batches()[0]).last_hidden_state)
