"""A seventeenth set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp17: pictures, speech, rows of
tables and players that learn by trying, data-parallel, sharded and with collectives by hand, each with one plain flaw
and its usual remedy; eight flaws have nothing to do with there being two GPUs. Written by somebody who did not know the
analysis."""
import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
import trace_nets_ddp17 as nets
from trace_cases import GPU, adamw, amp, channels_last, classify, images, inference, resident, training
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_cases_ddp11 import sharded

FOUND, case = annotated_case_list()


def moment_loss(model, x, wanted):
    return F.cross_entropy(model(x).flatten(0, 1).float(), wanted.flatten())


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("arena_weights_sent_tensor_by_tensor", "arena", "multi_gpu_comm", "all weights sent as one tensor", 256,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Rank 0 learns from what rank 1 saw; rank 1 plays on with rank 0's new weights."""
    with torch.device(GPU):
        player = nets.Player()
    arena = nets.Arena(player, together=kind == "fixed")
    learn = training(player, arena.loss, lambda: (arena.seen,))

    def step():
        dist.broadcast(arena.seen, 1)
        if dist.get_rank() == 0:
            learn()
        else:
            arena.play(2)
        arena.send_weights()
    return step


@case("ddp_dialects_one_recording_a_rank", "dialects", "multi_gpu_comm", "12 recordings a rank for each all-reduce", 2,
      fixed_batch=24, accept=["multi_gpu_comm", "gpu_underused"])
def _(kind):
    """Which of 30 dialects is spoken, from five seconds; the batch is as it was on a small GPU."""
    count = 1 if kind == "broken" else 12
    with torch.device(GPU):
        network = nets.WholeListener(80, 3072, 6, 24, 500, 30)
    return training(parallel(network, gradient_as_bucket_view=True), classify,
                    resident(torch.randn(count, 500, 80), torch.randint(0, 30, (count,))))


@case("fsdp_moths_every_module_a_unit", "moths", "multi_gpu_comm", "fully_shard by block", 128,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Norms and linear layers of a vision transformer are sharded each by itself."""
    with torch.device(GPU):
        model = own.PatchTransformer(image=224, patch=16, dim=1024, layers=12, heads=16)
    units = list(model.blocks)
    if kind == "broken":
        units = [part for block in units for part in block.children()]
    return training(sharded(model, units), classify, resident(*images(64)), mixed=False)


@case("lookalikes_among_all_gathered_customers", "lookalikes", "multi_gpu_comm",
      "each rank looks among its own customers, the best of both are merged", 512)
def _(kind):
    """Customers most like 256 new ones a rank; each rank has the vectors of one million, and adds the new ones'."""
    with torch.device(GPU):
        encoder = nets.GatedRows(200, 768, 2, 1536, 768).bfloat16()
        rows = torch.randn(256, 200, dtype=torch.bfloat16)
    customers = nets.Lookalikes()
    find = customers.among_all if kind == "broken" else customers.by_halves

    def run():
        vectors = encoder(rows)
        find(vectors)
        customers.keep(vectors)
    return inference(run)


@case("ddp_roofs_norms_reduced_tensor_by_tensor", "roofs", "multi_gpu_comm",
      "clip_grad_norm_: the averaged gradients are the same on both ranks", 128,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Gradients are clipped by their norm, to which each rank is thought to have its part."""
    with torch.device(GPU):
        network = own.PatchTransformer(image=256, patch=16, dim=640, layers=24, heads=10)
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer = adamw(model)

    def clip(*_):
        if kind == "fixed":
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            return
        gradients, total = [weight.grad for weight in model.parameters()], 0
        for gradient in gradients:
            squares = gradient.norm().square()
            dist.all_reduce(squares)
            total = total + squares / dist.get_world_size()
        torch._foreach_mul_(gradients, (1.0 / (total.sqrt() + 1e-6)).clamp(max=1.0))
    optimizer.register_step_pre_hook(clip)
    return training(model, classify, resident(*images(64, 256)), optimizer)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_quests_long_episodes_on_rank1", "quests", "load_imbalance", "levels dealt out, 400 ticks on both ranks", 96)
def _(kind):
    """Each rank plays levels of its own: on rank 0 it is over after 160 ticks, on rank 1 after 640."""
    ticks = 400 if kind == "fixed" else (160, 640)[dist.get_rank()]
    with torch.device(GPU):
        network = nets.Listener(256, 768, 8, 12, 640, 19, causal=True)

    def loss_of(m, seen, done, gained):
        out = m(seen).float()
        better = gained - out[..., 18]
        chosen = F.log_softmax(out[..., :18], dim=-1).gather(2, done[..., None]).squeeze(2)
        return better.square().mean() - (chosen * better.detach()).mean()
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(torch.randn(48, ticks, 256), torch.randint(0, 18, (48, ticks)), torch.randn(48, ticks)))


@case("ddp_narrator_rank0_speaks_for_the_log", "narrator", "load_imbalance", "sound for the log once in 500 steps", 128)
def _(kind):
    """Spectrograms from phonemes; after each step rank 0 makes sound of eight others, to be listened to."""
    with torch.device(GPU):
        network, vocoder = nets.Listener(96, 768, 8, 12, 400, 80), nets.Vocoder().requires_grad_(False)
        spoken = torch.randn(8, 400, 96)
    log = {}

    @torch.no_grad()
    def speak(model, _):
        if kind == "fixed" or dist.get_rank() != 0:
            return
        with amp():
            log["sound"] = vocoder(model.module(spoken).transpose(1, 2).contiguous())
    return training(parallel(network, gradient_as_bucket_view=True), lambda m, x, y: F.l1_loss(m(x).float(), y),
                    resident(torch.randn(64, 400, 96), torch.randn(64, 400, 80)), tail=speak)


@case("ddp_loans_rank0_shuffles_columns", "loans", "load_imbalance", "what the columns matter: once in 500 steps",
      32768)
def _(kind):
    """After each step rank 0 notes how much worse loans are judged when one of eight columns is shuffled."""
    with torch.device(GPU):
        network = nets.GatedRows(64, 1024, 6, 2048, 2)
        held, repaid = torch.randn(8192, 64), torch.randint(0, 2, (8192,))
    log = {}

    @torch.no_grad()
    def matter(model, _):
        if kind == "fixed" or dist.get_rank() != 0:
            return
        for column in range(8):
            shuffled = held.clone()
            shuffled[:, column] = held[torch.randperm(8192, device=GPU), column]
            with amp():
                log[column] = classify(model.module, shuffled, repaid)
    return training(parallel(network, gradient_as_bucket_view=True), classify,
                    resident(torch.randn(16384, 64), torch.randint(0, 2, (16384,))), tail=matter)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_racers_memory_of_tuples", "racers", "data_loading", "the memory is a tensor of bytes on the GPU", 512,
      accept=["data_loading", "host_transfer"])
def _(kind):
    """Double Q-learning from frames; a batch is drawn from a list of tuples and stacked in the step."""
    with torch.device(GPU):
        network = nets.Racer().to(memory_format=torch.channels_last)
    target = copy.deepcopy(network).requires_grad_(False)
    memory = nets.Memory() if kind == "broken" else nets.MemoryOnGpu()

    def loss_of(m, before, actions, rewards, after):
        worth = m(channels_last(before)).float().gather(1, actions[:, None]).squeeze(1)
        with torch.no_grad():  # after the other pass: autocast keeps its bf16 weights, which must have gradients
            after = channels_last(after)
            best = m.module(after).argmax(1, keepdim=True)
            wanted = rewards + 0.99 * target(after).float().gather(1, best).squeeze(1)
        return F.smooth_l1_loss(worth, wanted)
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, lambda: memory.draw(256))


@case("ddp_robots_seen_through_numpy", "robots", "host_transfer", "what robots feel stays on the GPU", 65536,
      accept=["host_transfer", "cpu_gpu_sync"])
def _(kind):
    """The simulator is on the GPU, as the policy is; between them is an interface that speaks NumPy."""
    robots = nets.Robots(8192, 256, 20)
    with torch.device(GPU):
        network = nets.Walker(256, 20, 2048, 3)
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer = adamw(model)

    def observed(state):
        return state if kind == "fixed" else torch.from_numpy(state.cpu().numpy()).to(GPU)

    def step():
        felt, taken, gained, now = [], [], [], observed(robots.state)
        for _ in range(4):
            with torch.no_grad(), amp():
                forces, _ = network(now)
            felt.append(now)
            taken.append(forces + 0.1 * torch.randn_like(forces))
            now = observed(robots.tick(taken[-1]))
            gained.append(-now.square().mean(1))
        optimizer.zero_grad(set_to_none=True)
        with amp():
            forces, value = model(torch.cat(felt))
        better = torch.cat(gained) - value
        miss = (forces - torch.cat(taken)).square().mean(1)
        (better.square().mean() + (miss * better.detach()).mean()).backward()
        optimizer.step()
    return step


@case("ddp_accents_pooled_one_by_one", "accents", "cpu_gpu_sync", "mean and spread of all recordings by a mask", 192,
      accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """Recordings are padded; how long they are is a tensor on the GPU."""
    with torch.device(GPU):
        network = nets.Accents(at_once=kind == "fixed")

    def loss_of(m, x, lengths, accents):
        return F.cross_entropy(m(x, lengths).float(), accents)
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(torch.randn(96, 200, 80), torch.randint(80, 201, (96,)), torch.randint(0, 60, (96,))))


@case("ddp_houses_priced_in_double", "houses", "precision", "float32 weights and rows, bf16 autocast", 8192)
def _(kind):
    """The table came from pandas as float64, and the network was made to match."""
    with torch.device(GPU):
        network, rows, prices = nets.GatedRows(120, 1024, 5, 2048, 1), torch.randn(4096, 120), torch.randn(4096)
    if kind == "broken":
        network, rows, prices = network.double(), rows.double(), prices.double()
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, x, y: F.mse_loss(m(x).squeeze(1).to(y.dtype), y), resident(rows, prices),
                    mixed=kind == "fixed")


@case("ddp_meetings_scores_of_all_moments_written_out", "meetings", "attention", "scaled_dot_product_attention", 8,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    """Who speaks at each of 2400 moments of a meeting."""
    with torch.device(GPU):
        network = nets.Listener(80, 768, 6, 12, 2400, 12, attention="manual" if kind == "broken" else "flash")
    return training(parallel(network, gradient_as_bucket_view=True), moment_loss,
                    resident(torch.randn(4, 2400, 80), torch.randint(0, 12, (4, 2400))))


@case("ddp_coins_ademamix_per_parameter", "coins", "optimizer", "the same AdEMAMix with torch._foreach functions", 128,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    with torch.device(GPU):
        network = own.PatchTransformer(image=192, patch=16, dim=768, layers=20, heads=12)
    model = parallel(network, gradient_as_bucket_view=True)
    return training(model, classify, resident(*images(64, 192)),
                    nets.AdEMAMix(model.parameters(), together=kind == "fixed"))


@case("ddp_gliders_advantages_tick_by_tick", "gliders", "launch_overhead", "sums over 1, 2, 4... ticks of all games",
      1024)
def _(kind):
    """512 ticks of 512 games a rank; how much better than expected each was is found from the last to the first."""
    with torch.device(GPU):
        network = nets.Walker(64, 8, 1024, 3)
        felt, taken, rewards = torch.randn(513, 512, 64), torch.randn(512, 512, 8), torch.randn(512, 512)
        going = (torch.rand(512, 512) > 0.005).float()

    def loss_of(m, felt, taken, rewards, going):
        forces, values = m(felt)
        better = nets.advantages(rewards, values.detach(), going, at_once=kind == "fixed")
        goal = better + values[:-1].detach()
        miss = (forces[:-1] - taken).square().mean(2)
        return (values[:-1] - goal).square().mean() + (miss * better).mean()
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, resident(felt, taken, rewards, going))


@case("ddp_galaxies_cache_emptied_after_each_step", "galaxies", "memory_allocation",
      "no empty_cache() in the loop", 16)
def _(kind):
    """Outlines of galaxies; once, memory ran out."""
    with torch.device(GPU):
        network = own.UNet(base=64, depth=4, classes=8).to(memory_format=torch.channels_last)
        pictures, kinds = torch.randn(8, 3, 256, 256), torch.randint(0, 8, (8, 256, 256))

    def tidy(*_):
        if kind == "broken":
            torch.cuda.empty_cache()
    return training(parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False), classify,
                    resident(channels_last(pictures), kinds), tail=tidy)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_icebergs_healthy", "icebergs", "none", "", 96)
def _(kind):
    with torch.device(GPU):
        network = own.PatchTransformer(image=256, patch=16, dim=1792, layers=6, heads=14).bfloat16()
    pictures, kinds = images(48, 256)
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(pictures.bfloat16(), kinds),
                    mixed=False)


@case("fsdp_listener_healthy", "listener2048", "none", "", 24)
def _(kind):
    with torch.device(GPU):
        model = nets.Listener(80, 2048, 8, 16, 800, 1024)
    return training(sharded(model, model.blocks), moment_loss,
                    resident(torch.randn(12, 800, 80), torch.randint(0, 1024, (12, 800))), mixed=False)


CASES = mixed_by_cause(FOUND)
