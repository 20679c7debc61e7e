"""A further set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp8: data-parallel and sharded
training, evaluation and scoring, each with one plain flaw and its usual remedy; some flaws have nothing to do with
there being two GPUs. Written by somebody who did not know the analysis. Needs timm and transformers besides."""
import io

import torch
import torch.distributed as dist
import torch.nn.functional as F

import trace_nets_ddp8 as nets
from trace_cases import (GPU, Prefetched, adamw, channels_last, classify, huggingface_loss, images,
                         inference, loaded, nhwc, resident, tokens, training)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel
from trace_nets_blind9 import picture_network

FOUND, case = annotated_case_list()


def sharded(model, layers, reshard=True):
    """Layer by layer; products in bf16, the optimizer's weights in fp32."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in layers:
        fully_shard(layer, mp_policy=policy, reshard_after_forward=reshard)
    return fully_shard(model, mp_policy=policy)


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("fsdp_mistral_reduces_every_micro_batch", "mistral", "multi_gpu_comm",
      "weights stay gathered and gradients unreduced until the last micro-batch", 8)
def _(kind):
    """Four micro-batches of one text on each rank."""
    import transformers as hf
    config = hf.MistralConfig(vocab_size=16384, hidden_size=4096, intermediate_size=11008, num_hidden_layers=4,
                              num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=1024,
                              sliding_window=None, use_cache=False, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.MistralForCausalLM(config).train()
    fixed = kind == "fixed"
    sharded(model, model.model.layers, reshard=not fixed)
    optimizer = adamw(model)
    (ids,) = resident(*tokens(1, 512))()

    def step():
        optimizer.zero_grad(set_to_none=True)
        for index in range(4):
            if fixed:
                model.set_requires_gradient_sync(index == 3)
                model.set_reshard_after_backward(index == 3)
            (huggingface_loss(model, ids) / 4).backward()
        optimizer.step()
    return step


@case("ddp_picture_bank_broadcast_as_buffer", "picture_bank", "multi_gpu_comm",
      "broadcast_buffers=False: both ranks update the bank alike", 128)
def _(kind):
    """DistributedDataParallel sends rank 0's buffers before every forward, by default."""
    bank = nets.Bank(picture_network("repvgg_a2", num_classes=128))
    model = parallel(bank, gradient_as_bucket_view=True, broadcast_buffers=kind == "broken")
    x, which = channels_last(torch.randn(64, 3, 224, 224)), torch.arange(64) + 64 * dist.get_rank()

    def loss_of(m, x, which):
        scores, found = m(x, which)
        bank.remember(found, which)
        return F.cross_entropy(scores, torch.zeros_like(which))
    return training(model, loss_of, resident(x, which))


@case("gemma_perplexity_gathers_logits", "gemma", "multi_gpu_comm",
      "each rank's loss computed where its logits are, one all-reduce of the sums", 8)
