"""A sixteenth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp16: texts, recommendations,
graphs and science, data-parallel, sharded and with collectives by hand, each with one plain flaw and its usual remedy;
six flaws have nothing to do with there being two GPUs. Written by somebody who did not know the analysis."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
import trace_nets_ddp16 as nets
from trace_cases import (GPU, adamw, amp, classify, inference, loaded, next_token, resident, tf32, tokens, training)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_cases_ddp11 import sharded

FOUND, case = annotated_case_list()


def residue_loss(model, ids, wanted):
    return F.cross_entropy(model(ids).flatten(0, 1).float(), wanted.flatten())


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_forecaster_usual_weather_is_a_buffer", "forecaster", "multi_gpu_comm",
      "broadcast_buffers=False: the usual weather does not change", 24)
def _(kind):
    """What is usual on each day of the year stands in a buffer, to be saved with the model."""
    with torch.device(GPU):
        network = nets.Forecaster()
    model = parallel(network, gradient_as_bucket_view=True, broadcast_buffers=kind == "broken")
    return training(model, lambda m, today, day, following: F.l1_loss(m(today, day).float(), following),
                    resident(torch.randn(12, 24, 180, 360), torch.randint(0, 366, (12,)),
                             torch.randn(12, 24, 180, 360)))


@case("papers_sent_whole_to_those_that_cite_them", "cited", "multi_gpu_comm",
      "128 numbers worked out of each paper's 1024 before they are gathered", 262144)
def _(kind):
    """Each rank has one half of the papers, and of each six that it cites from both halves."""
    with torch.device(GPU):
        network = nets.Cited(short=kind == "fixed")
        papers, fields = torch.randn(131072, 256), torch.randint(0, 40, (131072,))
        cited = torch.randint(0, 262144, (131072, 6))
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, x, cited, y: F.cross_entropy(m(x, cited).float(), y), resident(papers, cited, fields))


@case("ddp_beats_sync_batchnorm", "beats", "multi_gpu_comm", "BatchNorm1d: 32 recordings a rank are enough", 64,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        network = nets.Beats()
    if kind == "broken":
        network = nn.SyncBatchNorm.convert_sync_batchnorm(network)
    return training(parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False), classify,
                    resident(torch.randn(32, 12, 4096), torch.randint(0, 26, (32,))))


@case("flames_rows_sent_gas_by_gas", "flames", "multi_gpu_comm", "rows of all gases sent as one", 1,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Eight small steps of time."""
    flames = nets.Flames(together=kind == "fixed")
    return inference(lambda: flames.advance(8))


@case("ddp_residues_reduced_for_each_protein", "residues", "multi_gpu_comm", "no_sync() but for the last protein", 12)
def _(kind):
    """Proteins one at a time; the weights move after six on each rank."""
    with torch.device(GPU):
        network = own.Decoder(vocab=32, dim=4608, layers=2, heads=36, length=512, causal=False)
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer, (ids, wanted) = adamw(model), resident(*tokens(6, 512, 32), *tokens(6, 512, 32))()

    def step():
        optimizer.zero_grad(set_to_none=True)
        for index, (x, y) in enumerate(zip(ids.split(1), wanted.split(1))):
            quiet = kind == "fixed" and index < 5
            with model.no_sync() if quiet else contextlib.nullcontext():
                with amp():
                    loss = residue_loss(model, x, y) / 6
                loss.backward()
        optimizer.step()
    return step


@case("fsdp_counsel_gathers_frozen_weights", "counsel", "multi_gpu_comm",
      "frozen weights whole on each rank, DistributedDataParallel for the adapters", 2)
def _(kind):
    """A decoder that would fit one GPU twice over is sharded to train thin layers beside its own."""
    with torch.device(GPU):
        model = nets.adapted(own.Decoder(dim=6144, layers=4, heads=48, length=512, llama=True, hidden=16384))
    model = sharded(model, model.blocks) if kind == "broken" else parallel(model, gradient_as_bucket_view=True)
    return training(model, next_token, resident(*tokens(1, 512)), mixed=False)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_sentences_rank0_looks_for_collapse", "sentences", "load_imbalance",
      "how many directions are in use: once in 500 steps", 128, accept=["load_imbalance", "cpu_gpu_sync"])
def _(kind):
    """After each step rank 0 notes in how many directions the last 4096 sentences' vectors lie."""
    with torch.device(GPU):
        network, last, same = nets.Sentences(), torch.randn(4096, 1024), torch.arange(64)
    kept, log = {"last": last}, {}

    def loss_of(m, ids):
        vectors = F.normalize(m(ids).float(), dim=1)
        kept["new"] = vectors.detach()
        one, other = vectors.chunk(2)
        return F.cross_entropy((one @ other.T).float() / 0.05, same)

    @torch.no_grad()
    def directions(*_):
        if kind == "fixed" or dist.get_rank() != 0:
            return
        kept["last"] = torch.cat([kept["new"], kept["last"]])[:4096]
        spread = torch.linalg.eigvalsh(torch.cov(kept["last"].T)).clamp_min(1e-9)
        shares = spread / spread.sum()
        log["directions"] = torch.exp(-(shares * shares.log()).sum())
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, resident(*tokens(128, 96)),
                    tail=directions)


@case("atoms_cut_at_the_middle_of_the_box", "forces", "load_imbalance", "cut so that both ranks have as many pairs",
      2_400_000)
