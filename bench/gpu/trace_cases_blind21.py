"""A further set of cases for record_traces.py --cases trace_cases_blind21: pets, traffic, scans, chats, organs,
heights, few examples, molecules, electricity, histories, sounds, brains, speech, papers and music, each with one
plain flaw and its usual remedy; written by somebody who did not know the analysis. Networks are those of torchvision,
transformers, trace_nets_blind21 and 21b. Needs Pillow besides."""
import torch
import torch.nn.functional as F
from torch import nn

import trace_nets_blind21 as nets
import trace_nets_blind21b as more
from trace_cases import (GPU, Prefetched, adamw, captured, channels_last, classify, copied, images, inference, loaded,
                         nhwc, resident, tf32, tokens, training, vision)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import Lm, mixed_by_cause
from trace_nets_blind17b import Patches, Tokens
from trace_nets_blind18 import Hourglass

WORKERS = 12
FOUND, case = annotated_case_list()


def on_gpu(kind, *arguments, **named):
    with torch.device(GPU):
        return kind(*arguments, **named)


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("pets_augmented_by_two_workers", "mnasnet", "data_loading", "num_workers 2 -> 12", 32, loader=True)
def _(kind):
    batches, close = loaded(nets.Pets(), 32, 2 if kind == "broken" else WORKERS)
    return training(vision("mnasnet1_3"), classify, nhwc(batches)), close


@case("traffic_windows_cut_in_the_loop", "inverted_transformer", "data_loading", "windows cut and scaled on the GPU",
      128)
def _(kind):
    """Liu et al.: each of 128 places is a token."""
    traffic = nets.Traffic()
    batches = traffic.in_numpy(128) if kind == "broken" else traffic.on_gpu(128)
    model = on_gpu(lambda: Tokens(nn.Linear(168, 512), 512, 8, 6, 24))
    return training(model, lambda m, past, ahead: F.mse_loss(m(past).float(), ahead), batches)


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("lung_scans_pageable", "scan_vit", "host_transfer", "pinned, copied on a second stream", 16)
def _(kind):
    data = torch.rand(16, 128, 160, 160), torch.randint(0, 8, (16,))
    batches = Prefetched(*data) if kind == "fixed" else copied(*data, pinned=False, blocking=True)
    model = on_gpu(lambda: Tokens(nets.Cubes(768), 768, 12, 12, 8))
    return training(model, lambda m, x, y: F.cross_entropy(m(x).mean(1).float(), y), batches)


@case("last_layers_offloaded_to_host", "offloaded_lm", "host_transfer", "all layers on the GPU: there is room", 12)
def _(kind):
    """As a device map gives it that was made for a smaller GPU."""
    model = on_gpu(Lm, 16000, 1536, 12, 12, 512).bfloat16().eval()
    if kind == "broken":
        with torch.no_grad():
            for at in (10, 11):
                model.layers[at] = nets.Offloaded(model.layers[at])
    (ids,) = resident(*tokens(12, 512))()
    return inference(lambda: model.head(model.hidden(ids)[:, -1]).argmax(-1))


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("overlap_of_each_organ_read", "organ_unet", "cpu_gpu_sync", "overlaps of all scans kept on the GPU", 40)
def _(kind):
    """Four scans of ten slices each are validated."""
    overlaps = nets.overlaps_in_turn if kind == "broken" else nets.overlaps_at_once
    with torch.device(GPU):
        model = Hourglass(1, 14).to(memory_format=torch.channels_last).bfloat16().eval()
        slices, right = torch.randn(40, 1, 256, 256).bfloat16(), torch.randint(0, 14, (4, 10, 256, 256))
    slices = channels_last(slices)
    return inference(lambda: overlaps(model(slices).argmax(1).unflatten(0, (4, 10)), right))


@case("heights_solved_with_lengths_read", "height_process", "cpu_gpu_sync", "lengths of the steps stay on the GPU",
      12288)
