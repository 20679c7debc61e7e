"""A further set of cases for record_traces.py --cases trace_cases_blind18: plants, genomes, scanners, the ground, the
sky, rain and programs, each with one plain flaw and its usual remedy; written by somebody who did not know the
analysis. Networks are those of timm, torchvision and trace_nets_blind18. Needs Pillow besides."""
import torch
import torch.nn.functional as F
from torch import nn

import trace_nets_blind18 as nets
from trace_cases import (GPU, UNCACHED, Prefetched, captured, channels_last, classify, copied, graph_if, images,
                         inference, loaded, resident, tf32, tokens, training, vision)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_nets_blind17b import Patches, Tokens
from trace_nets_blind9 import picture_network

WORKERS = 12
FOUND, case = annotated_case_list()


def on_gpu(kind, *arguments, **more):
    with torch.device(GPU):
        return kind(*arguments, **more)


def laid_out(network):
    return network.to(memory_format=torch.channels_last)


def reader(vocab, dim, heads, layers, outputs, attended=nets.causal_fused):
    """Layers over words, on the GPU."""
    return on_gpu(nets.Words, vocab, dim, layers, outputs, lambda: nets.MixLayer(dim, heads, attended))


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("leaves_unpacked_by_two_workers", "inception_next", "data_loading", "num_workers 2 -> 12", 48, loader=True)
def _(kind):
    batches, close = loaded(nets.Leaves(), 48, 2 if kind == "broken" else WORKERS)
    model = picture_network("inception_next_tiny", num_classes=120)
    return training(model, lambda m, x, y: classify(m, channels_last(x), y), batches), close


@case("genome_words_drawn_by_numpy", "genome_words", "data_loading", "words drawn on the GPU", 12288)
def _(kind):
    """np.random.choice(p=...) looks each number up in the sums of all chances."""
    sentences = nets.Sentences()
    batches = sentences.in_numpy(12288) if kind == "broken" else sentences.on_gpu(12288)
    model = on_gpu(nets.WordVectors, sentences.words)
    return training(model, lambda m, here, near, far: m(here, near, far), batches, mixed=False, before=tf32(True))


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("spectra_of_all_coils_pageable", "scanner", "host_transfer", "pinned, copied on a second stream", 12)
def _(kind):
    """Complex numbers of the 12 coils of a magnetic resonance scanner."""
    data = torch.randn(12, 12, 256, 256, dtype=torch.complex64), torch.randn(12, 1, 256, 256)
    batches = Prefetched(*data) if kind == "fixed" else copied(*data, pinned=False, blocking=True)
    return training(laid_out(on_gpu(nets.Hourglass, 24, 1)), nets.scan_loss, batches)


@case("waves_in_the_ground_kept_on_host", "ground_waves", "host_transfer", "the waves stay on the GPU: there is room",
      16)
def _(kind):
    """Those of the way down are met again on the way back."""
    ground = nets.Ground()
    if kind == "broken":
        return inference(lambda: ground.corrected(lambda x: x.cpu(), lambda x: x.to(GPU)), tf32(False))
    return inference(lambda: ground.corrected(lambda x: x, lambda x: x), tf32(False))


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("boxes_followed_by_the_best_overlap_in_turn", "watcher", "cpu_gpu_sync",
      "all overlaps copied to the host once, the best found there", 8)
def _(kind):
    """Eight cameras; whom one saw before is looked for among those whom one sees now."""
    with torch.device(GPU):
        model = laid_out(nets.Watcher(16).bfloat16().eval())
        pictures, corners = channels_last(torch.randn(8, 3, 960, 1280).bfloat16()), torch.rand(8, 16, 2) * 0.5
        known = torch.cat([corners, corners + 0.5], dim=-1)

    def run():
        shared = nets.overlaps(known, model(pictures))
        return nets.followed(shared if kind == "broken" else shared.cpu().numpy())
    return inference(run)


