"""Camembert words pooled on cpu: host_transfer. Cured by: the mean on the GPU, then one small copy."""
import torch

from shared.networks import transformers_network
from shared.steps import inference, resident


def program(kind):
    """An embedding for each of 96 texts."""
    import transformers as hf
    config = hf.CamembertConfig(vocab_size=16384, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                                intermediate_size=3072, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1,
                                bos_token_id=0, eos_token_id=2)
    model = transformers_network("CamembertModel", config, train=False).bfloat16()
    (ids,) = resident(torch.randint(5, 16000, (96, 192)))()

    def run():
        words = model(input_ids=ids).last_hidden_state.float()
        return words.cpu().mean(1).numpy() if kind == "flawed" else words.mean(1).cpu().numpy()
    return inference(run)