def _(kind):
    """A Gaussian process by conjugate gradients, 32 steps."""
    solved = nets.solved_in_turn if kind == "broken" else nets.solved_on_gpu
    with torch.device(GPU):
        kernel, heights = nets.kernel_of(torch.randn(12288, 2)), torch.randn(12288)
    return inference(lambda: solved(kernel, heights), tf32(False))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("llama_answers_four_chats_eagerly", "chat_llama", "launch_overhead", "CUDA graph", 4,
      accept=["launch_overhead", "gpu_underused"])  # four chats are little, too
def _(kind):
    """Four words for each of four chats; keys and values have their place already."""
    with torch.device(GPU):
        model, ids = nets.ChatModel(4, 640).bfloat16().eval(), torch.randint(0, 32000, (4, 1))
    step = inference(lambda: model.answered(ids, 632, 4))
    return captured(step) if kind == "fixed" else step


@case("few_shot_tasks_learnt_in_turn", "few_shots", "launch_overhead", "all tasks at once by torch.func.vmap", 8)
def _(kind):
    """Five kinds, five known examples and fifteen to be named of each."""
    loss_of = nets.tasks_in_turn if kind == "broken" else nets.tasks_at_once
    data = (torch.randn(8, 25, 512), torch.randint(0, 5, (8, 25)), torch.randn(8, 75, 512),
            torch.randint(0, 5, (8, 75)))
    return training(on_gpu(nets.FewShots), loss_of, resident(*data), mixed=False, before=tf32(True))


# --- precision -------------------------------------------------------------------------------------------------------

@case("reward_model_loaded_in_float32", "reward_llama", "precision", "weights in bfloat16", 16)
def _(kind):
    """As it is loaded when no dtype is given; TF32 is allowed."""
    import transformers as hf
    config = hf.LlamaConfig(vocab_size=16384, hidden_size=1536, intermediate_size=4096, num_hidden_layers=12,
                            num_attention_heads=12, num_key_value_heads=12, max_position_embeddings=512,
                            use_cache=False, attn_implementation="sdpa")
    model, mark = transformers_network("LlamaModel", config, train=False), on_gpu(nn.Linear, 1536, 1)
    if kind == "fixed":
        model, mark = model.bfloat16(), mark.bfloat16()
    (ids,) = resident(*tokens(16, 512))()
    return inference(lambda: mark(model(input_ids=ids).last_hidden_state[:, -1]).float(), tf32(True))


@case("molecules_by_paths_in_float32", "path_transformer", "precision", "bf16 autocast", 48)
def _(kind):
    data = (torch.randint(0, 128, (48, 128)), torch.randint(0, 16, (48, 128)), torch.randint(0, 32, (48, 128, 128)),
            torch.randn(48))
    return training(on_gpu(nets.MoleculeReader), lambda m, *x: F.l1_loss(m(*x[:-1]).float(), x[-1]), resident(*data),
                    mixed=kind == "fixed", before=tf32(False))


# --- attention -------------------------------------------------------------------------------------------------------

@case("electricity_of_a_month_by_einsum", "electricity", "attention", "scaled_dot_product_attention", 4)
def _(kind):
    """2880 quarters of an hour."""
    model = on_gpu(more.Electricity, more.by_einsum if kind == "broken" else more.by_fused)
    x, y = torch.randn(2, 4, 2880, 320).unbind()
    return training(model, lambda m, x, y: F.mse_loss(m(x).float(), y), resident(x, y))


@case("long_histories_scored_with_a_triangle", "histories", "attention",
      "scaled_dot_product_attention(is_causal=True)", 12)
def _(kind):
    with torch.device(GPU):
        model = more.Histories(more.Causal(2048) if kind == "broken" else more.causal, 2048).bfloat16().eval()
        seen = torch.randint(0, 60000, (12, 2048))
    return inference(lambda: model(seen).float().topk(50, dim=-1))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("instruments_made_of_sines_unfused", "instrument", "memory_bandwidth", "torch.compile fuses the sum of sines", 48)