def _(kind):
    """Rank 0's half of the box has the crystal, rank 1's the vapour: three in four pairs of atoms are rank 0's."""
    pairs = 1_200_000 if kind == "fixed" else (1_800_000, 600_000)[dist.get_rank()]
    with torch.device(GPU):
        model, places = nets.Forces().requires_grad_(False), 20 * torch.rand(20000, 3)
        one, other = torch.randint(0, 20000, (2, pairs))
    places.requires_grad_()

    def step():
        with amp():
            energy = model(places, one, other)
        (slope,) = torch.autograd.grad(energy, places)
        dist.all_reduce(slope)
        with torch.no_grad():
            places.sub_(slope.clamp_(-1, 1), alpha=1e-4)
    return step


@case("ddp_viewers_rank0_finds_films_for_all", "viewers", "load_imbalance", "each rank finds films for its own viewers",
      1024)
def _(kind):
    """To be told from the film that was seen next: the 32 of two million that are closest to the viewer."""
    with torch.device(GPU):
        network, finder = nets.Viewers(), nets.FilmFinder()
    closest = finder.closest_of_rank0 if kind == "broken" else finder.closest

    def loss_of(m, seen, following):
        viewers = m(finder.films[seen])
        found = closest(viewers.detach().bfloat16())
        films = finder.films[torch.cat([following[:, None], found], dim=1)]
        scores = (films @ viewers.bfloat16()[..., None]).squeeze(2).float() / 20
        return F.cross_entropy(scores, torch.zeros_like(following))
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(torch.randint(0, 2_000_000, (512, 64)), torch.randint(0, 2_000_000, (512,))))


@case("ddp_followers_famous_people_on_rank1", "followers", "load_imbalance", "famous and other people on both ranks",
      8192)
def _(kind):
    """The famous have 96 followers each in the data, others 32."""
    each = 64 if kind == "fixed" else (32, 96)[dist.get_rank()]
    with torch.device(GPU):
        network = nets.Followers()
        followers = torch.randn(4096, each, 512, dtype=torch.bfloat16)
    return training(parallel(network, gradient_as_bucket_view=True), classify,
                    resident(followers, torch.randint(0, 64, (4096,))))


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_genes_cut_by_two_workers", "genes", "data_loading", "num_workers 2 -> 12 on both ranks", 96, loader=True)
def _(kind):
    batches, close = loaded(nets.Genes(), 48, 2 if kind == "broken" else 12)
    with torch.device(GPU):
        network = nets.Reader()

    def loss_of(m, ids, profile, wanted):
        return F.cross_entropy(m(ids, profile).float(), wanted)
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, batches), close


@case("ddp_ocean_coasts_sent_at_every_step", "ocean", "host_transfer", "depth and coasts stay on the GPU", 2)
def _(kind):
    """Twelve numbers of each place that never change are moved to the GPU with the batch."""
    with torch.device(GPU):
        network = nets.Ocean().to(memory_format=torch.channels_last)
        now, following = torch.randn(2, 1, 6, 1024, 2048)
    still = torch.randn(1, 12, 1024, 2048)
    if kind == "fixed":
        still = still.to(GPU)
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, x, still, y: F.mse_loss(m(x, still).float(), y),
                    lambda: (now, still.to(GPU), following))


@case("ddp_crystals_averaged_one_by_one", "crystals", "cpu_gpu_sync", "sums of all crystals by one index_add", 128,
      accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """The atoms of a batch stand in one long list, beside the number of the crystal that each is in."""
    with torch.device(GPU):
        network = nets.Crystals(at_once=kind == "fixed")

    def loss_of(m, elements, near, bonds, crystal, wanted):
        return F.mse_loss(m(elements, near, bonds, crystal, 64).float(), wanted)
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, resident(*nets.crystals(64, 110)))


@case("ddp_sessions_cell_by_cell", "sessions", "launch_overhead", "nn.GRU", 512)
def _(kind):
    """What is clicked after 60 clicks."""
    with torch.device(GPU):
        network = nets.Clicked(cells=kind == "broken")
    return training(parallel(network, gradient_as_bucket_view=True), classify,
                    resident(torch.randint(0, 20000, (256, 60)), torch.randint(0, 20000, (256,))), mixed=False,
                    before=tf32(True))


@case("ddp_offers_crossed_in_fp32", "crossed", "precision", "bf16 autocast", 8192)
def _(kind):
    with torch.device(GPU):
        network = nets.Crossed()
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, known, taken: F.binary_cross_entropy_with_logits(m(known).float(), taken),
                    resident(torch.randint(0, 800_000, (4096, 40)), torch.randint(0, 2, (4096,)).float()),
                    mixed=kind == "fixed")


@case("ddp_contracts_scores_written_out", "contracts", "attention", "scaled_dot_product_attention", 4,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    """Contracts of 3072 words."""
    with torch.device(GPU):
        network = own.Decoder(dim=1024, layers=6, heads=16, length=3072,
                              attention="manual" if kind == "broken" else "flash")
    return training(parallel(network, gradient_as_bucket_view=True), next_token, resident(*tokens(2, 3072)))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_proteins_2560_wide_healthy", "proteins2560", "none", "", 20)
def _(kind):
    with torch.device(GPU):
        network = own.Decoder(vocab=32, dim=2560, layers=6, heads=20, length=1024, causal=False).bfloat16()
    return training(parallel(network, gradient_as_bucket_view=True), residue_loss,
                    resident(*tokens(10, 1024, 32), *tokens(10, 1024, 32)), mixed=False)


@case("fsdp_llama13b_layers_healthy", "llama13b", "none", "", 24)
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(dim=5120, layers=3, heads=40, length=512, llama=True, hidden=13824)
    return training(sharded(model, model.blocks), next_token, resident(*tokens(12, 512)), mixed=False)


CASES = mixed_by_cause(FOUND)
