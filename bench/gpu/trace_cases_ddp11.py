"""A further set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp11: data-parallel, sharded and
split models, each with one plain flaw and its usual remedy; some flaws have nothing to do with there being two GPUs.
Written by somebody who did not know the analysis. Needs timm and transformers besides."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
import trace_nets_ddp11 as nets
from trace_cases import (GPU, Prefetched, adamw, amp, channels_last, classify, copied, huggingface_loss, images,
                         inference, loaded, next_token, nhwc, resident, tokens, training, vision)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_nets_blind9 import picture_network

FOUND, case = annotated_case_list()


def sharded(model, blocks):
    """FSDP2, a unit a block; products in bf16, gradients summed in fp32."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_mixer_l16_buckets_of_100_kb", "mixer_l16", "multi_gpu_comm", "bucket_cap_mb 0.1 -> 25", 32,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    model = parallel(picture_network("mixer_l16_224", False), bucket_cap_mb=0.1 if kind == "broken" else 25,
                     gradient_as_bucket_view=True)
    return training(model, classify, resident(*images(16)))


@case("helium_weights_averaged_after_each_step", "helium", "multi_gpu_comm",
      "DistributedDataParallel averages gradients during backward", 8)
def _(kind):
    """No wrapper: a loop over the weights after the step makes the copies equal again."""
    import transformers as hf
    config = hf.HeliumConfig(vocab_size=16384, hidden_size=3072, intermediate_size=8192, num_hidden_layers=5,
                             num_attention_heads=24, num_key_value_heads=24, head_dim=128, max_position_embeddings=1024,
                             attention_dropout=0.0, use_cache=False, attn_implementation="sdpa")
    model, data = transformers_network("HeliumForCausalLM", config), resident(*tokens(4, 512))
    if kind == "fixed":
        return training(parallel(model, gradient_as_bucket_view=True), huggingface_loss, data)

    def average(*_):
        for weight in model.parameters():
            dist.all_reduce(weight.detach(), op=dist.ReduceOp.AVG)
    return training(model, huggingface_loss, data, tail=average)


@case("ddp_glm_reduces_in_every_micro_batch", "glm", "multi_gpu_comm", "no_sync() but for the last micro-batch", 8)
def _(kind):
    """Four micro-batches of one text on each rank; two layers as wide as those of the 9-billion model."""
    import transformers as hf
    config = hf.GlmConfig(vocab_size=16384, hidden_size=4096, intermediate_size=13696, num_hidden_layers=2,
                          num_attention_heads=32, num_key_value_heads=2, head_dim=128, max_position_embeddings=1024,
                          attention_dropout=0.0, pad_token_id=0, use_cache=False, attn_implementation="sdpa")
    model = parallel(transformers_network("GlmForCausalLM", config), gradient_as_bucket_view=True)
    optimizer, (texts,) = adamw(model), resident(*tokens(4, 512))()

    def step():
        optimizer.zero_grad(set_to_none=True)
        for index, text in enumerate(texts.split(1)):
            quiet = kind == "fixed" and index < 3
            with model.no_sync() if quiet else contextlib.nullcontext():
                with amp():
                    loss = huggingface_loss(model, text) / 4
                loss.backward()
        optimizer.step()
    return step


@case("ddp_faces_meters_synchronised_one_by_one", "faces", "multi_gpu_comm",
      "all meters in one tensor, one all-reduce", 96, accept=["multi_gpu_comm", "cpu_gpu_sync"])
