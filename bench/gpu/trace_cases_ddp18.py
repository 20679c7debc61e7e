"""An eighteenth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp18: texts, retrieval, graphs,
time series and physics, data-parallel, sharded and with collectives by hand, each with one plain flaw and its usual
remedy; eight flaws have nothing to do with there being two GPUs. Written by somebody who did not know the analysis."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
import trace_nets_ddp18 as nets
import trace_nets_ddp18b as science
from trace_cases import (GPU, adamw, amp, classify, inference, loaded, next_token, resident, tf32, tokens,
                         training)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_cases_ddp11 import sharded

FOUND, case = annotated_case_list()


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("index_scores_of_all_passages_gathered", "passage_index", "multi_gpu_comm",
      "each rank's hundred best and their scores gathered, not all scores", 256)
def _(kind):
    index = nets.Index()
    questions = torch.randn(256, 512, device=GPU, dtype=torch.bfloat16)
    best = index.best_of_all_scores if kind == "broken" else index.best_of_best
    return inference(lambda: best(questions))


@case("tp_laws_norms_reduced_weight_by_weight", "laws", "multi_gpu_comm", "one all-reduce of all squared norms", 2,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Tensor parallel; gradients are clipped by their norm over both ranks."""
    with torch.device(GPU):
        model = nets.HalfDecoder().bfloat16()
    split = [weight for layer in model.layers for weight in layer.split_weights()]
    known = {id(weight) for weight in split}
    whole = [weight for weight in model.parameters() if id(weight) not in known]
    optimizer = adamw(model)

    def squares(weights):
        return torch.stack(torch._foreach_norm([weight.grad for weight in weights])).float().square().sum()

    @torch.no_grad()
    def clip(*_):
        total = squares(whole)
        if kind == "fixed":
            halves = squares(split)
            dist.all_reduce(halves)
            total += halves
        else:
            for weight in split:
                square = torch.linalg.vector_norm(weight.grad).float().square()
                dist.all_reduce(square)
                total += square
        scale = (1.0 / (total.sqrt() + 1e-6)).clamp(max=1.0).bfloat16()
        torch._foreach_mul_([weight.grad for weight in model.parameters()], scale)
    optimizer.register_step_pre_hook(clip)
    return training(model, next_token, resident(*tokens(2, 1024, 8192)), optimizer, mixed=False)


@case("ddp_retriever_reduced_for_each_part_of_cache", "retriever", "multi_gpu_comm",
      "no_sync() but for the last part of the batch", 48)
def _(kind):
    """Gradients of the vectors are cached: all texts are read once without a graph, then again in six parts."""
    with torch.device(GPU):
        network = nets.Retriever()
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer, (ids,) = adamw(model), resident(*tokens(24, 64))()
    same = torch.arange(12, device=GPU)

    def wanted_change():
        with torch.no_grad(), amp():
            vectors = network(ids)
        vectors.requires_grad_()
        questions, passages = vectors.chunk(2)
        F.cross_entropy(questions @ passages.T / 0.05, same).backward()
        return vectors.grad

    def step():
        optimizer.zero_grad(set_to_none=True)
        changes = wanted_change()
        for index, (part, change) in enumerate(zip(ids.split(4), changes.split(4))):
            quiet = kind == "fixed" and index < 5
            with model.no_sync() if quiet else contextlib.nullcontext():
                with amp():
                    vectors = model(part)
                (vectors * change).sum().backward()
        optimizer.step()
    return step


@case("roads_all_sent_not_those_at_the_border", "roads", "multi_gpu_comm", "only roads at the border are gathered",
      640_000)
def _(kind):
    """Each rank has one half of a map; three roads in a hundred meet one of the other half."""
    return inference(nets.Roads(border=kind == "fixed").run)


@case("fsdp_sales_each_linear_layer_a_unit", "sales", "multi_gpu_comm", "fully_shard by block", 96,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        model = science.Series()
    units = model.blocks
    if kind == "broken":
        units = [part for block in model.blocks for part in block.modules() if isinstance(part, nn.Linear)]
    return training(sharded(model, units), science.following_loss, resident(torch.randn(48, 4096)), mixed=False)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_reactors_quick_ones_on_rank1", "reactors", "load_imbalance", "quick and slow reactors on both ranks", 49152)
def _(kind):
    """What reacts quickly needs eight steps of time, the rest two."""
    with torch.device(GPU):
        network = science.Reactors((2, 8) if kind == "fixed" else ((2, 2), (8, 8))[dist.get_rank()])
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, first, second, later: F.mse_loss(m(first, second).float(), later),
                    resident(torch.randn(12288, 256), torch.randn(12288, 256), torch.randn(24576, 256)))


@case("word_index_books_on_rank0_notes_on_rank1", "word_index", "load_imbalance",
      "long and short passages dealt out to both ranks", 32)
def _(kind):
    index = nets.WordIndex(128 if kind == "fixed" else (192, 64)[dist.get_rank()])
    questions = torch.randn(4, 8, 32, 128, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: [index.best(part) for part in questions])


@case("ddp_power_rank1_without_tf32", "power", "load_imbalance", "TF32 allowed on both ranks", 96,
      accept=["load_imbalance", "precision"])
def _(kind):
    """The machine of rank 1 was started without the setting."""
    with torch.device(GPU):
        network = science.Series(dim=1024, layers=5, heads=16)
    return training(parallel(network, gradient_as_bucket_view=True), science.following_loss,
                    resident(torch.randn(48, 4096)), mixed=False,
                    before=tf32(kind == "fixed" or dist.get_rank() == 0))


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_authors_friends_drawn_in_process", "authors", "data_loading", "num_workers 0 -> 12 on both ranks", 128,
      loader=True)
