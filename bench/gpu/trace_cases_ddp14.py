"""A fourteenth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp14: texts, speech, shops and
other sequences, data-parallel and sharded, each with one plain flaw and its usual remedy; six flaws have nothing to do
with there being two GPUs. Written by somebody who did not know the analysis. Needs transformers besides."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
import trace_nets_ddp14 as nets
from trace_cases import (GPU, Prefetched, adamw, amp, classify, huggingface_loss, loaded, next_token, resident, tokens,
                         training)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import average_after_backward, parallel
from trace_cases_ddp11 import sharded

FOUND, case = annotated_case_list()


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("answers_gradients_averaged_as_in_the_tutorial", "answers", "multi_gpu_comm",
      "DistributedDataParallel: all-reduce in buckets during backward", 16)
def _(kind):
    """No wrapper: average_gradients(model) between backward and the optimizer's step."""
    with torch.device(GPU):
        model = nets.Answers(2560, 20, encoder=2, decoder=3)
    data = resident(*tokens(8, 256), *tokens(8, 257))
    if kind == "fixed":
        return training(parallel(model, gradient_as_bucket_view=True), nets.answer_loss, data)
    return training(model, nets.answer_loss, data, average_after_backward(model, dist.all_reduce))


@case("ddp_utterances_reduces_for_each_of_eight", "utterances", "multi_gpu_comm",
      "no_sync() but for the last utterance", 16)