def _(kind):
    """Four seconds of sound each."""
    played = torch.compile(more.played, dynamic=False) if kind == "fixed" else more.played

    def loss_of(m, heard, pitch, wave):
        return more.spectra_apart(played(m(heard).float(), pitch), wave)
    pitch = 100 + 500 * torch.rand(48, 250, 1).expand(48, 250, 256)
    return training(on_gpu(more.Instrument), loss_of,
                    resident(torch.randn(48, 251, 66), pitch.contiguous(), torch.randn(48, 64000)))


@case("brains_whole_link_matrices_scaled", "brain_graphs", "memory_bandwidth",
      "the numbers of places scaled, not the matrices", 192)
def _(kind):
    """Learns from dense graphs of 1024 places."""
    model = on_gpu(more.Brains, more.whole_matrix_scaled if kind == "broken" else more.numbers_scaled)
    with torch.device(GPU):
        data = torch.rand(192, 1024, 1024), torch.randn(192, 1024, 32), torch.randint(0, 2, (192,))
    return training(model, lambda m, links, x, y: F.cross_entropy(m(links, x), y), resident(*data), mixed=False,
                    before=tf32(True))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("speech_units_adamw_per_parameter", "speech_units", "optimizer", "AdamW(fused=True)", 16)
def _(kind):
    model = on_gpu(more.Listener)
    optimizer = adamw(model, fused=True) if kind == "fixed" else adamw(model, foreach=False)
    return training(model, lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1).float(), y.flatten()),
                    resident(torch.randn(16, 250, 512), torch.randint(0, 500, (16, 250))), optimizer)


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("papers_empty_cache_between_layers", "paper_sage", "memory_allocation", "no empty_cache() between the layers",
      150000)
def _(kind):
    """All papers are sorted, layer by layer."""
    model, graph = on_gpu(more.Papers).eval(), more.graph_of_papers(150000, 800000, 256)
    between = torch.cuda.empty_cache if kind == "broken" else lambda: None
    return inference(lambda: model(*graph, between).argmax(-1), tf32(True))


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("melodies_learnt_16_at_a_time", "melody_lstm", "gpu_underused", "batch 16 -> 96", 16, fixed_batch=96)
def _(kind):
    """256 events of a piano each."""
    batch = 16 if kind == "broken" else 96
    data = torch.randint(0, 388, (batch, 256)), torch.randint(0, 388, (batch, 256))
    return training(on_gpu(more.Melodies).bfloat16(),
                    lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1).float(), y.flatten()), resident(*data),
                    mixed=False)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("latents_2816_wide_learnt_healthy", "latent_2816", "none", "", 8)
def _(kind):
    """1024 latents of a picture each; three layers."""
    model = on_gpu(more.LatentLayers, 64, 2816, 22, 3).bfloat16()
    batches = Prefetched(torch.randn(8, 1024, 64).bfloat16(), torch.randn(8, 256).bfloat16(),
                         torch.randn(8, 1024, 64).bfloat16())
    return training(model, lambda m, x, level, noise: F.mse_loss(m(x, level).float(), noise.float()), batches,
                    mixed=False)


@case("prompts_5120_wide_read_healthy", "prompt_5120", "none", "", 8)
def _(kind):
    """Four layers as wide as those of models with thirteen billion weights."""
    model = on_gpu(Lm, 16000, 5120, 4, 40, 1024).bfloat16().eval()
    batches = Prefetched(*tokens(8, 1024))
    return inference(lambda: model.head(model.hidden(*batches())[:, -1]).argmax(-1))


@case("tissue_2688_wide_learnt_healthy", "tissue_vit", "none", "", 8)
def _(kind):
    """Which of 16 kinds of cells is in each of 1024 parts of a picture?"""
    model = on_gpu(lambda: Tokens(Patches(2688, 14), 2688, 21, 4, 16)).bfloat16()
    batches = Prefetched(images(8, 448)[0].bfloat16(), torch.randint(0, 16, (8, 1024)))
    return training(model, lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1).float(), y.flatten()), batches,
                    mixed=False)


CASES = mixed_by_cause(FOUND)
