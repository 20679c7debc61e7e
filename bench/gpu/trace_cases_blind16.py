"""A further set of cases for record_traces.py --cases trace_cases_blind16: language models, speech, series, control,
tables and search, each with one plain flaw and its usual remedy; written by somebody who did not know the analysis.
Networks are those of transformers and trace_nets_blind16. Needs pandas besides."""
import itertools

import torch
import torch.nn.functional as F
from torch import nn

import trace_nets_blind16 as nets
from trace_cases import (GPU, Prefetched, channels_last, copied, graph_if, huggingface_loss, inference, loaded,
                         resident, tf32, tokens, training)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause

WORKERS = 12
FOUND, case = annotated_case_list()


def language_model(family, **more):
    """Of this family of transformers, to be trained."""
    import transformers as hf
    config = getattr(hf, family + "Config")(vocab_size=16384, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                            use_cache=False, **({"attn_implementation": "sdpa"} | more))
    return transformers_network(family + "ForCausalLM", config)


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("episodes_unzipped_by_three_workers", "decision_transformer", "data_loading", "num_workers 3 -> 12", 48,
      loader=True)
def _(kind):
    """Learns to play from games that others played."""
    batches, close = loaded(nets.Episodes(), 48, 3 if kind == "broken" else WORKERS)
    with torch.device(GPU):
        model = nets.DecisionNet()

    def loss_of(m, frames, won, moves):
        return F.cross_entropy(m(frames, won, moves).flatten(0, 1).float(), moves.flatten())
    return training(model, loss_of, batches), close


@case("loads_described_by_pandas_for_each_window", "load_lstm", "data_loading",
      "all sites described once, windows cut from one tensor", 48, loader=True)
def _(kind):
    data = nets.Loads()
    batches, close = loaded(data, 48, 8) if kind == "broken" else (None, lambda: None)
    if kind == "fixed":
        described, load = (table.to(GPU) for table in data.tables())
        week, day = torch.arange(168, device=GPU), torch.arange(168, 192, device=GPU)

        def batches():
            site, begin = (torch.randint(0, most, (48, 1), device=GPU) for most in (len(load), data.hours - 192))
            return described[site, begin + week], load[site, begin + day]
    with torch.device(GPU):
        model = nets.LoadLstm()
    return training(model, lambda m, x, y: F.l1_loss(m(x).float(), y), batches), close


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("adapters_brought_from_host_for_each_batch", "adapted_lm", "host_transfer",
      "adapters of all customers stay on the GPU", 4)
def _(kind):
    """Four texts of four customers, of whom each has fine-tuned the model in his own way."""
    with torch.device(GPU):
        model = nets.AdaptedLm().bfloat16().eval()
        ids = torch.randint(0, 16000, (4, 1024))
    customers = [model.adapters("cpu" if kind == "broken" else GPU) for _ in range(8)]
    turn = itertools.count()

    def run():
        at = next(turn)
        asking = [customers[(at + 2 * number) % 8] for number in range(4)]
        return model(ids, {place: tuple(torch.stack([adapters[place][part].to(GPU) for adapters in asking])
                                        for part in range(2)) for place in model.sizes})
    return inference(run)


@case("flows_sent_as_float64", "fourier_operator", "host_transfer", "pinned float32, copied on a second stream", 24)
def _(kind):
    """A simulation writes what it computes with 64 bits; the network has 32."""
    with torch.device(GPU):
        model = nn.Sequential(nn.Conv2d(10, 48, 1), *(nets.FourierLayer(48, 24) for _ in range(4)),
                              nn.Conv2d(48, 10, 1))
    flows = [torch.randn(24, 10, 256, 256) for _ in range(2)]
    batches = Prefetched(*flows) if kind == "fixed" else copied(*(flow.double() for flow in flows), pinned=False,
                                                                blocking=True)
    return training(model, lambda m, x, y: F.mse_loss(m(x.float()), y.float()), batches, mixed=False,
                    before=tf32(True))


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("reciprocal_ranks_question_by_question", "passage_finder", "cpu_gpu_sync", "ranks of all answers counted at once",
      96)
def _(kind):
    """How well 96 questions find their answers among 768 passages."""
    mean_reciprocal_rank = nets.mean_reciprocal_rank_in_turn if kind == "broken" else nets.mean_reciprocal_rank_at_once
    with torch.device(GPU):
        model = nets.Words(768, 6, 12, 128).bfloat16().eval()
        questions, passages = torch.randint(0, 16000, (96, 24)), torch.randint(0, 16000, (768, 128))
        right = torch.randperm(768)[:96]

    def run():
        found, among = (F.normalize(model(ids).mean(1).float(), dim=1) for ids in (questions, passages))
        return mean_reciprocal_rank(found @ among.T, right)
    return inference(run)


