"""A further set of cases for record_traces.py --cases trace_cases_blind11: networks of torchvision, timm, transformers
and trace_nets_blind11.py, each with one plain flaw and its usual remedy; written by somebody who did not know the
analysis. Needs timm and PIL besides."""
import copy

import torch
import torch.nn.functional as F

import trace_nets_blind11 as nets
from trace_cases import (GPU, Prefetched, adamw, captured, channels_last, classify, copied, graph_if, huggingface_loss,
                         images, inference, loaded, nhwc, resident, tf32, tokens, training)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_nets_blind9 import picture_network
from trace_nets_blind10 import Photos, lit

WORKERS = 12
FOUND, case = annotated_case_list()


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("gernet_pose_warped_in_process", "gernet_pose", "data_loading", "num_workers 0 -> 12", 32, loader=True)
def _(kind):
    batches, close = loaded(nets.People(), 32, 0 if kind == "broken" else WORKERS)
    model = nets.Pose("gernet_l", 17)
    return training(model, lambda m, x, maps: F.mse_loss(m(x).float(), maps), nhwc(batches)), close


@case("dla60_decodes_full_size_photos", "dla60", "data_loading", "photos shrunk to 320 x 256 once, before training", 64,
      loader=True)
def _(kind):
    """Photos as they come from a camera, of which 224 x 224 are needed."""
    photos = Photos(16, 1600, 1200) if kind == "broken" else Photos(16, 320, 256)
    batches, close = loaded(photos, 64, WORKERS)
    model = picture_network("dla60")
    return training(model, lambda m, x, y: classify(m, channels_last(lit(x, torch.bfloat16)), y), batches), close


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("satellite_bands_pageable", "resnet50d", "host_transfer", "16-bit bands in pinned memory, prefetched", 64)
def _(kind):
    """Thirteen bands of a satellite, of which no more than 16 bits were ever known."""
    model = picture_network("resnet50d", in_chans=13, num_classes=10).bfloat16().eval()
    bands = torch.randint(0, 10000, (64, 13, 256, 256), dtype=torch.int16)
    batches = copied(bands.float(), pinned=False, blocking=True) if kind == "broken" else Prefetched(bands)

    def run():
        (x,) = batches()
        return model(channels_last(x.bfloat16() / 10000)).argmax(1)
    return inference(run)


@case("moco_queue_left_on_host", "moco_resnet18d", "host_transfer", "the queue of keys stays on the GPU", 128)
def _(kind):
    """Two views of each picture; the other view's key comes from a slow average of the network."""
    model = picture_network("resnet18d", num_classes=256)
    slow = copy.deepcopy(model).requires_grad_(False)
    waiting = nets.Waiting("cpu" if kind == "broken" else GPU)
    views = [channels_last(images(128)[0]) for _ in range(2)]

    def loss_of(m, x, other):
        with torch.no_grad():
            torch._foreach_lerp_(list(slow.parameters()), list(m.parameters()), 0.001)
            keys = F.normalize(slow(other).float(), dim=1)
        loss = nets.contrast(F.normalize(m(x).float(), dim=1), keys, waiting.keys.to(GPU))
        waiting.replace(keys)
        return loss
    return training(model, loss_of, resident(*views))


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("face_attributes_counted_one_by_one", "ecaresnet26t", "cpu_gpu_sync", "all attributes counted on the GPU", 64)
def _(kind):
    """Precision and recall of forty attributes, at every step."""
    model = picture_network("ecaresnet26t", num_classes=40)
    x, y = images(64, size=176)[0], torch.rand(64, 40) < 0.3
    hits, false, missed = ([0] * 40 for _ in range(3))
    counts = torch.zeros(3, 40, dtype=torch.long, device=GPU)

    def loss_of(m, x, y):
        scores = m(x).float()
        found = scores.detach() > 0
        if kind == "broken":
            for at in range(40):
                hits[at] += (found[:, at] & y[:, at]).sum().item()
                false[at] += (found[:, at] & ~y[:, at]).sum().item()
                missed[at] += (~found[:, at] & y[:, at]).sum().item()
        else:
            counts.add_(torch.stack([(found & y).sum(0), (found & ~y).sum(0), (~found & y).sum(0)]))
        return F.binary_cross_entropy_with_logits(scores, y.float())
    return training(model, loss_of, resident(channels_last(x), y))


