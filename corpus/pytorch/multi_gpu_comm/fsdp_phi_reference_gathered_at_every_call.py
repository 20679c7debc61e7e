"""Fsdp phi reference gathered at every call: multi_gpu_comm. Cured by: the frozen reference whole on each rank: it
fits."""
import torch
import torch.nn.functional as F

from shared.steps import GPU, inference, resident, tokens


def program(kind):
    """How likely a frozen reference model finds the answers that the policy gave."""
    import transformers as hf
    config = hf.PhiConfig(vocab_size=16384, hidden_size=4096, intermediate_size=16384, num_hidden_layers=8,
                          num_attention_heads=32, max_position_embeddings=1024, resid_pdrop=0.0, embd_pdrop=0.0,
                          attention_dropout=0.0, use_cache=False, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.PhiForCausalLM(config).bfloat16().eval().requires_grad_(False)
    if kind == "flawed":
        from torch.distributed.fsdp import fully_shard
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
    (ids,) = resident(*tokens(4, 128))()

    def run():
        chances = F.log_softmax(model(input_ids=ids).logits[:, :-1].float(), dim=-1)
        return chances.gather(2, ids[:, 1:, None]).sum((1, 2))
    return inference(run)
