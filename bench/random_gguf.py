"""Writes a Llama of random weights with a vocabulary of ASCII words as GGUF (Debian: python3-gguf): what llama.cpp's server
serves where no trained model is at hand. Its speed is that of its size, and what it says has no meaning.

usage: random_gguf.py OUT.gguf [LAYERS [HIDDEN]]
"""

import sys

import gguf
import numpy

HEAD = 64
SPOKEN = "time year people way day man thing woman life child world school".split()


def vocabulary(words=1024):
    """A word of the prompts needs all of its beginnings, as pieces are merged two at a time."""
    texts = ["\n", "\t", "\u2581"] + [chr(code) for code in range(33, 127)]
    for word in SPOKEN + ["w%d" % number for number in range(words)]:
        for end in range(1, len(word) + 1):
            texts += ["\u2581" + word[:end]] if "\u2581" + word[:end] not in texts else []
    tokens = ["<unk>", "<s>", "</s>"] + texts
    control = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    return tokens, control + [gguf.TokenType.NORMAL] * len(texts)


def main():
    path = sys.argv[1]
    layers, hidden = (int(sys.argv[i]) if len(sys.argv) > i else usual for i, usual in ((2, 8), (3, 512)))
    feed = 3 * hidden
    random = numpy.random.default_rng(1)
    tokens, kinds = vocabulary()
    out = gguf.GGUFWriter(path, "llama")
    out.add_context_length(8192)
    out.add_embedding_length(hidden)
    out.add_block_count(layers)
    out.add_feed_forward_length(feed)
    out.add_head_count(hidden // HEAD)
    out.add_head_count_kv(hidden // HEAD)
    out.add_rope_dimension_count(HEAD)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("llama")
    out.add_tokenizer_pre("default")
    out.add_token_list(tokens)
    out.add_token_scores([float(len(token)) for token in tokens])
    out.add_token_types(kinds)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)
    out.add_add_bos_token(True)
    out.add_chat_template("{% for m in messages %}{{ m['content'] }}\n{% endfor %}")

    def matrix(name, rows, columns, scale=0.02):
        out.add_tensor(name, (random.standard_normal((rows, columns)) * scale).astype(numpy.float16))

    def ones(name):
        out.add_tensor(name, numpy.ones(hidden, dtype=numpy.float32))

    matrix("token_embd.weight", len(tokens), hidden, 1)
    matrix("output.weight", len(tokens), hidden, 0.1)
    ones("output_norm.weight")
    for number in range(layers):
        block = "blk.%d." % number
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(block + part + ".weight", hidden, hidden)
        matrix(block + "ffn_gate.weight", feed, hidden)
        matrix(block + "ffn_up.weight", feed, hidden)
        matrix(block + "ffn_down.weight", hidden, feed)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    main()
