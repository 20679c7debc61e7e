"""A fifteenth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp15: pictures, sound and rows of
tables, data-parallel, sharded, tensor parallel and with collectives by hand, each with one plain flaw and its usual
remedy; seven flaws have nothing to do with there being two GPUs. Needs torchvision besides."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
import trace_nets_ddp15 as nets
from trace_cases import (GPU, Prefetched, channels_last, classify, images, inference, loaded, resident, tf32, training,
                         vision)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_cases_ddp11 import sharded
from trace_nets_ddp14 import Encoder, Mean, place_loss

FOUND, case = annotated_case_list()


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_voices_backend_gloo", "voices_resnet34", "multi_gpu_comm", "backend nccl", 512,
      accept=["multi_gpu_comm", "host_transfer"])
def _(kind):
    """Whose voice it is, from a spectrogram; the script was first tried on a machine without GPUs."""
    network = vision("resnet34")
    network.conv1 = nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False).to(GPU)
    network.fc = nn.Linear(512, 5994).to(GPU)
    network = network.to(memory_format=torch.channels_last)
    more = {"process_group": dist.new_group(backend="gloo")} if kind == "broken" else {}
    model = parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False, **more)
    x, y = torch.randn(256, 1, 80, 300), torch.randint(0, 5994, (256,))
    return training(model, classify, resident(channels_last(x), y))


@case("fsdp_panoramas_under_autocast", "panoramas", "multi_gpu_comm",
      "MixedPrecisionPolicy(param_dtype=torch.bfloat16)", 6, accept=["multi_gpu_comm", "precision"])
def _(kind):
    """fully_shard without a policy: the products are in bf16 by autocast, what is gathered is fp32."""
    from torch.distributed.fsdp import fully_shard
    with torch.device(GPU):
        model = own.PatchTransformer(image=352, patch=16, dim=5120, layers=4, heads=40)
    data = resident(*images(3, 352))
    if kind == "fixed":
        return training(sharded(model, model.blocks), classify, data, mixed=False)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return training(model, classify, data)


@case("ddp_sensors_sums_of_each_column_reduced", "sensors", "multi_gpu_comm",
      "the sums of all columns in one all-reduce", 16384, accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Rows of 160 sensors are scaled by mean and spread over both ranks' batch."""
    with torch.device(GPU):
        model = nets.RowNet(160, 2048, 5, 12, hidden=4096)
    rows, kinds = resident(torch.randn(8192, 160), torch.randint(0, 12, (8192,)))()

    def batches():
        return nets.scaled_columns(rows, together=kind == "fixed"), kinds
    return training(parallel(model, gradient_as_bucket_view=True), classify, batches)


@case("ddp_adverts_tables_on_both_ranks", "adverts", "multi_gpu_comm",
      "each rank has half of the tables, looked-up vectors exchanged", 32768,
      accept=["multi_gpu_comm", "optimizer", "memory_bandwidth"])
def _(kind):
    """26 tables of 400 thousand vectors each, in DistributedDataParallel with all the rest."""
    with torch.device(GPU):
        ids, clicked = torch.randint(0, 400_000, (16384, 26)), torch.randint(0, 2, (16384,)).float()
        network = nets.ClickerWithTables(26, 400_000, 64) if kind == "broken" else nets.Clicker()
        tables = None if kind == "broken" else nets.ShareOfTables(26, 400_000, 64)
    model = parallel(network, gradient_as_bucket_view=True)
    weights = [*model.parameters(), *(tables.parameters() if tables else ())]

    def loss_of(m, ids, clicked):
        scores = m(tables(ids)) if tables else m(ids)
        return F.binary_cross_entropy_with_logits(scores.float(), clicked)
    return training(model, loss_of, resident(ids, clicked), torch.optim.SGD(weights, 0.05, fused=True))


