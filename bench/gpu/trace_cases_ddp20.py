"""A twentieth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp20: drawings, speech, music,
shops, time series and languages, data-parallel, sharded, cut by layers or by heads, trained or only asked, each with
one plain flaw and its usual remedy; seven flaws have nothing to do with there being two GPUs. Written by somebody who
did not know the analysis."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F

import trace_models as own
import trace_nets_ddp20 as nets
import trace_nets_ddp20_b as sounds
from trace_cases import GPU, adamw, amp, classify, inference, loaded, next_token, resident, tf32, tokens, training
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_cases_ddp11 import sharded

FOUND, case = annotated_case_list()


def next_sound(model, ids, slopes):
    return next_token(lambda texts: model(texts, slopes), ids)


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("tp_guided_drawings_layers_cut_in_halves", "guided_drawings", "multi_gpu_comm",
      "each rank computes one branch of the guidance with the whole network", 12)
def _(kind):
    """Two levels of noise of a diffusion transformer with classifier-free guidance."""
    return inference(nets.Guided(branches=kind == "fixed").run)


@case("hashed_experts_a_copy_for_each_expert", "hashed_experts", "multi_gpu_comm",
      "each word sent once to a rank, what its experts there say summed before it is sent back", 32768)
def _(kind):
    return inference(nets.HashedExperts(once=kind == "fixed").run)


@case("visitors_table_of_articles_gathered", "visitors", "multi_gpu_comm", "only the looked-up rows are exchanged",
      4096)
def _(kind):
    """The table is sharded as the rest of the weights was during training."""
    return inference(nets.Visitors(rows=kind == "fixed").run)


@case("ddp_interpreter_reduces_for_each_pair", "interpreter", "multi_gpu_comm",
      "no_sync() but for the last pair of sentences", 16)
def _(kind):
    """Eight pairs of sentences a step on each rank, one after another."""
    with torch.device(GPU):
        network = own.Decoder(dim=3072, layers=3, heads=24, length=256, llama=True, hidden=8192)
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer, (pairs,) = adamw(model), resident(*tokens(8, 256))()

    def step():
        optimizer.zero_grad(set_to_none=True)
        for at in range(8):
            with model.no_sync() if kind == "fixed" and at < 7 else contextlib.nullcontext():
                with amp():
                    loss = next_token(model, pairs[at:at + 1]) / 8
                loss.backward()
        optimizer.step()
    return step


@case("fsdp_singers_weights_gathered_at_every_level", "singers", "multi_gpu_comm",
      "reshard_after_forward=False while a song is made", 2)
def _(kind):
    """Eight levels of noise of one song a rank, with the network that is sharded for training."""
    from torch.distributed.fsdp import fully_shard
    with torch.device(GPU):
        network = sounds.Frames(128, 4096, 4, 32, 384, 128).bfloat16()
        noise = torch.randn(1, 384, 128, dtype=torch.bfloat16)
    units = [*network.blocks, network]
    for unit in units:
        fully_shard(unit, reshard_after_forward=kind == "broken")

    def run():
        x = noise
        for _ in range(8):
            x = x - 0.125 * network(x)
        if kind == "fixed":
            for unit in units:
                unit.reshard()
    return inference(run)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("helpdesk_long_questions_all_on_rank0", "helpdesk", "load_imbalance",
      "questions dealt out by their words, not by their number", 16)
def _(kind):
    """Two batches of four questions on each rank; the first word of each answer is wanted."""
    with torch.device(GPU):
        model = own.Decoder(dim=2048, layers=5, heads=16, length=3072, llama=True, hidden=8192).bfloat16()
    lengths = (3072, 768) if kind == "fixed" else ((3072, 3072), (768, 768))[dist.get_rank()]
    questions = [resident(*tokens(4, length))()[0] for length in lengths]

    def run():
        nets.gathered(torch.cat([model(ids)[:, -1].argmax(-1) for ids in questions]))
    return inference(run)


@case("ddp_shoppers_regular_customers_on_rank1", "shoppers", "load_imbalance",
      "regular and new customers on both ranks", 96)
def _(kind):
    """What the next purchase is, from up to 1024 before; the file of rank 1 is that of the regular customers."""
    length = 641 if kind == "fixed" else (257, 1025)[dist.get_rank()]
    with torch.device(GPU):
        network = nets.Shoppers()

    def loss_of(m, ids, others):
        scores = m(ids, others).flatten(0, 1).float()
        return F.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long, device=GPU))
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(torch.randint(0, 20000, (48, length)), torch.randint(0, 20000, (1024,))))


@case("textures_of_many_levels_on_rank0", "textures", "load_imbalance", "fine and quick textures on both ranks", 96)
def _(kind):
    """Two batches of 24 textures on each rank; fine ones take six levels of noise, quick ones two."""
    with torch.device(GPU):
        network = own.DiffusionUNet(base=192)
        noise = torch.randn(24, 4, 64, 64)
    many = (6, 2) if kind == "fixed" else ((6, 6), (2, 2))[dist.get_rank()]

    def drawn(levels):
        x = noise
        for level in range(levels, 0, -1):
            with amp():
                told = network(x, noise.new_full((24,), 1000.0 * level / levels))
            x = x - told.float() / levels
        return x

    def run():
        nets.gathered(torch.cat([drawn(levels) for levels in many]))
    return inference(run)


@case("pipeline_of_two_and_ten_layers", "months", "load_imbalance", "six layers on each rank", 24)
def _(kind):
    """A network that tells how sales go on, cut into two stages; six micro-batches are passed on."""
    rank = dist.get_rank()
    with torch.device(GPU):
        network = sounds.Months(rank, 6 if kind == "fixed" else (2, 10)[rank]).bfloat16()
        sold = torch.randn(6, 4, 1024, 48, dtype=torch.bfloat16)
        between = torch.empty(6, 4, 1024, 1536, dtype=torch.bfloat16)
        told = torch.empty(6, 4, 1024, 48, dtype=torch.bfloat16)

    def run():
        sent = []
        for at in range(6):
            if rank == 0:
                hidden = network(sold[at])
                sent.append((hidden, dist.isend(hidden, 1)))
            else:
                dist.recv(between[at], 0)
                told[at] = network(between[at])
        for _, work in sent:
            work.wait()
        dist.broadcast(told, 1)
    return inference(run)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_climates_windows_made_by_two_workers", "climates", "data_loading", "num_workers 2 -> 12 on both ranks",
      128, loader=True)
def _(kind):
    batches, close = loaded(sounds.Stations(), 64, 2 if kind == "broken" else 12)
    with torch.device(GPU):
        network = sounds.Climate()
    return training(parallel(network, gradient_as_bucket_view=True), classify, batches), close


@case("calls_hidden_frames_brought_to_the_host", "calls", "host_transfer", "frames averaged on the GPU", 32,
      accept=["host_transfer", "cpu_gpu_sync"])
def _(kind):
    """A vector for each recorded call, the mean of its frames; each rank's vectors are wanted by both."""
    with torch.device(GPU):
        network = sounds.Frames(80, 1024, 8, 16, 1000, 80).bfloat16()
        spectra = torch.randn(16, 1000, 80, dtype=torch.bfloat16)

    def run():
        hidden = network.hidden(spectra)
        if kind == "broken":
            hidden = hidden.cpu()
        nets.gathered(hidden.float().mean(1).to(GPU))
    return inference(run)


