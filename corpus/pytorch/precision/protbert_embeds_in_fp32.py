"""Protbert embeds in fp32: precision. Cured by: bf16 weights."""
import torch

from shared.steps import GPU, inference, resident, tf32, tokens


def program(kind):
    import transformers as hf
    config = hf.BertConfig(vocab_size=30, hidden_size=1024, num_hidden_layers=8, num_attention_heads=16,
                           intermediate_size=4096, max_position_embeddings=1024, hidden_dropout_prob=0.0,
                           attention_probs_dropout_prob=0.0, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.BertModel(config, add_pooling_layer=False).eval()
    model = model.bfloat16() if kind == "cured" else model
    (residues,) = resident(*tokens(16, 512, 30))()
    return inference(lambda: model(input_ids=residues).last_hidden_state.mean(1), tf32(False))