def _(kind):
    """Long utterances, one at a time; the weights move after eight on each rank."""
    with torch.device(GPU):
        network = nets.Encoder(nn.Linear(160, 4096), 4096, 2, 32, 400, 512)
    model, (heard, said) = parallel(network, gradient_as_bucket_view=True), resident(*nets.utterances(8, 400))()
    optimizer = adamw(model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        for index, (x, y) in enumerate(zip(heard.split(1), said.split(1))):
            quiet = kind == "fixed" and index < 7
            with model.no_sync() if quiet else contextlib.nullcontext():
                with amp():
                    loss = nets.place_loss(model, x, y) / 8
                loss.backward()
        optimizer.step()
    return step


@case("shop_gradient_of_the_whole_table_reduced", "shop", "multi_gpu_comm",
      "the looked-up rows' numbers and gradients gathered", 32768)
def _(kind):
    """Vectors of six million things, of which a step looks 426 thousand up on each rank."""
    with torch.device(GPU):
        network = nets.Shop()
        ids, bought = torch.randint(0, 6_000_000, (16384, 26)), torch.randint(0, 2, (16384,)).float()
    model, table = parallel(network, gradient_as_bucket_view=True), nets.Table(6_000_000, 128, kind == "broken")
    optimizer = adamw(model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        rows = table.rows(ids)
        with amp():
            loss = F.binary_cross_entropy_with_logits(model(rows).float(), bought)
        loss.backward()
        table.move(ids, rows.grad)
        optimizer.step()
    return step


@case("ddp_essays_bf16_gradients_reduced_as_fp32", "essays", "multi_gpu_comm",
      "DistributedDataParallel's own all-reduce, in the gradients' bf16", 2, accept=["multi_gpu_comm", "precision"])
def _(kind):
    """A hook makes fp32 of each bucket for the sum over two ranks, and bf16 of the sum."""
    with torch.device(GPU):
        network = own.Decoder(dim=4096, layers=4, heads=32, length=512)
    model = parallel(network.bfloat16(), gradient_as_bucket_view=True)

    def summed_in_fp32(_, bucket):
        gradients = bucket.buffer()
        future = dist.all_reduce(gradients.float().div_(dist.get_world_size()), async_op=True).get_future()
        return future.then(lambda done: gradients.copy_(done.value()[0]))
    if kind == "broken":
        model.register_comm_hook(None, summed_in_fp32)
    return training(model, next_token, resident(*tokens(1, 512)), mixed=False)


@case("ddp_visits_batch_sent_as_objects", "visits", "multi_gpu_comm",
      "rank 0 copies the batch to its GPU, dist.broadcast of the tensors", 768,
      accept=["multi_gpu_comm", "host_transfer", "cpu_gpu_sync"])
def _(kind):
    """Rank 0 reads the visits of both ranks and sends all; each keeps its half."""
    with torch.device(GPU):
        model = nets.Visits()
    rank, both = dist.get_rank(), (768, 200)
    read = (torch.randint(0, 20000, both), torch.randn(*both, 8), torch.randint(0, 20000, both[:1]))
    if kind == "fixed":
        read = tuple(part.pin_memory() for part in read)

    def batches():
        if kind == "fixed":
            parts = [part.to(GPU, non_blocking=True) if rank == 0 else torch.empty_like(part, device=GPU)
                     for part in read]
            for part in parts:
                dist.broadcast(part, 0)
            return tuple(part.chunk(2)[rank] for part in parts)
        sent = [dict(zip(("pages", "numbers", "next"), read)) if rank == 0 else None]
        dist.broadcast_object_list(sent, 0)
        return tuple(part.chunk(2)[rank].to(GPU) for part in sent[0].values())

    def loss_of(m, pages, numbers, following):
        return F.cross_entropy(m(pages, numbers).float(), following)
    return training(parallel(model, gradient_as_bucket_view=True), loss_of, batches)


@case("fsdp_memoirs_gathered_anew_for_each_part", "memoirs", "multi_gpu_comm",
      "reshard_after_forward=False, resharded after the last of four backward passes", 8)
def _(kind):
    """Four texts in turn on each rank; gradients are scattered after the last, but weights are let go after each."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    with torch.device(GPU):
        model = own.Decoder(dim=6144, layers=2, heads=48, length=512)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy, reshard_after_forward=kind == "broken")
    fully_shard(model, mp_policy=policy)
    optimizer, (texts,) = adamw(model), resident(*tokens(4, 512))()

    def step():
        optimizer.zero_grad(set_to_none=True)
        for index, text in enumerate(texts.split(1)):
            model.set_requires_gradient_sync(index == 3)
            if kind == "fixed":
                model.set_reshard_after_backward(index == 3)
            (next_token(model, text) / 4).backward()
        optimizer.step()
    return step


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_offers_more_candidates_on_rank0", "offers", "load_imbalance", "four candidates a query on both ranks", 16)
def _(kind):
    """Rank 0's queries were answered with six offers each, rank 1's with two; each is read with its query."""
    with torch.device(GPU):
        model = nets.Mean(nn.Embedding(16384, 2048), 2048, 4, 16, 256, 1)
    count = 4 if kind == "fixed" else (6, 2)[dist.get_rank()]

    def loss_of(m, texts, clicked):
        return F.cross_entropy(m(texts).float().view(8, count), clicked)
    return training(parallel(model, gradient_as_bucket_view=True), loss_of,
                    resident(*tokens(8 * count, 256), torch.randint(0, count, (8,))))


@case("ddp_dictation_rank0_counts_word_errors", "dictation", "load_imbalance", "errors counted once in 500 steps", 32,
      accept=["load_imbalance", "cpu_gpu_sync"])
def _(kind):
    """At each step rank 0 compares what was heard in two utterances with what was said, for its log."""
    with torch.device(GPU):
        model = nets.Encoder(nn.Linear(160, 2048), 2048, 4, 16, 500, 512)
    kept, log, said = {}, {}, torch.randint(0, 512, (2, 40)).tolist()

    def loss_of(m, x, wanted):
        scores = m(x)
        kept["scores"] = scores[:2].detach()
        return F.cross_entropy(scores.flatten(0, 1).float(), wanted.flatten())

    def count(*_):
        if kind == "broken" and dist.get_rank() == 0:
            heard = kept["scores"].argmax(-1).tolist()
            log["errors"] = sum(nets.word_errors(nets.without_repeats(h), s) for h, s in zip(heard, said))
    return training(parallel(model, gradient_as_bucket_view=True), loss_of, resident(*nets.utterances(16, 500)),
                    tail=count)


@case("ddp_messages_two_workers_on_rank1", "messages", "load_imbalance", "ten loader workers on both ranks", 128,
      loader=True, accept=["load_imbalance", "data_loading"])
def _(kind):
    """The second machine was set up with two loader workers."""
    batches, close = loaded(nets.Messages(), 64, 2 if kind == "broken" and dist.get_rank() == 1 else 10)
    with torch.device(GPU):
        model = nets.Mean(nn.Embedding(8192, 1536), 1536, 5, 24, 192, 20)
    return training(parallel(model, gradient_as_bucket_view=True), classify, batches), close


@case("fsdp_chats_rank1_pads_to_the_limit", "chats", "load_imbalance", "padded to the longest of the batch on both", 20)
def _(kind):
    """Chats have up to 384 words; rank 1's collate function fills each up to the 768 that the model can take."""
    with torch.device(GPU):
        model = own.Decoder(dim=2560, layers=4, heads=20, length=768, llama=True, hidden=6912)
    chats = torch.randint(1, 16000, (10, 384))
    if kind == "broken" and dist.get_rank() == 1:
        chats = F.pad(chats, (0, 384))

    def loss_of(m, ids):
        return F.cross_entropy(m(ids)[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten(), ignore_index=0)
    return training(sharded(model, model.blocks), loss_of, resident(chats), mixed=False)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_gaps_torn_without_workers", "gaps", "data_loading", "num_workers 0 -> 12 on both ranks", 128, loader=True)
def _(kind):
    batches, close = loaded(nets.Gaps(), 64, 0 if kind == "broken" else 12)
    with torch.device(GPU):
        model = nets.Answers(1280, 20, encoder=3, decoder=3)
    return training(parallel(model, gradient_as_bucket_view=True), nets.answer_loss, batches), close


@case("ddp_playlists_scores_of_all_songs_to_host", "playlists", "host_transfer", "places counted on the GPU", 512,
      accept=["host_transfer", "cpu_gpu_sync"])
def _(kind):
    """Noted at each step: at which place among 60000 songs the one stood that was heard next."""
    with torch.device(GPU):
        model = nets.Last(nn.Embedding(60000, 1024), 1024, 4, 16, 100, 60000, causal=True)
    kept, log = {}, {}

    def loss_of(m, songs, following):
        scores = m(songs).float()
        kept["scores"], kept["next"] = scores.detach(), following
        return F.cross_entropy(scores, following)

    def place(*_):
        scores, following = kept.pop("scores"), kept.pop("next")
        if kind == "broken":
            scores, following = scores.cpu(), following.cpu()
        log["places"] = (scores > scores.gather(1, following[:, None])).sum(1)
    return training(parallel(model, gradient_as_bucket_view=True), loss_of,
                    resident(*tokens(256, 100, 60000), torch.randint(0, 60000, (256,))), tail=place)


@case("ddp_phrases_cut_out_one_by_one", "phrases", "cpu_gpu_sync", "means of all phrases by one product with a mask",
      96, accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        model = nets.Phrases(together=kind == "fixed")

    def loss_of(m, ids, first, last, kinds):
        return F.cross_entropy(m(ids, first, last).flatten(0, 1).float(), kinds.flatten())
    return training(parallel(model, gradient_as_bucket_view=True), loss_of, resident(*nets.phrases(48)))


@case("ddp_verses_down_projection_in_fp32", "verses", "precision", "the down projection under autocast too", 16)
def _(kind):
    """It was taken out of autocast in the days of fp16, when its sums ran over."""
    with torch.device(GPU):
        model = nets.Verses(careful=kind == "broken")
    return training(parallel(model, gradient_as_bucket_view=True), next_token, resident(*tokens(8, 512, 8192)))


@case("ddp_lectures_layers_ask_for_weights", "lectures", "attention", "nn.MultiheadAttention(need_weights=False)", 4,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    with torch.device(GPU):
        model = nets.Lectures(weights=kind == "broken")
    return training(parallel(model, gradient_as_bucket_view=True), nets.place_loss,
                    resident(*nets.utterances(2, 3000)))


@case("ddp_pages_adabelief_per_parameter", "pages", "optimizer", "the same AdaBelief with torch._foreach functions", 28,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(dim=1024, layers=10, heads=16, length=512)
    optimizer = nets.AdaBelief(model.parameters(), together=kind == "fixed")
    return training(parallel(model, gradient_as_bucket_view=True), next_token, resident(*tokens(14, 512)), optimizer)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_hearers_healthy", "hearers", "none", "", 24)
def _(kind):
    with torch.device(GPU):
        model = nets.Encoder(nn.Linear(160, 2048), 2048, 6, 16, 1000, 512).bfloat16()
    heard, said = nets.utterances(12, 1000)
    return training(parallel(model, gradient_as_bucket_view=True), nets.place_loss,
                    Prefetched(heard.bfloat16(), said), mixed=False)


@case("fsdp_persimmon_healthy", "persimmon", "none", "", 12)
def _(kind):
    import transformers as hf
    config = hf.PersimmonConfig(vocab_size=16384, hidden_size=4096, intermediate_size=16384, num_hidden_layers=2,
                                num_attention_heads=32, max_position_embeddings=1024, hidden_dropout=0.0,
                                attention_dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2, use_cache=False,
                                attn_implementation="sdpa")
    model = transformers_network("PersimmonForCausalLM", config)
    return training(sharded(model, model.model.layers), huggingface_loss, resident(*tokens(6, 1024)), mixed=False)


CASES = mixed_by_cause(FOUND)
