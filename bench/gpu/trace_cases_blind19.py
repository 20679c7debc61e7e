"""A further set of cases for record_traces.py --cases trace_cases_blind19: birds, roads, contracts, storms, molecules,
land and talk, each with one plain flaw and its usual remedy; written by somebody who did not know the analysis.
Networks are those of timm and trace_nets_blind19 and 19b."""
import torch
import torch.nn.functional as F
from torch import nn

import trace_nets_blind19 as nets
import trace_nets_blind19b as more
from trace_cases import (GPU, Prefetched, channels_last, classify, images, inference, loaded, resident, tf32, tokens,
                         training)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import Layer, Lm, mixed_by_cause, shifted_loss
from trace_nets_blind17b import Patches, Tokens
from trace_nets_blind18 import Hourglass
from trace_nets_blind9 import picture_network

WORKERS = 12
FOUND, case = annotated_case_list()


def on_gpu(kind, *arguments, **named):
    with torch.device(GPU):
        return kind(*arguments, **named)


def laid_out(network):
    return network.to(memory_format=torch.channels_last)


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("bird_calls_made_spectra_by_three_workers", "hgnetv2_b1", "data_loading", "num_workers 3 -> 12", 64, loader=True)
def _(kind):
    batches, close = loaded(nets.BirdCalls(), 64, 3 if kind == "broken" else WORKERS)
    model = picture_network("hgnetv2_b1", in_chans=1, num_classes=200)
    return training(model, classify, batches), close


@case("laser_sweeps_thinned_by_numpy", "pointnet", "data_loading", "points drawn, turned and jittered on the GPU", 24)
def _(kind):
    sweeps = nets.Sweeps()
    batches = sweeps.in_numpy(24) if kind == "broken" else sweeps.on_gpu(24)
    return training(on_gpu(nets.PointNet), classify, batches)


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("what_was_said_waits_on_host", "chat", "host_transfer", "keys and values of what was said stay on the GPU", 4)
def _(kind):
    """Twelve layers' keys and values of 512 words; the last 64 words are on the GPU anyhow."""
    with torch.device(GPU):
        model = nets.Chat().bfloat16().eval()
        ids, recent = torch.randint(0, 16000, (4, 1)), torch.randn(12, 2, 4, 16, 64, 64).bfloat16()
    said = torch.randn(12, 2, 4, 16, 512, 64, device=GPU).bfloat16()
    said = list((said.cpu() if kind == "broken" else said).unbind())
    return inference(lambda: model(ids, said, recent).argmax(-1))


@case("mean_weights_kept_on_host", "recipes", "host_transfer", "the mean weights kept on the GPU", 96)
def _(kind):
    """An exponential mean of the weights after each step."""
    model = on_gpu(Tokens, on_gpu(nn.Embedding, 3000, 768), 768, 12, 3, 3000)
    weights = list(model.parameters())
    means = [p.detach().clone() if kind == "fixed" else p.detach().cpu() for p in weights]

    @torch.no_grad()
    def tail(model, loss):
        if kind == "fixed":
            torch._foreach_lerp_(means, weights, 0.001)
            return
        for mean, weight in zip(means, weights):
            mean.lerp_(weight.detach().cpu(), 0.001)

    def loss_of(m, ids, following):
        return F.cross_entropy(m(ids).flatten(0, 1).float(), following.flatten())
    return training(model, loss_of, resident(*torch.randint(0, 3000, (2, 96, 256))), tail=tail)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("names_counted_sentence_by_sentence", "name_tagger", "cpu_gpu_sync", "names of all sentences counted at once", 48)
def _(kind):
    counted = nets.names_found_in_turn if kind == "broken" else nets.names_found_at_once
    with torch.device(GPU):
        model = Tokens(nn.Embedding(16000, 1024), 1024, 16, 8, 9).bfloat16().eval()
        ids, gold = torch.randint(0, 16000, (48, 192)), torch.randint(0, 9, (48, 192))
        gold = gold.masked_fill(torch.arange(192) >= torch.randint(100, 193, (48, 1)), -100)
    return inference(lambda: counted(model(ids), gold))


@case("bonds_looked_for_molecule_by_molecule", "bond_net", "cpu_gpu_sync", "pairs of all molecules found at once", 96)
def _(kind):
    """Atoms nearer than two angstroms tell each other something."""
    found = more.bonds_in_turn if kind == "broken" else more.bonds_at_once
    model = on_gpu(more.BondNet)
    data = torch.rand(96, 48, 3) * 6, torch.randint(0, 20, (96, 48)), torch.randn(96)
    return training(model, lambda m, places, kinds, energy: F.mse_loss(m(places, kinds, found(places)), energy),
                    resident(*data), mixed=False, before=tf32(True))