@case("guessed_words_taken_one_by_one", "guessing_lm", "cpu_gpu_sync", "all guesses compared at once", 32)
def _(kind):
    """A small model guessed the last six words; how many of them would the large one have said?"""
    taken = nets.kept_in_turn if kind == "broken" else nets.kept_at_once
    model = reader(16000, 1024, 16, 12, 16000).bfloat16().eval()
    with torch.device(GPU):
        ids, drafted = torch.randint(0, 16000, (32, 256)), (0.5 + torch.rand(32, 6)) / 16000

    def run():
        scores = model.head(model.hidden(ids)[:, -7:-1]).float()
        chances = scores.softmax(-1).gather(2, ids[:, -6:, None])[..., 0]
        return taken(chances, drafted, torch.rand(32, 6, device=GPU))
    return inference(run)


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("qubits_turned_gate_by_gate", "qubits", "launch_overhead", "CUDA graph of the whole step", 256)
def _(kind):
    model = on_gpu(nets.Qubits)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=True)
    step = training(model, lambda m, x, y: F.cross_entropy(m(x), y),
                    resident(torch.randn(256, 24), torch.randint(0, 2, (256,))), optimizer, mixed=False,
                    before=tf32(True))
    return captured(step) if kind == "fixed" else step


@case("tinynet_trained_with_12_fruits", "tinynet", "launch_overhead", "CUDA graph of the whole step", 12,
      accept=["launch_overhead", "gpu_underused"])  # 12 small pictures are little, too
def _(kind):
    x, y = images(12, 192, 80)
    return graph_if(kind == "fixed", picture_network("tinynet_a", num_classes=80), classify,
                    resident(channels_last(x), y))


# --- precision -------------------------------------------------------------------------------------------------------

@case("rain_of_the_next_hour_in_fp32", "rain_radar", "precision", "bf16 autocast", 12)
def _(kind):
    """From the last six pictures of a radar to the next twelve."""
    model = laid_out(on_gpu(nets.Hourglass, 6, 12, (64, 128, 256, 512)))
    past, future = channels_last(torch.randn(12, 6, 256, 256)), torch.rand(12, 12, 256, 256)
    return training(model, lambda m, x, y: F.smooth_l1_loss(m(x).float(), y), resident(past, future),
                    mixed=kind == "fixed", before=tf32(False))


@case("head_of_code_model_kept_in_fp32", "code_lm", "precision", "the head under autocast, too", 4)
def _(kind):
    """As one does who fears for the loss."""
    model = reader(50304, 1024, 16, 6, 50304)

    def loss_of(m, ids):
        x = m.hidden(ids)
        with torch.autocast("cuda", torch.bfloat16, enabled=kind == "fixed"):
            scores = m.head(x.float())
        return nets.next_word(scores, ids)
    return training(model, loss_of, resident(*tokens(4, 1024, 50304)), before=tf32(False))


# --- attention -------------------------------------------------------------------------------------------------------

@case("laws_read_with_a_mask_of_later_words", "law_lm", "attention", "scaled_dot_product_attention(is_causal=True)", 4)
def _(kind):
    model = reader(16000, 768, 12, 8, 16000, nets.causal_by_hand if kind == "broken" else nets.causal_fused)
    return training(model, lambda m, ids: nets.next_word(m(ids), ids), resident(*tokens(4, 2048)))


@case("stars_weighted_by_distance_by_einsum", "star_reader", "attention",
      "scaled_dot_product_attention(attn_mask=bias)", 4)
def _(kind):
    with torch.device(GPU):
        model = nets.StarReader(nets.biased_by_hand if kind == "broken" else nets.biased_fused).bfloat16().eval()
        sky = torch.randn(4, 48 * 48, 300).bfloat16()
    return inference(lambda: model(sky).float().softmax(-1))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("prints_compared_as_people_see_them_unfused", "print_corrector", "memory_bandwidth",
      "torch.compile fuses the difference of colours", 12)
def _(kind):
    """Learns how colours must be changed for a printer."""
    apart = torch.compile(nets.colours_apart, dynamic=False) if kind == "fixed" else nets.colours_apart
    model = laid_out(on_gpu(lambda: nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(True),
                                                  nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(True),
                                                  nn.Conv2d(32, 3, 1))))
    pictures, wanted = torch.rand(2, 12, 3, 768, 768).unbind()

    def loss_of(m, x, y):
        return apart(m(x).float().sigmoid(), y)
    return training(model, loss_of, resident(channels_last(pictures), channels_last(wanted)))


@case("codes_of_tiles_counted_by_one_hot", "tile_coder", "memory_bandwidth", "index_add_ by the codes' numbers", 16)
def _(kind):
    model = on_gpu(nets.TileCoder, nets.counted_by_one_hot if kind == "broken" else nets.counted_by_index)
    return training(model, lambda m, x: m(x), resident(torch.rand(16, 3, 256, 256)), mixed=False, before=tf32(True))


# --- optimizer -------------------------------------------------------------------------------------------------------