@case("hand_joints_read_one_by_one", "skresnet_hands", "cpu_gpu_sync", "argmax of all maps at once, one copy", 32)
def _(kind):
    """Twenty-one joints a hand."""
    model = nets.Pose("skresnet34", 21).bfloat16().eval()
    x = channels_last(torch.randn(32, 3, 256, 256, device=GPU, dtype=torch.bfloat16))
    read = nets.joints_in_turn if kind == "broken" else nets.joints_at_once
    return inference(lambda: read(model(x)))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("inception_resnet_infer_batch1", "inception_resnet_v2", "launch_overhead", "CUDA graph", 1,
      accept=["launch_overhead", "gpu_underused"])  # one picture is little, too
def _(kind):
    model = picture_network("inception_resnet_v2").bfloat16().eval()
    x = channels_last(torch.randn(1, 3, 299, 299, device=GPU, dtype=torch.bfloat16))
    step = inference(lambda: model(x))
    return captured(step) if kind == "fixed" else step


@case("growing_cells_updated_eagerly", "growing_cells", "launch_overhead", "CUDA graph of the whole step", 8)
def _(kind):
    """48 updates of 64 x 64 cells, and the way back through all of them."""
    with torch.device(GPU):
        model = nets.Cells()
        seed, wanted = torch.zeros(8, 16, 64, 64), torch.rand(8, 4, 64, 64)
    seed[:, 3:, 32, 32] = 1.0
    return graph_if(kind == "fixed", model, lambda m, x, y: F.mse_loss(m(x).float(), y), lambda: (seed, wanted))


# --- precision -------------------------------------------------------------------------------------------------------

@case("mbart_fine_tuned_in_fp32", "mbart", "precision", "bf16 autocast", 24)
def _(kind):
    """Summaries of 64 words, of texts of 256."""
    import transformers as hf
    config = hf.MBartConfig(vocab_size=16384, d_model=1024, encoder_layers=4, decoder_layers=4, encoder_ffn_dim=4096,
                            decoder_ffn_dim=4096, encoder_attention_heads=16, decoder_attention_heads=16, dropout=0.0,
                            max_position_embeddings=512, use_cache=False)
    model = transformers_network("MBartForConditionalGeneration", config)
    texts, summaries = torch.randint(4, 16000, (24, 256)), torch.randint(4, 16000, (24, 65))

    def loss_of(m, ids, words):
        scores = m(input_ids=ids, decoder_input_ids=words[:, :-1]).logits
        return F.cross_entropy(scores.flatten(0, 1).float(), words[:, 1:].flatten())
    return training(model, loss_of, resident(texts, summaries), mixed=kind == "fixed", before=tf32(False))


@case("dpt_depth_in_fp32", "dpt", "precision", "bf16 weights", 12)
def _(kind):
    import transformers as hf
    model = transformers_network("DPTForDepthEstimation", hf.DPTConfig(), train=False)
    x = torch.randn(12, 3, 384, 384, device=GPU)
    if kind == "fixed":
        model, x = model.bfloat16(), x.bfloat16()
    return inference(lambda: model(pixel_values=x).predicted_depth)


# --- attention -------------------------------------------------------------------------------------------------------

@case("starcoder2_eager_attention", "starcoder2", "attention", 'attn_implementation "eager" -> "sdpa"', 4)
def _(kind):
    import transformers as hf
    config = hf.Starcoder2Config(vocab_size=16384, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
                                 num_attention_heads=16, num_key_value_heads=4, max_position_embeddings=2048,
                                 use_cache=False, attn_implementation="eager" if kind == "broken" else "sdpa")
    return training(transformers_network("Starcoder2ForCausalLM", config), huggingface_loss, resident(*tokens(4, 2048)))