# --- attention -------------------------------------------------------------------------------------------------------

@case("contracts_filled_up_scores_written_out", "contract_sorter", "attention",
      "scaled_dot_product_attention(attn_mask=there)", 3)
def _(kind):
    model = on_gpu(nets.Contracts, nets.padded_by_hand if kind == "broken" else nets.padded_fused)
    ids = torch.randint(1, 16000, (3, 2560)).masked_fill(torch.arange(2560) >= torch.randint(1800, 2561, (3, 1)), 0)
    return training(model, classify, resident(ids, torch.randint(0, 40, (3,))))


@case("lightning_layers_ask_for_weights", "lightning", "attention", "nn.MultiheadAttention(need_weights=False)", 4)
def _(kind):
    """From 2048 flashes of lightning, which storm each is of; the weights of attention are thrown away."""
    model = on_gpu(more.Lightning, weights=kind == "broken")
    return training(model, lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1).float(), y.flatten()),
                    resident(torch.randn(4, 2048, 5), torch.randint(0, 24, (4, 2048))))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("plays_read_head_by_head", "plays_lm", "launch_overhead", "all heads in one product", 32)
def _(kind):
    """Characters of old plays; the layers of a well-known lecture."""
    make = (lambda: nets.LectureLayer(512, 8)) if kind == "broken" else (lambda: Layer(512, 8, causal=True))
    model = on_gpu(Lm, 96, 512, 6, 8, 128, make=make)
    return training(model, shifted_loss, resident(*tokens(32, 128, 96)))


@case("plates_varied_picture_by_picture_on_gpu", "cs3darknet", "launch_overhead",
      "all pictures varied at once, by grid_sample", 128)
def _(kind):
    """Light, contrast, colour, turned over and cut out: all by chance."""
    varied = more.varied_in_turn if kind == "broken" else more.varied_at_once
    pictures, kinds = resident(torch.rand(128, 3, 240, 240), torch.randint(0, 60, (128,)))()
    model = picture_network("cs3darknet_m", num_classes=60)
    return training(model, classify, lambda: (channels_last(varied(pictures)), kinds))


# --- precision -------------------------------------------------------------------------------------------------------

@case("galaxies_denoised_in_fp32", "galaxy_denoiser", "precision", "bf16 autocast", 16)
def _(kind):
    model = on_gpu(Tokens, on_gpu(nn.Linear, 65, 1280), 1280, 20, 5, 64)

    def loss_of(m, x):
        noise, t = torch.randn_like(x), torch.rand(len(x), 1, 1, device=GPU)
        seen = torch.cat([torch.lerp(x, noise, t), t.expand(-1, x.shape[1], 1)], dim=2)
        return F.mse_loss(m(seen).float(), noise - x)
    return training(model, loss_of, resident(torch.randn(16, 192, 64)), mixed=kind == "fixed", before=tf32(False))


@case("teacher_asked_outside_autocast", "distilled_vit", "precision", "the teacher under autocast, too", 32)
def _(kind):
    """A small network learns from a large one; only the small one's loss stands under autocast."""
    with torch.device(GPU):
        student, teacher = Tokens(Patches(384, 16), 384, 6, 8, 200), Tokens(Patches(1280, 16), 1280, 20, 6, 200).eval()
        pictures = torch.randn(32, 3, 224, 224)

    @torch.no_grad()
    def batches():
        with torch.autocast("cuda", torch.bfloat16, enabled=kind == "fixed"):
            return pictures, teacher(pictures).mean(1).float().softmax(-1)
    return training(student, lambda m, x, told: F.cross_entropy(m(x).mean(1).float(), told), batches,
                    before=tf32(False))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("land_measured_from_counts_unfused", "land_cover", "memory_bandwidth",
      "torch.compile fuses what is worked out of the counts", 40)
def _(kind):
    """A satellite's counts in six bands become reflectances and indices of plants, water and fire."""
    measured = torch.compile(more.measured, dynamic=False) if kind == "fixed" else more.measured
    with torch.device(GPU):
        model = laid_out(more.LandCover().bfloat16().eval())
        counts, gain, offset = torch.randint(0, 9000, (40, 6, 512, 512)), torch.rand(6, 1, 1), torch.rand(6, 1, 1)
        counts, sun = counts.to(torch.int16), 0.5 + 0.5 * torch.rand(40, 1, 1, 1)
    return inference(lambda: model(channels_last(measured(counts, gain, offset, sun).bfloat16())).argmax(1))