def _(kind):
    """How often each of 40 attributes of a face was told right, over both ranks, as the step's log has it."""
    network = vision("regnet_x_8gf")
    network.fc = nn.Linear(network.fc.in_features, 40).to(GPU)
    model, kept, log = parallel(network, gradient_as_bucket_view=True), {}, {}
    x, y = torch.randn(48, 3, 224, 224), torch.randint(0, 2, (48, 40)).float()

    def loss_of(m, x, y):
        scores = m(x).float()
        kept["hits"] = ((scores.detach() > 0) == (y > 0)).sum(0)
        return F.binary_cross_entropy_with_logits(scores, y)

    def synchronise(*_):
        meters = [[float(hits), 48.0] for hits in kept["hits"].tolist()]
        if kind == "fixed":
            total = torch.tensor(meters, dtype=torch.float64, device=GPU)
            dist.all_reduce(total)
            log.update(enumerate(total.tolist()))
            return
        for index, meter in enumerate(meters):
            total = torch.tensor(meter, dtype=torch.float64, device=GPU)
            dist.barrier()
            dist.all_reduce(total)
            log[index] = total.tolist()
    return training(model, loss_of, resident(channels_last(x), y), tail=synchronise)


@case("tp_reader_partial_sums_in_fp32", "reader", "multi_gpu_comm", "partial sums all-reduced in bf16", 8,
      accept=["multi_gpu_comm", "precision"])
def _(kind):
    """Tensor parallel: half of the heads and hidden units of each layer are on each rank."""
    with torch.device(GPU):
        layers = [nets.ReaderLayer(1536, 12, dist.get_world_size(), kind == "broken").bfloat16() for _ in range(8)]
        text = torch.randn(8, 2048, 1536, dtype=torch.bfloat16)

    def run():
        x = text
        for layer in layers:
            x = layer(x)
    return inference(run)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("fsdp_deit3_large_uneven_batches", "deit3_large", "load_imbalance", "40 pictures on both ranks", 80)
def _(kind):
    """Rank 0 takes 60 pictures, rank 1 what is left of the 80."""
    model = picture_network("deit3_large_patch16_224", False)
    batch = 40 if kind == "fixed" else (60, 20)[dist.get_rank()]
    return training(sharded(model, model.blocks), classify, resident(*images(batch)), mixed=False)


@case("ddp_recogniser_long_recordings_on_rank1", "recogniser", "load_imbalance",
      "recordings of like length on both ranks", 48)
def _(kind):
    """The list is sorted by length, and each rank took one half of it: 10 seconds here, 30 there."""
    with torch.device(GPU):
        model = nets.Recogniser()
    frames = 2000 if kind == "fixed" else (1000, 3000)[dist.get_rank()]
    return training(parallel(model, gradient_as_bucket_view=True), nets.sounds_loss,
                    resident(*nets.recordings(24, frames)))