@case("hum_cut_in_two_gathers_all_moments", "hum", "multi_gpu_comm", "only the edges exchanged", 1)
def _(kind):
    """One long recording under the sea, its first half on rank 0 and its second on rank 1."""
    with torch.device(GPU):
        layers = [nets.HumLayer(384, 2 ** (index % 8), kind == "broken").bfloat16() for index in range(12)]
        moments = torch.randn(131072, 384, dtype=torch.bfloat16)

    def run():
        x = moments
        for layer in layers:
            x = layer(x)
    return inference(run)


@case("tp_shelves_sums_through_rank0", "shelves", "multi_gpu_comm", "dist.all_reduce", 128)
def _(kind):
    """Tensor parallel: what the ranks' halves of a layer give is added up on rank 0 and sent back."""
    def summed(part):
        if kind == "fixed":
            dist.all_reduce(part)
        else:
            dist.reduce(part, 0)
            dist.broadcast(part, 0)
        return part
    with torch.device(GPU):
        layers = [nets.ShelfLayer(768, 12, dist.get_world_size(), summed).bfloat16() for _ in range(10)]
        patches = torch.randn(128, 196, 768, dtype=torch.bfloat16)

    def run():
        x = patches
        for layer in layers:
            x = layer(x)
    return inference(run)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_mc3_long_clips_on_rank1", "mc3_18", "load_imbalance", "clips of 16 frames on both ranks", 24)
def _(kind):
    """The list of clips is sorted by length: rank 0 has those of eight frames, rank 1 those of 24."""
    import torchvision
    network = torchvision.models.video.mc3_18(weights=None).to(GPU)
    frames = 16 if kind == "fixed" else (8, 24)[dist.get_rank()]
    return training(parallel(network, gradient_as_bucket_view=True), classify,
                    resident(torch.randn(12, 3, frames, 112, 112), torch.randint(0, 400, (12,))))


@case("ddp_instruments_resampled_on_rank1", "instruments", "load_imbalance", "files at 16 kHz on both ranks", 128,
      loader=True, accept=["load_imbalance", "data_loading"])
def _(kind):
    """Rank 0's files were written at 16 kHz once; rank 1's come at 44.1 kHz and are resampled by the workers."""
    batches, close = loaded(nets.Instruments(kind == "fixed" or dist.get_rank() == 0), 64, 12)
    with torch.device(GPU):
        model = Mean(nets.Frames(1024), 1024, 6, 16, 160, 128)
    return training(parallel(model, gradient_as_bucket_view=True), classify, batches), close


@case("fsdp_claims_files_of_unlike_size", "claims", "load_imbalance", "512 rows on both ranks", 1024)
def _(kind):
    """A rank takes its region's claims of the day: 832 here, 192 there."""
    with torch.device(GPU):
        model = nets.FieldTransformer(48, 0, 768, 6, 12)
    rows = 512 if kind == "fixed" else (832, 192)[dist.get_rank()]
    return training(sharded(model, model.blocks), classify,
                    resident(torch.randn(rows, 48), torch.randint(0, 2, (rows,))), mixed=False)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_payments_parsed_by_two_workers", "payments", "data_loading", "num_workers 2 -> 12 on both ranks", 2048,
      loader=True)
def _(kind):
    batches, close = loaded(nets.Transactions(), 1024, 2 if kind == "broken" else 12)
    with torch.device(GPU):
        model = nets.FieldTransformer(8, 16, 768, 5, 12, vocab=50000)

    def loss_of(m, numbers, words, bad):
        return F.cross_entropy(m(numbers, words).float(), bad)
    return training(parallel(model, gradient_as_bucket_view=True), loss_of, batches), close


@case("ddp_microphones_copied_as_float64", "microphones", "host_transfer",
      "fp32, pinned, copied on a second stream during the step before", 128)
def _(kind):
    """Two seconds of eight microphones, float64 as numpy has them; the GPU makes fp32 of them."""
    x, y = torch.randn(64, 8, 32000, dtype=torch.float64), torch.randint(0, 360, (64,))
    with torch.device(GPU):
        model = Mean(nets.Frames(1536, microphones=8), 1536, 6, 12, 80, 360)
    if kind == "fixed":
        batches = Prefetched(x.float(), y)
    else:
        def batches():
            return x.to(GPU).float(), y.to(GPU)
    return training(parallel(model, gradient_as_bucket_view=True), classify, batches)


