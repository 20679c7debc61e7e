"""Gpt2 eager infer: attention. Cured by: attn_implementation "eager" -> "sdpa"."""
from shared.steps import GPU, inference, resident, tokens


def huggingface(kind, attention="sdpa", layers=6, hidden=768, length=512):
    import transformers as hf
    if kind == "bert":
        config = hf.BertConfig(vocab_size=16384, hidden_size=hidden, num_hidden_layers=layers,
                               num_attention_heads=hidden // 64, intermediate_size=4 * hidden,
                               max_position_embeddings=length, attn_implementation=attention, hidden_dropout_prob=0.0,
                               attention_probs_dropout_prob=0.0)
        return hf.BertForMaskedLM(config).to(GPU).train()
    if kind == "gpt2":
        config = hf.GPT2Config(vocab_size=16384, n_embd=hidden, n_layer=layers, n_head=hidden // 64, n_positions=length,
                               attn_implementation=attention, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
        return hf.GPT2LMHeadModel(config).to(GPU).train()
    config = hf.T5Config(vocab_size=16384, d_model=hidden, num_layers=layers, num_decoder_layers=layers,
                         num_heads=hidden // 64, d_ff=4 * hidden, dropout_rate=0.0, decoder_start_token_id=0)
    return hf.T5ForConditionalGeneration(config).to(GPU).train()


def program(kind):
    model = huggingface("gpt2", "eager" if kind == "flawed" else "sdpa", length=1024).eval().bfloat16()
    (ids,) = resident(*tokens(8, 1024))()
    return inference(lambda: model.transformer(input_ids=ids, use_cache=False))
