"""A further set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp10: data-parallel, sharded and
split models, each with one plain flaw and its usual remedy; some flaws have nothing to do with there being two GPUs.
Written by somebody who did not know the analysis. Needs timm and transformers besides."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import trace_models as own
import trace_nets_ddp10 as nets
from trace_cases import (GPU, adamw, amp, channels_last, classify, huggingface_loss, images, inference, loaded,
                         next_token, nhwc, resident, tf32, tokens, training)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_nets_blind9 import picture_network

FOUND, case = annotated_case_list()


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_phi3_no_sync_only_around_backward", "phi3", "multi_gpu_comm", "no_sync() around the forward pass too", 8)
def _(kind):
    """Four micro-batches of one text on each rank; whether backward reduces is settled when forward begins."""
    import transformers as hf
    config = hf.Phi3Config(vocab_size=16384, hidden_size=2048, intermediate_size=8192, num_hidden_layers=6,
                           num_attention_heads=16, num_key_value_heads=16, max_position_embeddings=1024,
                           original_max_position_embeddings=1024, resid_pdrop=0.0, embd_pdrop=0.0,
                           attention_dropout=0.0, sliding_window=None, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                           use_cache=False, attn_implementation="sdpa")
    model = parallel(transformers_network("Phi3ForCausalLM", config), gradient_as_bucket_view=True)
    optimizer, (ids,) = adamw(model), resident(*tokens(1, 512))()

    def loss_of():
        with amp():
            return huggingface_loss(model, ids) / 4

    def step():
        optimizer.zero_grad(set_to_none=True)
        for _ in range(3):
            loss = loss_of() if kind == "broken" else None
            with model.no_sync():
                (loss if kind == "broken" else loss_of()).backward()
        loss_of().backward()
        optimizer.step()
    return step


@case("ddp_vit_huge_hook_waits_for_average", "vit_huge", "multi_gpu_comm",
      "DistributedDataParallel's own reduction, overlapped with backward", 24)
def _(kind):
    """A communication hook that averages a bucket before it returns: backward goes on only afterwards."""
    model = parallel(picture_network("vit_huge_patch14_224", False), gradient_as_bucket_view=True)

    def average(_, bucket):
        gradients = bucket.buffer()
        dist.all_reduce(gradients)
        gradients /= dist.get_world_size()
        done = torch.futures.Future()
        done.set_result(gradients)
        return done
    if kind == "broken":
        model.register_comm_hook(None, average)
    return training(model, classify, resident(*images(12)))


@case("focalnet_gradients_sent_to_rank0", "focalnet", "multi_gpu_comm",
      "DistributedDataParallel: all-reduce in buckets during backward", 32,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Rank 0 is a server: it sums each gradient, updates the weights and sends each of them back."""
    network, data = picture_network("focalnet_small_srf", False), resident(*images(16))
    if kind == "fixed":
        return training(parallel(network, gradient_as_bucket_view=True), classify, data)
    weights, optimizer = list(network.parameters()), adamw(network)

    def step():
        network.zero_grad(set_to_none=True)
        with amp():
            loss = classify(network, *data())
        loss.backward()
        for weight in weights:
            dist.reduce(weight.grad, 0)
        if dist.get_rank() == 0:
            torch._foreach_div_([weight.grad for weight in weights], dist.get_world_size())
            optimizer.step()
        for weight in weights:
            dist.broadcast(weight.detach(), 0)
    return step


@case("ddp_singer_reduces_listener_twice", "singer", "multi_gpu_comm",
      "no_sync() of the discriminator in the generator's step", 8)
def _(kind):
    """In the generator's step the discriminator gets gradients that nobody uses; they are all-reduced as well."""
    with torch.device(GPU):
        singer, listener = nets.Singer(), nets.Listener()
        songs = torch.randn(4, 64, 80)
    singer, listener = parallel(singer), parallel(listener)
    of_singer, of_listener = adamw(singer), adamw(listener)

    def noise():
        return torch.randn(4, 64, 128, device=GPU)

    def step():
        with torch.no_grad(), amp():
            sung = singer(noise()).float()
        of_listener.zero_grad(set_to_none=True)
        with amp():
            scores = listener(torch.cat([songs, sung])).float()
            loss = F.softplus(-scores[:4]).mean() + F.softplus(scores[4:]).mean()
        loss.backward()
        of_listener.step()
        of_singer.zero_grad(set_to_none=True)
        with listener.no_sync() if kind == "fixed" else contextlib.nullcontext():
            with amp():
                loss = F.softplus(-listener(singer(noise()).float()).float()).mean()
            loss.backward()
        of_singer.step()
    return step


@case("ddp_many_tongues_reduces_unused_heads", "many_tongues", "multi_gpu_comm",
      "only the trunk in DistributedDataParallel, the head in use reduced by itself", 32)