def _(kind):
    """Evaluates; as evaluation loops that gather all outputs before the metric do."""
    import transformers as hf
    config = hf.GemmaConfig(vocab_size=256000, hidden_size=2048, intermediate_size=8192, num_hidden_layers=6,
                            num_attention_heads=8, num_key_value_heads=1, head_dim=256, max_position_embeddings=1024,
                            use_cache=False, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.GemmaForCausalLM(config).bfloat16().eval()
        total = torch.zeros(2)
    (ids,) = resident(*tokens(4, 512, 256000))()

    def everywhere(part):
        both = part.new_empty(dist.get_world_size() * part.shape[0], *part.shape[1:])
        dist.all_gather_into_tensor(both, part)
        return both

    def run():
        scores, wanted = model(input_ids=ids).logits.float(), ids
        if kind == "broken":
            scores, wanted = everywhere(scores), everywhere(wanted)
        wanted = wanted[:, 1:].flatten()
        loss = F.cross_entropy(scores[:, :-1].flatten(0, 1), wanted, reduction="sum")
        seen = torch.stack([loss, torch.full_like(loss, wanted.numel())])
        if kind == "fixed":
            dist.all_reduce(seen)
        total.add_(seen)
    return inference(run)


@case("fsdp_phi_reference_gathered_at_every_call", "phi", "multi_gpu_comm",
      "the frozen reference whole on each rank: it fits", 8)
def _(kind):
    """How likely a frozen reference model finds the answers that the policy gave."""
    import transformers as hf
    config = hf.PhiConfig(vocab_size=16384, hidden_size=4096, intermediate_size=16384, num_hidden_layers=8,
                          num_attention_heads=32, max_position_embeddings=1024, resid_pdrop=0.0, embd_pdrop=0.0,
                          attention_dropout=0.0, use_cache=False, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.PhiForCausalLM(config).bfloat16().eval().requires_grad_(False)
    if kind == "broken":
        from torch.distributed.fsdp import fully_shard
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
    (ids,) = resident(*tokens(4, 128))()

    def run():
        chances = F.log_softmax(model(input_ids=ids).logits[:, :-1].float(), dim=-1)
        return chances.gather(2, ids[:, 1:, None]).sum((1, 2))
    return inference(run)


@case("ddp_res2net_averages_statistics_every_step", "res2net", "multi_gpu_comm",
      "running means and variances averaged once an epoch", 64, accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """timm's distribute_bn: an all-reduce for each buffer of each norm."""
    from timm.utils import distribute_bn
    model = parallel(picture_network("res2net50_26w_4s"), gradient_as_bucket_view=True, broadcast_buffers=False)
    x, y = images(32)

    def tail(model, _):
        if kind == "broken":
            distribute_bn(model, dist.get_world_size(), True)
    return training(model, classify, resident(channels_last(x), y), tail=tail)


@case("ddp_davit_gathers_each_gradient", "davit", "multi_gpu_comm",
      "DistributedDataParallel: all-reduce in buckets during backward", 48,
      accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """Each gradient is gathered from both ranks and the mean taken, once backward is over."""
    model = picture_network("davit_small", False)
    data = resident(*images(24))
    if kind == "fixed":
        return training(parallel(model, gradient_as_bucket_view=True), classify, data)
    optimizer = adamw(model)

    def average(*_):
        for p in model.parameters():
            parts = [torch.empty_like(p.grad) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, p.grad.contiguous())
            p.grad = torch.stack(parts).mean(0)
    optimizer.register_step_pre_hook(average)
    return training(model, classify, data, optimizer)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_segformer_rank0_saves_every_step", "segformer", "load_imbalance",
      "checkpoints once an epoch, not at every step", 32, accept=["load_imbalance", "host_transfer"])
def _(kind):
    """Rank 1 waits for rank 0 in the next step's all-reduce."""
    import transformers as hf
    config = hf.SegformerConfig(num_labels=19, drop_path_rate=0.0, classifier_dropout_prob=0.0)
    with torch.device(GPU):
        model = hf.SegformerForSemanticSegmentation(config).train()

    def loss_of(m, x, y):
        scores = m(pixel_values=x).logits.float()
        return F.cross_entropy(F.interpolate(scores, size=y.shape[1:], mode="bilinear"), y)

    def save(m, _):
        if kind == "broken" and dist.get_rank() == 0:
            torch.save(m.module.state_dict(), io.BytesIO())
    data = torch.randn(16, 3, 384, 384), torch.randint(0, 19, (16, 384, 384))
    return training(parallel(model), loss_of, resident(*data), tail=save)


@case("ddp_marian_long_sentences_on_rank1", "marian", "load_imbalance",
      "batches of like length on both ranks at the same time", 96)
def _(kind):
    """Equally many sentences each; the corpus is sorted by length and cut in the middle."""
    import transformers as hf
    length = 144 if kind == "fixed" else (64, 224)[dist.get_rank()]
    config = hf.MarianConfig(vocab_size=16384, d_model=1024, max_position_embeddings=256, encoder_layers=6,
                             decoder_layers=6, encoder_attention_heads=16, decoder_attention_heads=16,
                             encoder_ffn_dim=4096, decoder_ffn_dim=4096, dropout=0.0, attention_dropout=0.0,
                             activation_dropout=0.0, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
                             use_cache=False, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.MarianMTModel(config).train()
    return training(parallel(model, gradient_as_bucket_view=True), huggingface_loss,
                    resident(torch.randint(2, 16384, (48, length))))


@case("video_on_one_rank_sound_on_the_other", "video_with_sound", "load_imbalance",
      "both networks on each rank, half of the clips each", 12)
def _(kind):
    """Embeds clips: pictures on rank 0, spectrograms on rank 1, then both ranks compare the two."""
    from torchvision.models.video import mvit_v1_b
    rank, ranks, fixed = dist.get_rank(), dist.get_world_size(), kind == "fixed"
    count = 12 // ranks if fixed else 12
    watch = hear = None
    if fixed or rank == 0:
        with torch.device(GPU):
            watch = mvit_v1_b(weights=None, num_classes=128).bfloat16().eval()
            clips = torch.randn(count, 3, 16, 224, 224, dtype=torch.bfloat16)
    if fixed or rank == 1:
        hear = picture_network("resnet26t", in_chans=1, num_classes=128).bfloat16().eval()
        sounds = channels_last(torch.randn(count, 1, 128, 512, device=GPU, dtype=torch.bfloat16))

    def shared(found, source):
        if not fixed:
            found = torch.empty(12, 128, device=GPU, dtype=torch.bfloat16) if found is None else found
            dist.broadcast(found, source)
            return found
        whole = found.new_empty(12, 128)
        dist.all_gather_into_tensor(whole, found)
        return whole

    def run():
        seen = watch(clips).contiguous() if watch is not None else None
        heard = hear(sounds).contiguous() if hear is not None else None
        return F.cosine_similarity(shared(seen, 0).float(), shared(heard, 1).float(), dim=1)
    return inference(run)


# --- other causes, on two GPUs ---------------------------------------------------------------------------------------

@case("ddp_edgenext_tiles_inflated_by_two_workers", "edgenext", "data_loading",
      "num_workers 2 -> 12 on both ranks", 64, loader=True)
def _(kind):
    batches, close = loaded(nets.Tiles(), 32, 2 if kind == "broken" else 12)
    model = picture_network("edgenext_small", in_chans=12, num_classes=19)
    return training(parallel(model, gradient_as_bucket_view=True), classify, nhwc(batches)), close


@case("ddp_pit_accuracy_of_every_class", "pit", "cpu_gpu_sync", "hits counted by class on the GPU, never read", 128)
def _(kind):
    """How many of each of a hundred classes were right, noted at every step."""
    model, kinds = parallel(picture_network("pit_s_224", False, num_classes=100), gradient_as_bucket_view=True), 100
    x, y = images(64, classes=kinds)
    notes, right, all_of = {}, torch.zeros(kinds, device=GPU), torch.zeros(kinds, device=GPU)

    def note(best, y):
        hits = best == y
        if kind == "fixed":
            right.index_add_(0, y, hits.float())
            all_of.index_add_(0, y, torch.ones_like(y, dtype=torch.float32))
            return
        for each in range(kinds):
            of_kind = hits[y == each]
            if len(of_kind):
                notes[each] = of_kind.float().mean().item()

    def loss_of(m, x, y):
        scores = m(x).float()
        note(scores.detach().argmax(1), y)
        return F.cross_entropy(scores, y)
    return training(model, loss_of, resident(x, y))


@case("ddp_beit_trains_in_fp32", "beit", "precision", "bf16 autocast", 32)
def _(kind):
    """As PyTorch comes: products of fp32 matrices do not use TF32."""
    model = parallel(picture_network("beit_base_patch16_224", False), gradient_as_bucket_view=True)
    return training(model, classify, resident(*images(16)), mixed=kind == "fixed")


@case("ddp_twins_lamb_per_parameter", "twins", "optimizer", "the same LAMB with torch._foreach functions", 64,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    model = parallel(picture_network("twins_svt_small", False), gradient_as_bucket_view=True)
    return training(model, classify, resident(*images(32)), nets.Lamb(model.parameters(), together=kind == "fixed"))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("fsdp_olmo2_healthy", "olmo2", "none", "", 12)
def _(kind):
    """Gathers the next layer's weights while this one computes."""
    import transformers as hf
    config = hf.Olmo2Config(vocab_size=16384, hidden_size=4096, intermediate_size=11008, num_hidden_layers=3,
                            num_attention_heads=32, max_position_embeddings=1024, use_cache=False,
                            attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.Olmo2ForCausalLM(config).train()
    sharded(model, model.model.layers)
    return training(model, huggingface_loss, resident(*tokens(6, 1024)), mixed=False)


@case("ddp_embedder_healthy", "embedder", "none", "", 128)
def _(kind):
    with torch.device(GPU):
        model = nets.Embedder().bfloat16()
    return training(parallel(model, gradient_as_bucket_view=True), nets.pair_loss, resident(*tokens(64, 256)),
                    mixed=False)


@case("ddp_wide_resnet101_healthy", "wide_resnet101", "none", "", 256)
def _(kind):
    model = picture_network("wide_resnet101_2").bfloat16()
    x, y = images(128)
    return training(parallel(model, gradient_as_bucket_view=True), classify,
                    Prefetched(channels_last(x.bfloat16()), y), mixed=False)


CASES = mixed_by_cause(FOUND)