@case("ddp_stories_rank0_writes_a_few_words", "stories", "load_imbalance", "a text for the log every 1000 steps", 16,
      accept=["load_imbalance", "cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """After each step rank 0 goes on with four texts by ten words, to be looked at; rank 1 waits."""
    with torch.device(GPU):
        network = own.Decoder(dim=1536, layers=8, heads=12, length=512)
    model, log = parallel(network, gradient_as_bucket_view=True), []
    (prompts,) = resident(*tokens(4, 64))()

    @torch.no_grad()
    def write(*_):
        if kind == "fixed" or dist.get_rank() != 0:
            return
        ids = prompts
        with amp():
            for _ in range(10):
                ids = torch.cat([ids, network(ids)[:, -1:].argmax(-1)], dim=1)
        log[:] = ids.tolist()
    return training(model, next_token, resident(*tokens(8, 512)), tail=write)


@case("ddp_baskets_rank1_pads_lists", "baskets", "load_imbalance", "the packed file on both ranks", 192,
      accept=["load_imbalance", "data_loading"])
def _(kind):
    """The packed file was left out on the second machine, where lists are made equally long at every step."""
    with torch.device(GPU):
        model = nets.Baskets()
    return training(parallel(model, gradient_as_bucket_view=True), lambda m, events: m(events),
                    nets.Histories(96, 200, packed=kind == "fixed" or dist.get_rank() == 0))


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_caformer_terrain_unpacked_by_two_workers", "caformer", "data_loading", "num_workers 2 -> 12 on both ranks",
      96, loader=True)
def _(kind):
    batches, close = loaded(nets.Terrain(), 48, 2 if kind == "broken" else 12)
    model = picture_network("caformer_s18", in_chans=4, num_classes=30)
    return training(parallel(model, gradient_as_bucket_view=True), classify, nhwc(batches)), close


@case("ddp_camembert_words_masked_in_python", "camembert", "data_loading", "words masked on the GPU, all at once", 192)
def _(kind):
    import transformers as hf
    config = hf.CamembertConfig(vocab_size=8192, hidden_size=512, num_hidden_layers=4, num_attention_heads=8,
                                intermediate_size=2048, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                max_position_embeddings=514, type_vocab_size=1, attn_implementation="sdpa")
    model = parallel(transformers_network("CamembertForMaskedLM", config), gradient_as_bucket_view=True)
    return training(model, lambda m, ids, labels: m(input_ids=ids, labels=labels).loss,
                    nets.WholeWords(96, 256, on_gpu=kind == "fixed"))


@case("ddp_finder_hard_boxes_picture_by_picture", "finder", "cpu_gpu_sync", "hard boxes of all pictures by their rank",
      96)
def _(kind):
    backbone = picture_network("resnetaa50", num_classes=0, global_pool="")
    network = nets.Finder(backbone, backbone.num_features).to(GPU).to(memory_format=torch.channels_last)
    x, _ = images(48, 256)
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, x, wanted: nets.hard_loss(m(x), wanted, kind == "fixed"),
                    resident(channels_last(x), nets.boxes_of(48, 64)))


@case("ddp_fields_200_bands_from_pageable_memory", "fields", "host_transfer",
      "pinned, copied on a second stream during the step before", 64)
def _(kind):
    """Pictures of fields in 200 colours."""
    model = picture_network("convnextv2_nano", in_chans=200, num_classes=16)
    x, y = channels_last(torch.randn(32, 200, 96, 96)), torch.randint(0, 16, (32,))
    batches = copied(x, y, pinned=False, blocking=True) if kind == "broken" else Prefetched(x, y)
    return training(parallel(model, gradient_as_bucket_view=True), classify, batches)


@case("ddp_resmlp_trains_in_fp32", "resmlp", "precision", "bf16 autocast", 96)
def _(kind):
    model = parallel(picture_network("resmlp_24_224", False), gradient_as_bucket_view=True)
    return training(model, classify, resident(*images(48)), mixed=kind == "fixed")


@case("fsdp_lyrics_adamw_per_parameter", "lyrics", "optimizer", "AdamW(fused=True)", 16)
def _(kind):
    """Each shard is updated in a loop of its own operations."""
    with torch.device(GPU):
        model = own.Decoder(dim=1536, layers=8, heads=12, length=512, llama=True, hidden=4096)
    sharded(model, model.blocks)
    optimizer = adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model)
    return training(model, next_token, resident(*tokens(8, 512)), optimizer, mixed=False)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_so400m_healthy", "so400m", "none", "", 64)
def _(kind):
    model = picture_network("vit_so400m_patch14_siglip_224", False, num_classes=1000).bfloat16()
    x, y = images(32)
    return training(parallel(model, gradient_as_bucket_view=True), classify, resident(x.bfloat16(), y), mixed=False)


@case("fsdp_llama7b_layers_healthy", "llama7b", "none", "", 20)
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(dim=4096, layers=3, heads=32, length=512, llama=True, hidden=11008)
    return training(sharded(model, model.blocks), next_token, resident(*tokens(10, 512)), mixed=False)


@case("ddp_recogniser_wide_healthy", "recogniser2048", "none", "", 40)
def _(kind):
    with torch.device(GPU):
        model = nets.Recogniser(dim=2048, layers=6).bfloat16()
    frames, sounds = nets.recordings(20, 2000)
    return training(parallel(model, gradient_as_bucket_view=True), nets.sounds_loss,
                    resident(frames.bfloat16(), sounds), mixed=False)


CASES = mixed_by_cause(FOUND)