@case("answers_compared_pair_by_pair", "reward_model", "cpu_gpu_sync", "all pairs compared at once by masks", 24,
      accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """A model of what people prefer; 96 words of a question, then one of two answers."""
    preferred = nets.preferred_in_turn if kind == "broken" else nets.preferred_at_once
    with torch.device(GPU):
        model = nets.Words(1024, 10, 16, 320, causal=True, outputs=1)
        ids, lengths = torch.randint(1, 16000, (2, 24, 320)), torch.randint(200, 321, (2, 24, 1))
        ids[1, :, :96] = ids[0, :, :96]
        ids = ids.masked_fill(torch.arange(320) >= lengths, 0).flatten(0, 1)
    return training(model, lambda m, ids: preferred(m(ids)[..., 0], ids), resident(ids))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("world_model_learns_eagerly", "world_model", "launch_overhead", "CUDA graph of the whole step", 64)
def _(kind):
    """24 moves of 64 games."""
    with torch.device(GPU):
        model, seen, moves = nets.WorldModel(), torch.randn(64, 24, 1024), torch.randn(64, 24, 6)
    return graph_if(kind == "fixed", model, nets.world_loss, resident(seen, moves))


@case("tabnet_normalises_part_by_part", "tabnet", "launch_overhead", "one norm over all virtual batches at once", 4096)
def _(kind):
    with torch.device(GPU):
        model = nets.TabNet(nets.NormInTurn if kind == "broken" else nets.NormAtOnce)
    data = torch.randn(4096, 200), torch.randint(0, 7, (4096,))
    return training(model, lambda m, x, y: F.cross_entropy(m(x), y), resident(*data), mixed=False, before=tf32(True))


# --- precision -------------------------------------------------------------------------------------------------------

@case("olmo2_adapters_beside_fp32_weights", "olmo2", "precision", "the frozen weights in bf16", 8)
def _(kind):
    """Loaded as its files are by default; TF32 is allowed."""
    model = language_model("Olmo2", hidden_size=2048, intermediate_size=8192, num_hidden_layers=4,
                           num_attention_heads=16, max_position_embeddings=1024)
    model, trained = nets.with_adapters(model, ("q_proj", "k_proj", "v_proj", "o_proj"))
    model.to(GPU, torch.float32 if kind == "broken" else torch.bfloat16)
    return training(model, huggingface_loss, resident(*tokens(8, 1024)), torch.optim.AdamW(trained, 1e-4, fused=True),
                    mixed=False, before=tf32(True))


@case("passages_searched_in_fp32", "passage_search", "precision", "passages and questions in bf16", 768)
def _(kind):
    """The nearest hundred of 400,000."""
    dtype = torch.float32 if kind == "broken" else torch.bfloat16
    with torch.device(GPU):
        passages = F.normalize(torch.randn(400_000, 1024), dim=1).to(dtype)
        questions = F.normalize(torch.randn(768, 1024), dim=1).to(dtype)
    return inference(lambda: (questions @ passages.T).topk(100, dim=1), tf32(False))


# --- attention -------------------------------------------------------------------------------------------------------

@case("qwen3_fine_tuned_with_eager_attention", "qwen3", "attention", 'attn_implementation "eager" -> "sdpa"', 6)
def _(kind):
    model = language_model("Qwen3", hidden_size=1024, intermediate_size=3072, num_hidden_layers=4,
                           num_attention_heads=16, num_key_value_heads=8, head_dim=128, max_position_embeddings=2048,
                           attn_implementation="eager" if kind == "broken" else "sdpa")
    return training(model, huggingface_loss, resident(*tokens(6, 2048)))


@case("rows_of_tables_attend_by_matmul", "table_reader", "attention", "scaled_dot_product_attention", 8)
def _(kind):
    """3072 rows with answers, 1024 without."""
    with torch.device(GPU):
        model = nets.TableReader(nets.written_out if kind == "broken" else F.scaled_dot_product_attention)
        rows, answers = torch.randn(8, 4096, 100).bfloat16(), torch.randint(0, 10, (8, 3072))
    model = model.bfloat16().eval()
    return inference(lambda: model(rows, answers).float().softmax(-1))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("policy_entropy_of_all_words_unfused", "chat_policy", "memory_bandwidth",
      "torch.compile fuses the terms of the loss", 8)
def _(kind):
    """Group-relative policy optimization, with a bonus for open choices."""
    terms = torch.compile(nets.of_the_policy, dynamic=False) if kind == "fixed" else nets.of_the_policy
    with torch.device(GPU):
        model = nets.Words(1024, 4, 16, 1024, causal=True, vocab=50304, outputs=50304)
        ids, old, good = torch.randint(0, 50304, (8, 1024)), torch.randn(8, 1024) - 11, torch.randn(8, 1)

    def loss_of(m, ids, old, good):
        chosen, entropy = terms(m(ids), ids)
        ratio = (chosen - old).clamp(max=4).exp()
        gained = torch.minimum(ratio * good, ratio.clamp(0.8, 1.2) * good)
        return -gained.mean() - 0.01 * entropy.mean()
    return training(model, loss_of, resident(ids, old, good))


@case("sound_units_scored_along_the_second_axis", "sound_units", "memory_bandwidth",
      "scores flattened to rows, not transposed, for the loss", 32)
def _(kind):
    """A language model of 4096 units of sound; F.cross_entropy wants kinds in the second axis."""
    with torch.device(GPU):
        model = nets.Words(512, 5, 8, 1024, causal=True, vocab=4096, outputs=4096)
        units, following = torch.randint(0, 4096, (2, 32, 1024))

    def loss_of(m, units, following):
        scores = m(units).float()
        if kind == "broken":
            return F.cross_entropy(scores.transpose(1, 2), following)
        return F.cross_entropy(scores.flatten(0, 1), following.flatten())
    return training(model, loss_of, resident(units, following))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("branchformer_adadelta_per_parameter", "branchformer", "optimizer", "Adadelta(foreach=True)", 16)
def _(kind):
    with torch.device(GPU):
        model = nn.Sequential(nn.Linear(320, 512), *(nets.BranchLayer(512, 8, 1024) for _ in range(12)),
                              nn.Linear(512, 500))
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.1, rho=0.95, eps=1e-8, foreach=kind == "fixed")
    data = torch.randn(16, 400, 320), torch.randint(0, 500, (16, 400))
    return training(model, lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1).float(), y.flatten()), resident(*data),
                    optimizer)


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("phi3_empties_cache_after_each_step", "phi3", "memory_allocation", "no empty_cache() in the loop", 8)
def _(kind):
    """As a trainer does with torch_empty_cache_steps=1."""
    model = language_model("Phi3", hidden_size=2048, intermediate_size=8192, num_hidden_layers=6,
                           num_attention_heads=16, num_key_value_heads=16, max_position_embeddings=768,
                           original_max_position_embeddings=768, resid_pdrop=0.0, embd_pdrop=0.0,
                           attention_dropout=0.0, sliding_window=None).bfloat16()

    def tail(model, loss):
        if kind == "broken":
            torch.cuda.empty_cache()
    return training(model, huggingface_loss, resident(*tokens(8, 768)), mixed=False, tail=tail)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("sound_tagger_train_batch6", "sound_tagger", "gpu_underused", "batch 6 -> 64", 6, fixed_batch=64)