@case("ddp_reader_aloud_durations_read_one_by_one", "reader_aloud", "cpu_gpu_sync",
      "phonemes looked up by the sums of durations, on the GPU", 24, accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """80 phonemes a text, together 480 frames long."""
    with torch.device(GPU):
        network = sounds.ReaderAloud(one_by_one=kind == "broken")
    longer = torch.randint(0, 4, (12, 40))
    durations = torch.stack([6 + longer, 6 - longer], dim=2).flatten(1)
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, phonemes, durations, spectra: F.l1_loss(m(phonemes, durations).float(), spectra),
                    resident(torch.randint(0, 96, (12, 80)), durations, torch.randn(12, 480, 80)))


@case("ddp_surveys_network_after_network", "surveys", "launch_overhead",
      "networks of all columns in one product", 16384)
def _(kind):
    """An additive model: one small network for each of 32 columns."""
    with torch.device(GPU):
        network = nets.ColumnByColumn() if kind == "broken" else nets.AllColumns()
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, columns, wanted: F.mse_loss(m(columns).float(), wanted),
                    resident(torch.randn(8192, 32), torch.randn(8192)))


@case("ddp_sketches_trained_in_fp32", "sketches", "precision", "bf16 autocast", 16)
def _(kind):
    """A diffusion transformer learns which way from noise to sketches; float32 as PyTorch has it by default."""
    with torch.device(GPU):
        network = nets.Drawing(dim=1024, layers=6, heads=16, pieces=512)
    batch = resident(torch.randn(8, 512, 64), torch.randn(8, 512, 64), torch.rand(8, 1), torch.randn(8, 512))

    def loss_of(m, sketches, noise, level, asked):
        mixed = torch.lerp(sketches, noise, level[:, :, None])
        return F.mse_loss(m(mixed, level, asked).float(), noise - sketches)
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, batch, mixed=kind == "fixed",
                    before=tf32(False))


@case("ddp_songs_slopes_and_scores_written_out", "songs", "attention",
      "scaled_dot_product_attention with the slopes as its mask", 4, accept=["attention", "memory_bandwidth"])
def _(kind):
    """ALiBi over songs of 4096 sounds."""
    with torch.device(GPU):
        network = sounds.Songs(written_out=kind == "broken")
    slopes = sounds.slopes_of(16, 4096)
    (ids,) = resident(*tokens(2, 4096, 4096))()
    return training(parallel(network, gradient_as_bucket_view=True), next_sound, lambda: (ids, slopes))


@case("ddp_letters_amsgrad_per_parameter", "letters_of_sailors", "optimizer", "AdamW(amsgrad=True, fused=True)", 32,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    """foreach=False was set when memory was short."""
    with torch.device(GPU):
        network = own.Decoder(dim=640, layers=22, heads=10, length=512)
    how = {"foreach": False} if kind == "broken" else {"fused": True}
    return training(parallel(network, gradient_as_bucket_view=True), next_token, resident(*tokens(16, 512)),
                    adamw(network, amsgrad=True, **how))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_callers_2304_wide_healthy", "callers2304", "none", "", 48)
def _(kind):
    with torch.device(GPU):
        network = sounds.Frames(80, 2304, 5, 18, 400, 500)
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, spectra, units: F.cross_entropy(m(spectra).flatten(0, 1).float(), units.flatten()),
                    resident(torch.randn(24, 400, 80), torch.randint(0, 500, (24, 400))))


@case("fsdp_decoder_3584_wide_healthy", "decoder3584", "none", "", 12)
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(dim=3584, layers=4, heads=28, length=1024, llama=True, hidden=9728)
    return training(sharded(model, model.blocks), next_token, resident(*tokens(6, 1024)), mixed=False)


CASES = mixed_by_cause(FOUND)