def _(kind):
    """A batch is of one of 16 languages; find_unused_parameters=True sends zeros for the heads of the others."""
    fixed, at = kind == "fixed", {"step": 0}
    with torch.device(GPU):
        network = nets.ManyTongues()
    if fixed:
        names = [f"heads.{index}.weight" for index in range(len(network.heads))]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(network, names)
    model, (ids,) = parallel(network, find_unused_parameters=not fixed), resident(*tokens(16, 128))()
    optimizer = adamw(model)

    def average(*_):
        dist.all_reduce(network.heads[at["step"] % 16].weight.grad, op=dist.ReduceOp.AVG)
    if fixed:
        optimizer.register_step_pre_hook(average)

    def batches():
        at["step"] += 1
        return ids, at["step"] % 16
    return training(model, lambda m, ids, language: m(ids, language), batches, optimizer)


@case("fsdp_olmo_gathers_for_every_word", "olmo", "multi_gpu_comm",
      "reshard_after_forward=False while a text is generated", 16)
def _(kind):
    """Four words after a prompt, drawn from the sharded model that is trained otherwise."""
    import transformers as hf
    from torch.distributed.fsdp import fully_shard
    config = hf.OlmoConfig(vocab_size=16384, hidden_size=4096, intermediate_size=11008, num_hidden_layers=6,
                           num_attention_heads=32, max_position_embeddings=1024, pad_token_id=0, eos_token_id=1,
                           attn_implementation="sdpa")
    model = transformers_network("OlmoForCausalLM", config, train=False).bfloat16()
    units = [*model.model.layers, model]
    for unit in units:
        fully_shard(unit, reshard_after_forward=kind == "broken")
    (prompt,) = resident(*tokens(8, 128))()

    def run():
        cache, ids = hf.DynamicCache(), prompt
        for _ in range(4):
            scores = model(input_ids=ids, past_key_values=cache, use_cache=True).logits
            ids = scores[:, -1:].argmax(-1)
        if kind == "fixed":
            for unit in units:
                unit.reshard()
    return inference(run)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_visformer_anomaly_mode_on_rank0", "visformer", "load_imbalance", "set_detect_anomaly(False) on rank 0", 256,
      accept=["load_imbalance", "cpu_gpu_sync", "launch_overhead"])
def _(kind):
    """Left on where a bug was looked for; rank 1 waits."""
    model = parallel(picture_network("visformer_small", False), gradient_as_bucket_view=True)
    plain = training(model, classify, resident(*images(128)))

    def step():
        with torch.autograd.set_detect_anomaly(kind == "broken" and dist.get_rank() == 0):
            plain()
    return step


@case("ddp_nfnet_five_micro_batches_on_rank1", "nfnet", "load_imbalance", "three micro-batches on each rank", 144)
def _(kind):
    """The shard of rank 1 is five times as large."""
    count = 3 if kind == "fixed" else (1, 5)[dist.get_rank()]
    model = parallel(picture_network("eca_nfnet_l0"), gradient_as_bucket_view=True, broadcast_buffers=False)
    optimizer, (x, y) = adamw(model), images(24)
    x, y = channels_last(x.to(GPU)), y.to(GPU)

    def step():
        optimizer.zero_grad(set_to_none=True)
        for index in range(count):
            with model.no_sync() if index < count - 1 else contextlib.nullcontext():
                with amp():
                    loss = classify(model, x, y) / count
                loss.backward()
        optimizer.step()
    return step


@case("friends_cut_by_people", "friends", "load_imbalance", "people dealt out so that both ranks have as many edges",
      200_000)
def _(kind):
    """A graph network looks at all people; those with most friends come first."""
    with torch.device(GPU):
        model = nets.Friends(kind == "fixed").eval()
        x = torch.randn(200_000, 128)
    return inference(lambda: model(x))


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_vovnet_shoes_decoded_by_three_workers", "vovnet", "data_loading", "num_workers 3 -> 12 on both ranks", 96,
      loader=True)
def _(kind):
    batches, close = loaded(nets.Shoes(), 48, 3 if kind == "broken" else 12)
    model = parallel(picture_network("ese_vovnet39b"), gradient_as_bucket_view=True)
    return training(model, classify, nhwc(batches)), close


@case("ddp_taste_draws_songs_in_python", "taste", "data_loading", "the other songs drawn on the GPU, all at once", 8192)
def _(kind):
    with torch.device(GPU):
        model = nets.Taste()
    return training(parallel(model, gradient_as_bucket_view=True), lambda m, who, songs: m(who, songs),
                    nets.Plays(4096, kind == "fixed"))


@case("fsdp_summariser_ranges_read_one_by_one", "summariser", "cpu_gpu_sync", "ranges kept in tensors on the GPU", 8,
      accept=["cpu_gpu_sync", "launch_overhead", "multi_gpu_comm"])