@case("ddp_regnet_x_patches_picture_by_picture", "regnet_x_3_2gf", "cpu_gpu_sync",
      "patches of all pictures by one mask", 160, accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """CutMix, with a box of its own for every picture, drawn on the GPU."""
    patched = nets.patched_at_once if kind == "fixed" else nets.patched_in_turn

    def loss_of(m, x, y):
        others = torch.randperm(len(x), device=GPU)
        mixed, own_part = patched(x, nets.boxes_of(len(x), x.shape[3]), others)
        scores = m(channels_last(mixed)).float()
        own_loss, patch_loss = (F.cross_entropy(scores, wanted, reduction="none") for wanted in (y, y[others]))
        return (own_part * own_loss + (1 - own_part) * patch_loss).mean()
    x, y = images(80)
    return training(parallel(vision("regnet_x_3_2gf"), gradient_as_bucket_view=True), loss_of,
                    resident(channels_last(x), y))


@case("ddp_birds_trained_in_tf32", "birds", "precision", "bf16 autocast", 48)
def _(kind):
    """TF32 was switched on, and that was it."""
    with torch.device(GPU):
        model = Mean(nn.Linear(128, 1280), 1280, 6, 20, 512, 500)
    return training(parallel(model, gradient_as_bucket_view=True), classify,
                    resident(torch.randn(24, 512, 128), torch.randint(0, 500, (24,))), mixed=kind == "fixed",
                    before=tf32(True))


@case("ddp_films_scores_of_all_patches_written_out", "films", "attention", "scaled_dot_product_attention", 6,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    with torch.device(GPU):
        model = nets.FilmReader("manual" if kind == "broken" else "flash")
    return training(parallel(model, gradient_as_bucket_view=True), classify,
                    resident(torch.randn(3, 3, 32, 224, 224), torch.randint(0, 400, (3,))))


@case("ddp_stems_madgrad_per_parameter", "stems", "optimizer", "the same MADGRAD with torch._foreach functions", 64,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    """Which of 64 sounds each frame of a song is made of."""
    with torch.device(GPU):
        model = Encoder(nn.Linear(160, 768), 768, 14, 12, 400, 64)
    optimizer = nets.Madgrad(model.parameters(), together=kind == "fixed")
    return training(parallel(model, gradient_as_bucket_view=True), place_loss,
                    resident(torch.randn(32, 400, 160), torch.randint(0, 64, (32, 400))), optimizer)


@case("ddp_happenings_cells_in_a_loop", "happenings", "launch_overhead", "nn.GRU, whose loop is cuDNN's", 256)
def _(kind):
    with torch.device(GPU):
        model = nets.Happenings(cells=kind == "broken").to(memory_format=torch.channels_last)
    x, there = torch.randn(128, 1, 64, 240), torch.randint(0, 2, (128, 60, 10)).float()

    def loss_of(m, x, there):
        return F.binary_cross_entropy_with_logits(m(x).float(), there)
    return training(parallel(model, gradient_as_bucket_view=True), loss_of, resident(channels_last(x), there))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_whales_healthy", "whales", "none", "", 24)
def _(kind):
    with torch.device(GPU):
        model = Mean(nn.Linear(128, 2560), 2560, 4, 20, 800, 40).bfloat16()
    return training(parallel(model, gradient_as_bucket_view=True), classify,
                    Prefetched(torch.randn(12, 800, 128).bfloat16(), torch.randint(0, 40, (12,))), mixed=False)


@case("fsdp_ledgers_healthy", "ledgers", "none", "", 16384)
def _(kind):
    with torch.device(GPU):
        model = nets.RowNet(96, 3072, 4, 8)
    return training(sharded(model, model.blocks), classify,
                    resident(torch.randn(8192, 96), torch.randint(0, 8, (8192,))), mixed=False)


CASES = mixed_by_cause(FOUND)