class Lion(torch.optim.Optimizer):
    """Chen et al.: only the signs of averaged gradients move the weights."""

    def __init__(self, params, at_once, lr=1e-4, betas=(0.9, 0.99), decay=0.01):
        super().__init__(params, {"lr": lr})
        self.held = [p for group in self.param_groups for p in group["params"]]
        self.means = [torch.zeros_like(p) for p in self.held]
        self.at_once, self.lr, self.betas, self.decay = at_once, lr, betas, decay

    @torch.no_grad()
    def step(self, closure=None):
        grads = [p.grad for p in self.held]
        if self.at_once:
            torch._foreach_mul_(self.held, 1 - self.lr * self.decay)
            moves = torch._foreach_lerp(self.means, grads, 1 - self.betas[0])
            torch._foreach_add_(self.held, torch._foreach_sign(moves), alpha=-self.lr)
            torch._foreach_lerp_(self.means, grads, 1 - self.betas[1])
            return
        for p, grad, mean in zip(self.held, grads, self.means):
            p.mul_(1 - self.lr * self.decay)
            move = mean.mul(self.betas[0]).add_(grad, alpha=1 - self.betas[0]).sign_()
            p.add_(move, alpha=-self.lr)
            mean.mul_(self.betas[1]).add_(grad, alpha=1 - self.betas[1])


@case("gmixer_radam_per_parameter", "gmixer", "optimizer", "RAdam(foreach=True)", 24)
def _(kind):
    model = picture_network("gmixer_24_224", False, num_classes=200)
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-4, weight_decay=1e-2, foreach=kind == "fixed")
    return training(model, classify, resident(*images(24, classes=200)), optimizer)


@case("flight_paths_lion_by_hand", "flight_lm", "optimizer", "the same update with torch._foreach functions", 16)
def _(kind):
    """Where does an aircraft fly next? 24 layers."""
    model = reader(4096, 384, 6, 24, 4096)
    return training(model, lambda m, ids: nets.next_word(m(ids), ids), resident(*tokens(16, 256, 4096)),
                    Lion(model.parameters(), at_once=kind == "fixed"))


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("cells_under_microscope_uncached", "cell_painter", "memory_allocation", "the caching allocator", 16,
      environment=UNCACHED)
def _(kind):
    """Left so after a search for a fault in memory."""
    x, y = channels_last(torch.randn(16, 4, 256, 256)), torch.randint(0, 5, (16, 256, 256))
    return training(laid_out(on_gpu(nets.Hourglass, 4, 5)), classify, resident(x, y))


@case("densenet169_empties_cache_before_each_batch", "densenet169", "memory_allocation",
      "no empty_cache() in the loop", 32)
def _(kind):
    x, y = images(32)

    def before():
        if kind == "broken":
            torch.cuda.empty_cache()
    return training(vision("densenet169"), classify, resident(channels_last(x), y), before=before)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("pore_currents_read_four_at_a_time", "pore_reader", "gpu_underused", "batch 4 -> 32", 4, fixed_batch=32)
def _(kind):
    batch = 4 if kind == "broken" else 32
    data = torch.randn(batch, 1, 4000), torch.randint(0, 5, (batch, 800))
    return training(on_gpu(nets.PoreReader),
                    lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1).float(), y.flatten()), resident(*data))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("lm_4096_wide_trained_healthy", "lm4096", "none", "", 8)
def _(kind):
    """Three layers as wide as those of models with seven billion weights."""
    model = reader(8192, 4096, 32, 3, 8192).bfloat16()
    return training(model, lambda m, ids: nets.next_word(m(ids), ids), Prefetched(*tokens(8, 1024, 8192)), mixed=False)


@case("pairs_of_texts_scored_3072_wide_healthy", "pair_scorer", "none", "", 48)
def _(kind):
    with torch.device(GPU):
        model = Tokens(nn.Embedding(16000, 3072), 3072, 24, 4, 1).bfloat16().eval()
    batches, scores = Prefetched(*tokens(48, 512)), torch.empty(48).pin_memory()

    def run():
        scores.copy_(model(*batches())[:, 0, 0].float(), non_blocking=True)
    return inference(run)


@case("land_seen_from_above_2560_wide_healthy", "land_vit", "none", "", 96)
def _(kind):
    with torch.device(GPU):
        model = Tokens(Patches(2560, 16), 2560, 20, 3, 45).bfloat16()
    x, y = images(96, 256, 45)
    return training(model, lambda m, x, y: F.cross_entropy(m(x).mean(1).float(), y), Prefetched(x.bfloat16(), y),
                    mixed=False)


CASES = mixed_by_cause(FOUND)