@case("melodies_likened_by_broadcast_cosine", "melodies", "memory_bandwidth",
      "F.normalize and one matrix product", 1280)
def _(kind):
    """Which of 1280 melodies is the same one, played otherwise?"""
    def likeness(a, b):
        if kind == "broken":
            return F.cosine_similarity(a[:, None], b[None], dim=-1)
        return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T
    model = on_gpu(Tokens, on_gpu(nn.Embedding, 400, 512), 512, 8, 4, 256)

    def loss_of(m, notes, right):
        a, b = m(notes).mean(1).float().chunk(2)
        with torch.autocast("cuda", enabled=False):
            return F.cross_entropy(likeness(a, b) / 0.1, right)
    return training(model, loss_of, resident(torch.randint(0, 400, (2560, 12)), torch.arange(1280)),
                    before=tf32(True))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("essays_every_weight_a_group", "essay_grader", "optimizer", "one group for all weights of a layer and kind", 32)
def _(kind):
    """Layers near the words learn more slowly; norms and biases do not decay."""
    model = on_gpu(Tokens, on_gpu(nn.Embedding, 8000, 512), 512, 8, 14, 6)
    groups = more.groups_by_depth(model, together=kind == "fixed")
    return training(model, lambda m, ids, mark: F.cross_entropy(m(ids).mean(1).float(), mark),
                    resident(torch.randint(0, 8000, (32, 224)), torch.randint(0, 6, (32,))),
                    torch.optim.AdamW(groups, lr=1e-4, fused=True))


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("clinics_train_in_turn_and_empty_the_cache", "clinics", "memory_allocation",
      "no empty_cache() between the clinics", 24)
def _(kind):
    """Federated: three clinics' networks on one GPU, each with eight pictures of its own."""
    clinics = []
    for _ in range(3):
        x, y = channels_last(torch.randn(8, 1, 256, 256)), torch.randint(0, 2, (8, 256, 256))
        clinics.append(training(laid_out(on_gpu(Hourglass, 1, 2)), classify, resident(x, y)))

    def step():
        for clinic in clinics:
            clinic()
            if kind == "broken":
                torch.cuda.empty_cache()
    return step


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("walkers_named_batch12", "gait_reader", "gpu_underused", "batch 12 -> 72", 12, fixed_batch=72)
def _(kind):
    """300 frames of 25 joints each."""
    batch = 12 if kind == "broken" else 72
    model = on_gpu(Tokens, on_gpu(nn.Linear, 75, 512), 512, 8, 8, 60)
    return training(model, lambda m, x, y: F.cross_entropy(m(x).mean(1).float(), y),
                    resident(torch.randn(batch, 300, 75), torch.randint(0, 60, (batch,))))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("lm_3584_wide_side_by_side_healthy", "lm3584", "none", "", 8)
def _(kind):
    """Attention and feed-forward side by side; three layers."""
    model = on_gpu(Lm, 8192, 3584, 3, 28, 896, parallel=True,
                   make=lambda: Layer(3584, 28, causal=True, parallel=True)).bfloat16()
    return training(model, shifted_loss, Prefetched(*tokens(8, 896, 8192)), mixed=False)


@case("ground_seen_from_orbit_2304_wide_healthy", "orbit_vit", "none", "", 40)
def _(kind):
    with torch.device(GPU):
        model = Tokens(Patches(2304, 14), 2304, 18, 4, 128).bfloat16().eval()
    batches = Prefetched(images(40, 336)[0].bfloat16())
    return inference(lambda: F.normalize(model(*batches()).mean(1).float(), dim=1))


@case("cells_6144_wide_trained_healthy", "cell_mlp", "none", "", 8192)
def _(kind):
    """What a drug does to a cell, out of the activity of 2048 genes."""
    widths = (2048, *[6144] * 5)
    with torch.device(GPU):
        model = nn.Sequential(*(part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU())),
                              nn.Linear(6144, 256)).bfloat16()
    batches = Prefetched(torch.randn(8192, 2048).bfloat16(), torch.randint(0, 256, (8192,)))
    return training(model, classify, batches, mixed=False)


CASES = mixed_by_cause(FOUND)
