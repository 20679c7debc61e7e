"""A further set of cases for record_traces.py --cases trace_cases_blind20: robots, games, voices, songs, molecules,
papers, sleep, sales and texts, each with one plain flaw and its usual remedy; written by somebody who did not know the
analysis. Networks are those of trace_nets_blind20 and 20b. Needs Pillow and torchvision besides."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

import trace_nets_blind20 as nets
import trace_nets_blind20b as more
from trace_cases import (GPU, Prefetched, captured, channels_last, copied, graph_if, inference, loaded, resident, tf32,
                         tokens, training)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import Lm, mixed_by_cause
from trace_nets_blind17b import Tokens
from trace_nets_blind18 import twice

WORKERS = 12
FOUND, case = annotated_case_list()


def on_gpu(kind, *arguments, **named):
    with torch.device(GPU):
        return kind(*arguments, **named)


def laid_out(network):
    return network.to(memory_format=torch.channels_last)


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("robot_cameras_decoded_in_process", "arm_policy", "data_loading", "num_workers 0 -> 12", 32, loader=True)
def _(kind):
    """Learns from what a person made a robot do; num_workers as PyTorch has it."""
    batches, close = loaded(nets.Arms(), 32, 0 if kind == "broken" else WORKERS)
    model = laid_out(on_gpu(nets.ArmPolicy))
    return training(model, lambda m, pictures, joints, moves: F.l1_loss(m(pictures, joints).float(), moves),
                    batches), close


@case("cited_papers_sampled_in_python", "citer", "data_loading", "papers nearby drawn on the GPU", 320)
def _(kind):
    papers = nets.Papers()
    batches = papers.in_python(320) if kind == "broken" else papers.on_gpu(320)
    return training(on_gpu(nets.Citer), lambda m, x, first, second, y: F.cross_entropy(m(x, first, second), y),
                    batches, mixed=False, before=tf32(True))


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("rollout_frames_kept_on_host", "frame_actor", "host_transfer", "the buffer of what was seen is on the GPU", 256)
def _(kind):
    """The games themselves are simulated on the GPU."""
    model = on_gpu(nets.Frames)
    return training(model, nets.actor_loss, nets.Rollouts(model, "cpu" if kind == "broken" else GPU))


@case("sleep_currents_pageable", "sleep_net", "host_transfer", "pinned, copied on a second stream", 128)
def _(kind):
    data = torch.randn(128, 21, 6000), torch.randint(0, 5, (128,))
    batches = Prefetched(*data) if kind == "fixed" else copied(*data, pinned=False, blocking=True)
    return training(on_gpu(more.SleepNet), lambda m, x, y: F.cross_entropy(m(x).float(), y), batches)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("said_words_penalised_text_by_text", "penalised_lm", "cpu_gpu_sync", "all texts penalised by gather and scatter",
      48)
def _(kind):
    penalised = nets.penalised_in_turn if kind == "broken" else nets.penalised_at_once
    model = on_gpu(Lm, 16000, 1024, 12, 16, 160).bfloat16().eval()
    ids = torch.randint(0, 16000, (48, 160), device=GPU)

    def run():
        scores = penalised(model.head(model.hidden(ids)[:, -1]).float(), ids)
        return torch.multinomial((scores / 0.8).softmax(-1), 1)
    return inference(run)


@case("fallen_robots_restarted_one_by_one", "walker_policy", "cpu_gpu_sync", "torch.where over all robots", 96)
def _(kind):
    """One moment of 96 simulated robots that see where they walk."""
    robots = nets.Walkers()
    with torch.device(GPU):
        model = nn.Sequential(twice(4, 64, 2), twice(64, 128, 2), twice(128, 256, 2), twice(256, 512, 2),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 36))
        model, seen = laid_out(model.bfloat16().eval()), channels_last(torch.randn(96, 4, 192, 192).bfloat16())

    def run():
        robots.moved(model(seen).float())
        if kind == "broken":
            robots.restarted_in_turn()
        else:
            robots.restarted_at_once()
    return inference(run)


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("radar_tracks_filtered_moment_by_moment", "kalman_tracks", "launch_overhead", "CUDA graph", 8192)
def _(kind):
    with torch.device(GPU):
        seen, drift = torch.randn(40, 8192, 3), 0.01 * torch.eye(6)
        move = torch.eye(6) + torch.diag(torch.full((3,), 0.1), 3)
    step = inference(lambda: nets.followed_tracks(seen, move, drift, 0.5), tf32(False))
    return captured(step) if kind == "fixed" else step


@case("voices_learnt_from_16_clips", "voices", "launch_overhead", "CUDA graph of the whole step", 16,
      accept=["launch_overhead", "gpu_underused"])  # 16 clips of 2 seconds are little, too
def _(kind):
    return graph_if(kind == "fixed", on_gpu(nets.Voices), lambda m, x, y: F.cross_entropy(m(x), y),
                    resident(torch.randn(16, 80, 200), torch.randint(0, 1200, (16,))))


# --- precision -------------------------------------------------------------------------------------------------------

@case("song_codes_learnt_in_fp32", "song_lm", "precision", "bf16 autocast", 8)
def _(kind):
    return training(on_gpu(nets.Songs), nets.song_loss, resident(torch.randint(0, 2048, (8, 512, 4))),
                    mixed=kind == "fixed", before=tf32(False))


@case("sales_learnt_in_double_as_numpy_gave_them", "dense_series", "precision", "float32 with TF32", 6144)
def _(kind):
    """model.double(), as types did not match."""
    dtype = torch.float64 if kind == "broken" else torch.float32
    model = on_gpu(more.DenseSeries).to(dtype)
    return training(model, lambda m, past, ahead: F.mse_loss(m(past), ahead),
                    resident(torch.randn(6144, 720, dtype=dtype), torch.randn(6144, 96, dtype=dtype)), mixed=False,
                    before=tf32(True))


# --- attention -------------------------------------------------------------------------------------------------------

@case("pictures_repaired_by_bmm_over_all_places", "repairer", "attention", "scaled_dot_product_attention", 6)
def _(kind):
    """9216 places; three colours and what is missing."""
    model = laid_out(on_gpu(more.Repairer, more.by_bmm if kind == "broken" else more.by_kernel))
    return training(model, lambda m, x, y: F.l1_loss(m(x).float(), y),
                    resident(channels_last(torch.rand(6, 4, 384, 384)), channels_last(torch.rand(6, 3, 384, 384))))


@case("roads_read_with_weights_nobody_takes", "road_reader", "attention", "MultiheadAttention(need_weights=False)", 12)
def _(kind):
    """PyTorch gives the weights unless told not to."""
    model = on_gpu(more.RoadReader, {} if kind == "broken" else {"need_weights": False})
    return training(model, lambda m, x, y: F.smooth_l1_loss(m(x).float(), y),
                    resident(torch.randn(12, 1536, 48), torch.randn(12, 1536, 60)))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("quantiles_of_returns_compared_unfused", "quantile_returns", "memory_bandwidth",
      "torch.compile fuses the comparison", 3072)
def _(kind):
    apart = torch.compile(more.quantiles_apart, dynamic=False) if kind == "fixed" else more.quantiles_apart
    model = on_gpu(more.Returns)
    target = copy.deepcopy(model)

    def loss_of(m, now, move, reward, later):
        with torch.no_grad():
            returns = target(later)
            wanted = reward[:, None] + 0.99 * more.of_move(returns, returns.mean(2).argmax(1))
        return apart(more.of_move(m(now), move), wanted)
    now, later = torch.randn(2, 3072, 256).unbind()
    return training(model, loss_of, resident(now, torch.randint(0, 6, (3072,)), torch.randn(3072), later))


@case("factors_of_buyers_stored_by_column", "factor_scores", "memory_bandwidth",
      "the numbers of one buyer or thing side by side", 4 << 20)
def _(kind):
    """How does each of four million buyers like what is to be shown to him? 64 factors of each."""
    buyers, things, count = 16_000_000, 4_000_000, 4 << 20
    with torch.device(GPU):
        buyer, thing = torch.randint(0, buyers, (count,)), torch.randint(0, things, (count,))
        if kind == "broken":
            left, right = torch.rand(64, buyers), torch.rand(64, things)
            return inference(lambda: (left[:, buyer] * right[:, thing]).sum(0).sigmoid())
        left, right = torch.rand(buyers, 64), torch.rand(things, 64)
    return inference(lambda: (left[buyer] * right[thing]).sum(1).sigmoid())


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("spoken_words_adan_by_hand", "mel_speaker", "optimizer", "the same update with torch._foreach functions", 32)
def _(kind):
    """From sounds of a language to a spectrogram of them."""
    model = on_gpu(lambda: Tokens(nn.Embedding(160, 512), 512, 8, 12, 80))
    return training(model, lambda m, ids, mel: F.l1_loss(m(ids).float(), mel),
                    resident(*tokens(32, 512, 160), torch.randn(32, 512, 80)),
                    more.Adan(model.parameters(), at_once=kind == "fixed"))


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("molecules_empty_cache_after_each_batch", "bond_net", "memory_allocation", "no empty_cache() in the loop", 1536)
def _(kind):
    """Batches of molecules of other sizes follow each other; one feared for the memory."""
    held, at = [more.batch_of_molecules(1536, atoms) for atoms in (20, 26, 23, 29)], iter(range(1 << 40))

    def loss_of(m, atoms, bonds, begin, end, of, wanted):
        return F.l1_loss(m(atoms, bonds, begin, end, of, len(wanted)), wanted)

    def tail(model, loss):
        if kind == "broken":
            torch.cuda.empty_cache()
    return training(on_gpu(more.Molecules), loss_of, lambda: held[next(at) % 4], mixed=False, tail=tail,
                    before=tf32(True))


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("heat_of_houses_foretold_16_at_a_time", "heat_reader", "gpu_underused", "batch 16 -> 64", 16, fixed_batch=64)
def _(kind):
    """128 patches of 16 hours each."""
    batch = 16 if kind == "broken" else 64
    model = on_gpu(lambda: Tokens(nn.Linear(16, 512), 512, 8, 8, 96))
    return training(model, lambda m, x, y: F.smooth_l1_loss(m(x)[:, -1].float(), y),
                    resident(torch.randn(batch, 128, 16), torch.randn(batch, 96)))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("cells_by_their_genes_4608_wide_trained_healthy", "gene_reader", "none", "", 16)
def _(kind):
    """512 genes of each of 16 cells, two layers."""
    model = on_gpu(lambda: Tokens(nn.Embedding(8192, 4608), 4608, 36, 2, 64)).bfloat16()
    batches = Prefetched(*tokens(16, 512, 8192), torch.randint(0, 64, (16, 512)))
    return training(model, lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1).float(), y.flatten()), batches,
                    mixed=False)


@case("video_latents_3584_wide_denoised_healthy", "latent_video", "none", "", 8)
def _(kind):
    model = on_gpu(lambda: Tokens(nn.Linear(64, 3584), 3584, 28, 4, 64)).bfloat16().eval()
    batches = Prefetched(torch.randn(8, 1536, 64).bfloat16())

    def run():
        x, = batches()
        return x - 0.1 * model(x)
    return inference(run)


@case("plant_sensors_3840_wide_trained_healthy", "plant_reader", "none", "", 8)
def _(kind):
    """What 128 sensors of a plant showed at 1024 times, and what they show next."""
    model = on_gpu(lambda: Tokens(nn.Linear(128, 3840), 3840, 30, 3, 128)).bfloat16()
    batches = Prefetched(*torch.randn(2, 8, 1024, 128).bfloat16().unbind())
    return training(model, lambda m, x, y: F.mse_loss(m(x).float(), y.float()), batches, mixed=False)


CASES = mixed_by_cause(FOUND)