@case("large_pictures_scores_written_out", "large_picture", "attention", "scaled_dot_product_attention", 4)
def _(kind):
    """4096 patches a picture."""
    with torch.device(GPU):
        model = nets.LargePicture(kind == "broken").bfloat16().eval()
        x = torch.randn(4, 3, 1024, 1024).bfloat16()
    return inference(lambda: model(x))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("snake_activations_unfused", "wave_maker", "memory_bandwidth", "torch.compile fuses the activation", 16)
def _(kind):
    """A quarter of a million samples altogether, 192 channels each."""
    activation = torch.compile(nets.snake) if kind == "fixed" else nets.snake
    with torch.device(GPU):
        model = nets.WaveMaker(activation)
        mel, wave = torch.randn(16, 80, 256), torch.rand(16, 16384) - 0.5
    return training(model, lambda m, x, y: F.l1_loss(m(x).float(), y), lambda: (mel, wave))


@case("lattice_fluid_unfused", "lattice_fluid", "memory_bandwidth", "torch.compile fuses the collision", 2048)
def _(kind):
    """Eight time steps of 2048 x 2048 cells."""
    collided = torch.compile(nets.collided) if kind == "fixed" else nets.collided
    east, north = (part.float().to(GPU)[:, None, None] for part in (nets.EAST, nets.NORTH))
    weight = nets.WEIGHT.to(GPU)[:, None, None]
    fluid = [weight * (1 + 0.01 * torch.randn(9, 2048, 2048, device=GPU))]

    def run():
        for _ in range(8):
            fluid[0] = nets.streamed(collided(fluid[0], east, north, weight, 1.2))
    return inference(run)


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("poolformer_adamw_per_parameter", "poolformer", "optimizer", "AdamW(fused=True)", 16)
def _(kind):
    model = picture_network("poolformer_s24", False)
    return training(model, classify, resident(*images(16)),
                    adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model))


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("hiera_empties_cache_per_step", "hiera", "memory_allocation", "no empty_cache() in the loop", 64)
def _(kind):
    def cleared(model, loss):
        if kind == "broken":
            torch.cuda.empty_cache()
    model = picture_network("hiera_tiny_224", False)
    return training(model, classify, resident(*images(64)), tail=cleared)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("resnetv2_train_batch16", "resnetv2_50", "gpu_underused", "batch 16 -> 128", 16, fixed_batch=128)
def _(kind):
    x, y = images(16 if kind == "broken" else 128)
    return training(picture_network("resnetv2_50"), classify, resident(channels_last(x), y))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("vit_giant_infer_healthy", "vit_giant", "none", "", 40)
def _(kind):
    model = picture_network("vit_giant_patch14_224", False).bfloat16().eval()
    batches = Prefetched(torch.randint(0, 256, (40, 3, 224, 224), dtype=torch.uint8))
    return inference(lambda: model(lit(batches()[0], torch.bfloat16)).argmax(1))


@case("torch_transformer_healthy", "torch_transformer", "none", "", 16)
def _(kind):
    with torch.device(GPU):
        model = nets.Translator().bfloat16()

    def loss_of(m, source, target):
        return F.cross_entropy(m(source, target).flatten(0, 1).float(), target.flatten())
    return training(model, loss_of, Prefetched(*tokens(16, 512), *tokens(16, 512)), mixed=False)


@case("stablelm_width_trained_healthy", "stablelm", "none", "", 5)
def _(kind):
    import transformers as hf
    config = hf.StableLmConfig(vocab_size=16384, hidden_size=4096, intermediate_size=11008, num_hidden_layers=3,
                               num_attention_heads=32, num_key_value_heads=32, max_position_embeddings=1024,
                               use_cache=False, attn_implementation="sdpa")
    model = transformers_network("StableLmForCausalLM", config).bfloat16()
    return training(model, huggingface_loss, Prefetched(*tokens(5, 1024)), mixed=False)


CASES = mixed_by_cause(FOUND)