def _(kind):
    """How large the inputs and outputs of each product get, for int8 later."""
    from torch.distributed.fsdp import fully_shard
    with torch.device(GPU):
        model = own.Decoder(dim=4096, layers=6, heads=32, length=512, llama=True, hidden=11008).bfloat16().eval()
    ranges = {}

    def note(name, x):
        largest = x.abs().amax()
        if kind == "broken":
            ranges[name] = max(ranges.get(name, 0.0), largest.item())
        else:
            ranges[name] = torch.maximum(ranges.get(name, largest), largest)

    def watch(name, linear):
        def hook(_, given, found):
            note(name + ".in", given[0])
            note(name, found)
        linear.register_forward_hook(hook)
    for name, part in model.blocks.named_modules():
        if isinstance(part, nn.Linear):
            watch(name, part)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    (ids,) = resident(*tokens(4, 512))()
    return inference(lambda: model(ids))


@case("ddp_levit_memory_changed_picture_by_picture", "levit", "cpu_gpu_sync", "all rows of the memory in one indexing",
      512)
def _(kind):
    network = nets.Remembered(picture_network("levit_256", False, num_classes=256), together=kind == "fixed")
    which, kept = torch.arange(256) * 150 + dist.get_rank(), {}

    def loss_of(m, x, which):
        loss, found = m(x, which)
        kept["last"] = found, which
        return loss
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(torch.randn(256, 3, 224, 224), which), tail=lambda *_: network.remember(*kept["last"]))


@case("fsdp_judge_weights_offloaded", "judge", "host_transfer", "no CPUOffloadPolicy: the weights fit", 8)
def _(kind):
    """Scores answers with a sharded model whose shards wait in the host's memory."""
    from torch.distributed.fsdp import CPUOffloadPolicy, OffloadPolicy, fully_shard
    with torch.device(GPU):
        model = nets.Judge().bfloat16().eval()
    policy = CPUOffloadPolicy() if kind == "broken" else OffloadPolicy()
    for block in model.blocks:
        fully_shard(block, offload_policy=policy)
    fully_shard(model, offload_policy=policy)
    (ids,) = resident(*tokens(4, 512))()
    return inference(lambda: model(ids))


@case("fsdp_poems_without_mixed_precision", "poems", "precision", "MixedPrecisionPolicy(param_dtype=torch.bfloat16)",
      16)
def _(kind):
    """Products of fp32 matrices use TF32."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    half = torch.bfloat16 if kind == "fixed" else None
    policy = MixedPrecisionPolicy(param_dtype=half, reduce_dtype=torch.float32)
    with torch.device(GPU):
        model = own.Decoder(dim=2560, layers=6, heads=20, length=512)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return training(model, next_token, resident(*tokens(8, 512)), mixed=False, before=tf32(True))


@case("ddp_crossvit_adan_per_parameter", "crossvit", "optimizer", "the same Adan with torch._foreach functions", 64)
def _(kind):
    model = parallel(picture_network("crossvit_15_240", False), gradient_as_bucket_view=True)
    return training(model, classify, resident(*images(32, 240)),
                    nets.Adan(model.parameters(), together=kind == "fixed"))


@case("tp_books_scores_written_out", "books", "attention", "scaled_dot_product_attention", 1,
      accept=["attention", "memory_bandwidth"])
def _(kind):
    """Reads a text of 8192 words; half of the heads and hidden units are on each rank."""
    with torch.device(GPU):
        layers = [nets.BookLayer(4096, 32, dist.get_world_size(), kind == "broken").bfloat16() for _ in range(4)]
        text = torch.randn(1, 8192, 4096, dtype=torch.bfloat16)
        later = torch.ones(8192, 8192, dtype=torch.bool).triu(1)

    def run():
        x = text
        for layer in layers:
            x = layer(x, later)
    return inference(run)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_flexivit_large_healthy", "flexivit_large", "none", "", 128)
def _(kind):
    model = parallel(picture_network("flexivit_large", False, img_size=240).bfloat16(),
                     gradient_as_bucket_view=True)
    x, y = images(64, 240)
    return training(model, classify, resident(x.bfloat16(), y), mixed=False)


@case("fsdp_wide_decoder_healthy", "wide_decoder3072", "none", "", 16)
def _(kind):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    with torch.device(GPU):
        model = own.Decoder(dim=3072, layers=4, heads=24, length=1024)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return training(model, next_token, resident(*tokens(8, 1024)), mixed=False)


@case("pipeline_of_two_halves_healthy", "abstracts", "none", "", 64)
def _(kind):
    """Eight micro-batches pass through six layers on rank 0, then six on rank 1, which asks for the next early."""
    first = dist.get_rank() == 0
    with torch.device(GPU):
        half = nn.Sequential(*(own.Block(2048, 16, causal=False) for _ in range(6))).bfloat16().eval()
        parts = torch.randn(8, 8, 512, 2048, dtype=torch.bfloat16)

    def send():
        sent = [(found, dist.isend(found, 1)) for found in map(half, parts)]
        for _, sending in sent:
            sending.wait()

    def receive():
        coming = dist.irecv(parts[0], 0)
        for index in range(8):
            coming.wait()
            if index < 7:
                coming = dist.irecv(parts[index + 1], 0)
            half(parts[index])
    return inference(send if first else receive)


CASES = mixed_by_cause(FOUND)