def _(kind):
    batches, close = loaded(nets.Authors(), 64, 0 if kind == "broken" else 12)
    with torch.device(GPU):
        network = nets.Writings()
    return training(parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False), classify, batches), close


@case("plasma_energy_added_up_on_the_host", "plasma", "host_transfer", "energy added up on the GPU", 2,
      accept=["host_transfer", "cpu_gpu_sync"])
def _(kind):
    """Two moments; after them, how much energy each field has in the halves of both ranks."""
    with torch.device(GPU):
        network = science.Plasma().to(memory_format=torch.channels_last)
        fields = torch.randn(1, 3, 1536, 1536).contiguous(memory_format=torch.channels_last)
    log = {}

    def run():
        for _ in range(2):
            with amp():
                change = network(fields)
            fields.add_(change, alpha=1e-4)
        if kind == "broken":
            energy = fields.cpu().square().sum((0, 2, 3)).to(GPU)
        else:
            energy = fields.square().sum((0, 2, 3))
        dist.all_reduce(energy)
        log["energy"] = energy
    return inference(run)


@case("ddp_turbines_errors_of_each_hour_read", "turbines", "cpu_gpu_sync",
      "errors of all hours in one tensor that stays on the GPU", 384, accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """How wrong each of the 96 hours is that are told."""
    with torch.device(GPU):
        network = science.Turbines()
    kept, log = {}, {}

    def loss_of(m, x, power):
        told = m(x).float()
        kept["apart"] = told.detach() - power
        return F.l1_loss(told, power)

    def note(*_):
        apart = kept["apart"]
        if kind == "fixed":
            log["mae"], log["rmse"] = apart.abs().mean(0), apart.square().mean(0).sqrt()
            return
        for hour in range(apart.shape[1]):
            log["mae", hour] = apart[:, hour].abs().mean().item()
            log["rmse", hour] = apart[:, hour].square().mean().sqrt().item()
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(torch.randn(192, 512, 512), torch.randn(192, 96)), tail=note)


@case("lakes_small_steps_operation_by_operation", "lakes", "launch_overhead", "24 small steps as one CUDA graph", 32)
def _(kind):
    """Each rank has one half of the ensemble, whose mean is wanted after 24 small steps of time."""
    lakes = science.Lakes()
    advance = science.recorded(lambda: lakes.advance(24)) if kind == "fixed" else lambda: lakes.advance(24)

    def run():
        advance()
        mean = lakes.state.mean(1)
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return inference(run)


@case("ddp_plates_bent_in_float64", "plates", "precision", "float32, with TF32 products", 32768)
def _(kind):
    """A physics-informed network; second derivatives by autograd."""
    number = torch.float64 if kind == "broken" else torch.float32
    with torch.device(GPU):
        network, places = science.Plates().to(number), torch.rand(16384, 3, dtype=number)

    def loss_of(m, places):
        bend, missed = m(places)
        return bend.square().mean() + missed.square().mean()
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, resident(places), mixed=False,
                    before=tf32(True))


@case("ddp_contacts_scores_with_paths_written_out", "contacts", "attention",
      "scaled_dot_product_attention with the paths as its mask", 6, accept=["attention", "memory_bandwidth"])
def _(kind):
    """Graphs of 2048 nodes; the length of the path between two of them counts."""
    with torch.device(GPU):
        network = nets.Contacts(written_out=kind == "broken")
        paths = -0.1 * torch.randint(0, 12, (3, 1, 2048, 2048)).bfloat16()
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, nodes, paths, wanted: F.mse_loss(m(nodes, paths).float(), wanted),
                    resident(torch.randint(0, 64, (3, 2048)), paths, torch.randn(3, 20)))


@case("ddp_fables_yogi_per_parameter", "fables", "optimizer", "the same Yogi with torch._foreach functions", 8,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        network = own.Decoder(dim=1024, layers=20, heads=16, length=1024)
    model = parallel(network, gradient_as_bucket_view=True)
    return training(model, next_token, resident(*tokens(4, 1024)), nets.Yogi(model, kind == "fixed"))


@case("ddp_diaries_cache_emptied_after_each_step", "diaries", "memory_allocation", "no torch.cuda.empty_cache()", 16)
def _(kind):
    """As was advised once, when memory had run out."""
    with torch.device(GPU):
        network = own.Decoder(dim=1280, layers=8, heads=20, length=1024)

    def tidy(*_):
        if kind == "broken":
            torch.cuda.empty_cache()
    return training(parallel(network, gradient_as_bucket_view=True), next_token, resident(*tokens(8, 1024)), tail=tidy)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_series_2560_wide_healthy", "series2560", "none", "", 128)
def _(kind):
    with torch.device(GPU):
        network = science.Series(dim=2560, layers=5, heads=20).bfloat16()
    return training(parallel(network, gradient_as_bucket_view=True), science.following_loss,
                    resident(torch.randn(64, 4096).bfloat16()), mixed=False)


@case("fsdp_decoder_4608_wide_healthy", "decoder4608", "none", "", 20)
def _(kind):
    with torch.device(GPU):
        model = own.Decoder(dim=4608, layers=3, heads=36, length=512, llama=True, hidden=12288)
    return training(sharded(model, model.blocks), next_token, resident(*tokens(10, 512)), mixed=False)


CASES = mixed_by_cause(FOUND)