def _(kind):
    """Five seconds of sound each."""
    batch = 6 if kind == "broken" else 64
    with torch.device(GPU):
        model = nets.SoundTagger().to(memory_format=torch.channels_last)
        x, y = channels_last(torch.randn(batch, 1, 500, 64)), (torch.rand(batch, 527) < 0.005).float()
    return training(model, lambda m, x, y: F.binary_cross_entropy_with_logits(m(x).float(), y), resident(x, y))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("speech_encoder_2048_wide_trained_healthy", "whisper_2048", "none", "", 12)
def _(kind):
    """Learns which of 1024 codes stands for each frame."""
    import transformers as hf
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    config = hf.WhisperConfig(d_model=2048, encoder_layers=4, encoder_attention_heads=16, encoder_ffn_dim=8192,
                              num_mel_bins=128, max_source_positions=1500, attn_implementation="sdpa")
    with torch.device(GPU):
        model = nn.ModuleDict({"encoder": WhisperEncoder(config), "head": nn.Linear(2048, 1024)}).bfloat16().train()
    batches = Prefetched(torch.randn(12, 128, 3000).bfloat16(), torch.randint(0, 1024, (12, 1500)))

    def loss_of(m, mel, codes):
        told = m["head"](m["encoder"](mel).last_hidden_state)
        return F.cross_entropy(told.flatten(0, 1).float(), codes.flatten())
    return training(model, loss_of, batches, mixed=False)


@case("qwen2_32b_width_embeds_documents_healthy", "qwen2_32b", "none", "", 8)
def _(kind):
    import transformers as hf
    config = hf.Qwen2Config(vocab_size=16384, hidden_size=5120, intermediate_size=27648, num_hidden_layers=3,
                            num_attention_heads=40, num_key_value_heads=8, max_position_embeddings=1024,
                            use_cache=False, attn_implementation="sdpa")
    model = transformers_network("Qwen2Model", config, train=False).bfloat16()
    batches = Prefetched(*tokens(8, 1024))
    return inference(lambda: F.normalize(model(input_ids=batches()[0]).last_hidden_state[:, -1].float(), dim=1))


CASES = mixed_by_cause(FOUND)
