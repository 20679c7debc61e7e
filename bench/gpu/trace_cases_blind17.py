"""A further set of cases for record_traces.py --cases trace_cases_blind17: medicine, depth, bodies, meshes, sound,
weather and games, each with one plain flaw and its usual remedy; written by somebody who did not know the analysis.
Networks are those of timm, torchvision, transformers and trace_nets_blind17 and 17b."""
import torch
import torch.nn.functional as F

import trace_nets_blind17 as nets
import trace_nets_blind17b as more
from trace_cases import (GPU, Prefetched, adamw, captured, channels_last, classify, copied, images, inference,
                         loaded, resident, tf32, training)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_nets_blind9 import picture_network

WORKERS = 12
FOUND, case = annotated_case_list()


def on_gpu(kind, *arguments, **more):
    with torch.device(GPU):
        return kind(*arguments, **more)


def laid_out(network):
    return network.to(memory_format=torch.channels_last)


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("chest_pictures_unpacked_by_four_workers", "vgg19_bn", "data_loading", "num_workers 4 -> 12", 32, loader=True)
def _(kind):
    import torchvision
    batches, close = loaded(nets.Chests(), 32, 4 if kind == "broken" else WORKERS)
    model = laid_out(on_gpu(torchvision.models.vgg19_bn, weights=None, init_weights=False, num_classes=14))

    def loss_of(m, x, y):
        return F.binary_cross_entropy_with_logits(m(channels_last(x)).float(), y)
    return training(model, loss_of, batches), close


@case("friends_walked_to_in_python", "node2vec", "data_loading", "all walks drawn at once on the GPU", 1024)
def _(kind):
    friends = nets.Friends()
    batches = friends.in_python(1024) if kind == "broken" else friends.on_gpu(1024)
    return training(on_gpu(nets.WalkNet, friends.people), nets.walk_loss, batches, mixed=False, before=tf32(True))


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("camera_events_sent_as_floats", "event_flow", "host_transfer", "counts as bytes in pinned memory, prefetched", 24)
def _(kind):
    """How often each pixel of an event camera fired, in ten spans of time, up and down: where is all going?"""
    model = laid_out(on_gpu(nets.Pyramid, 20, 2))
    events, flow = torch.randint(0, 8, (24, 20, 256, 320), dtype=torch.uint8), torch.randn(24, 2, 256, 320)
    batches = Prefetched(events, flow) if kind == "fixed" else copied(events.float(), flow, pinned=False, blocking=True)
    return training(model, lambda m, x, y: F.l1_loss(m(channels_last(x.float())).float(), y), batches)


@case("chances_of_all_characters_to_host", "speech_characters", "host_transfer",
      "the 10 best of each frame picked on the GPU, copied to pinned memory", 16)
def _(kind):
    """A beam search on the host asks what may have been said."""
    with torch.device(GPU):
        model, mel = nets.Recogniser().bfloat16().eval(), torch.randn(16, 500, 320).bfloat16()
    best = torch.empty(16, 500, 10).pin_memory(), torch.empty(16, 500, 10, dtype=torch.long).pin_memory()

    def run():
        chances = model(mel)
        if kind == "broken":
            return chances.cpu()
        for there, found in zip(best, chances.topk(10, dim=-1)):
            there.copy_(found, non_blocking=True)
    return inference(run)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("depth_errors_read_picture_by_picture", "depth_pyramid", "cpu_gpu_sync", "errors of all pictures by masks", 48)
def _(kind):
    errors = nets.depth_errors_in_turn if kind == "broken" else nets.depth_errors_at_once
    with torch.device(GPU):
        model = laid_out(nets.Pyramid(3, 1).bfloat16().eval())
        pictures = channels_last(torch.randn(48, 3, 192, 640).bfloat16())
        depths = (torch.rand(48, 192, 640) * 120 - 40).clamp(min=0)
    return inference(lambda: errors(F.softplus(model(pictures)[:, 0].float()) + 0.1, depths))


@case("unused_codes_revived_in_turn", "motion_coder", "cpu_gpu_sync", "all codes compared at once", 192)
def _(kind):
    model = on_gpu(nets.MotionCoder, nets.revive_in_turn if kind == "broken" else nets.revive_at_once)
    return training(model, nets.motion_loss, resident(torch.randn(192, 263, 128)))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("ghostnet_infer_batch8", "ghostnet", "launch_overhead", "CUDA graph", 8)
def _(kind):
    model = picture_network("ghostnet_100").bfloat16().eval()
    x = channels_last(images(8)[0].to(GPU, torch.bfloat16))
    step = inference(lambda: model(x))
    return captured(step) if kind == "fixed" else step


@case("joints_of_bodies_turned_one_by_one", "body_joints", "launch_overhead", "CUDA graph of the whole step", 64)
def _(kind):
    model = on_gpu(nets.BodyNet)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)
    step = training(model, lambda m, x, y: F.mse_loss(m(x), y),
                    resident(torch.randn(64, 2048), torch.randn(64, 10475, 3)), optimizer, mixed=False,
                    before=tf32(True))
    return captured(step) if kind == "fixed" else step


# --- precision -------------------------------------------------------------------------------------------------------

@case("cloth_learnt_in_float64", "cloth_mesh", "precision", "float32 with TF32", 24000)
def _(kind):
    """As the simulation wrote it; 24,000 corners."""
    dtype = torch.float64 if kind == "broken" else torch.float32
    model = on_gpu(nets.MeshNet).to(dtype)
    corners, edges, moved = (torch.randn(*size, dtype=dtype) for size in ((24000, 12), (144000, 7), (24000, 3)))
    begin, end = torch.randint(0, 24000, (2, 144000))

    def loss_of(m, corners, edges, begin, end, moved):
        return F.mse_loss(m(corners, edges, begin, end), moved)
    return training(model, loss_of, resident(corners, edges, begin, end, moved), mixed=False, before=tf32(True))


@case("captions_trained_in_fp32", "captioner", "precision", "bf16 autocast", 16)
def _(kind):
    model = on_gpu(more.Captioner)
    data = torch.randn(16, 196, 768), torch.randint(0, 12000, (16, 96)), torch.randint(0, 12000, (16, 96))

    def loss_of(m, pictures, ids, following):
        return F.cross_entropy(m(pictures, ids).flatten(0, 1).float(), following.flatten())
    return training(model, loss_of, resident(*data), mixed=kind == "fixed", before=tf32(False))


# --- attention -------------------------------------------------------------------------------------------------------

@case("dinov2_518_eager_attention", "hf_dinov2", "attention", 'attn_implementation "eager" -> "sdpa"', 10)
def _(kind):
    """Sorts large pictures into 200 kinds of birds."""
    import transformers as hf
    config = hf.Dinov2Config(hidden_size=768, num_hidden_layers=8, num_attention_heads=12, image_size=518,
                             patch_size=14, num_labels=200,
                             attn_implementation="eager" if kind == "broken" else "sdpa")
    model = transformers_network("Dinov2ForImageClassification", config)
    return training(model, lambda m, x, y: F.cross_entropy(m(pixel_values=x).logits.float(), y),
                    resident(*images(10, 518, 200)))


@case("music_latents_attend_by_baddbmm", "music_diffuser", "attention", "scaled_dot_product_attention", 2)
def _(kind):
    model = on_gpu(more.SoundDiffuser, more.by_baddbmm if kind == "broken" else F.scaled_dot_product_attention)
    return training(model, lambda m, x, noise: F.mse_loss(m(x).float(), noise),
                    resident(torch.randn(2, 4096, 64), torch.randn(2, 4096, 64)))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("anchors_fitted_to_boxes_unfused", "anchor_fitter", "memory_bandwidth", "torch.compile fuses the fit", 24)
def _(kind):
    """Which 13 of 33,600 anchors shall learn each of 80 boxes of a picture."""
    fit = torch.compile(more.fit_of_anchors, dynamic=False) if kind == "fixed" else more.fit_of_anchors
    with torch.device(GPU):
        scores, kinds = torch.randn(24, 80, 33600), torch.randint(0, 80, (24, 80))
        guesses, boxes = (torch.rand(24, count, 2) * 1000 for count in (33600, 80))
        guesses, boxes = (torch.cat([low, low + 20 + 200 * torch.rand_like(low)], dim=2) for low in (guesses, boxes))
    return inference(lambda: fit(scores, guesses, boxes, kinds).topk(13, dim=-1))


@case("weather_guesses_scored_by_all_pairs", "weather_guesses", "memory_bandwidth",
      "members sorted, their distances summed by rank", 4)
def _(kind):
    """The continuous ranked probability score of 40 members."""
    spread = more.spread_of_pairs if kind == "broken" else more.spread_of_sorted
    model = laid_out(on_gpu(more.WeatherNet))

    def loss_of(m, now, noise, later):
        guesses = m(now, noise).float()
        return (guesses - later[:, None]).abs().mean() - 0.5 * spread(guesses)
    return training(model, loss_of, resident(torch.randn(4, 6, 96, 192), torch.randn(4, 40, 96, 192),
                                             torch.randn(4, 6, 96, 192)))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("resnest_yogi_per_parameter", "resnest50d", "optimizer", "the same update with torch._foreach functions", 20)
def _(kind):
    model = picture_network("resnest50d", False, num_classes=100)
    return training(model, classify, resident(*images(20, classes=100)),
                    more.Yogi(model.parameters(), at_once=kind == "fixed"))


@case("mobilenetv4_adamw_per_parameter", "mobilenetv4", "optimizer", "AdamW(fused=True)", 48)
def _(kind):
    model = picture_network("mobilenetv4_conv_medium")
    x, y = images(48)
    optimizer = adamw(model, fused=True) if kind == "fixed" else adamw(model, foreach=False)
    return training(model, classify, resident(channels_last(x), y), optimizer)


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("songs_taken_apart_empty_cache", "wave_unet", "memory_allocation", "no empty_cache() in the loop", 24)
def _(kind):
    """Emptied before the backward pass and after the step."""
    def loss_of(m, song, parts):
        loss = F.l1_loss(m(song).float(), parts)
        if kind == "broken":
            torch.cuda.empty_cache()
        return loss

    def tail(model, loss):
        if kind == "broken":
            torch.cuda.empty_cache()
    return training(on_gpu(more.WaveUnet), loss_of,
                    resident(torch.randn(24, 2, 131072), torch.randn(24, 8, 131072)), tail=tail)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("chess_moves_learnt_batch64", "chess_player", "gpu_underused", "batch 64 -> 512", 64, fixed_batch=512)
def _(kind):
    """64 squares, 73 ways to leave each."""
    batch = 64 if kind == "broken" else 512
    with torch.device(GPU):
        model = more.Tokens(torch.nn.Linear(112, 512), 512, 8, 10, 73)
    return training(model, lambda m, x, y: F.cross_entropy(m(x).flatten(1).float(), y),
                    resident(torch.randn(batch, 64, 112), torch.randint(0, 64 * 73, (batch,))))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("proteins_5120_wide_trained_healthy", "protein_5120", "none", "", 8)
def _(kind):
    """Two layers as wide as those of the largest models of proteins."""
    with torch.device(GPU):
        model = more.Tokens(torch.nn.Embedding(33, 5120), 5120, 40, 2, 33).bfloat16()
    batches = Prefetched(torch.randint(0, 33, (8, 1024)), torch.randint(0, 33, (8, 1024)))
    return training(model, lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1).float(), y.flatten()), batches,
                    mixed=False)


@case("internvit_6b_width_sees_pictures_healthy", "internvit_6b", "none", "", 24)
def _(kind):
    with torch.device(GPU):
        model = more.Tokens(more.Patches(3200), 3200, 25, 4, 768, hidden=12800).bfloat16().eval()
    batches = Prefetched(images(24, 448)[0].bfloat16())
    return inference(lambda: F.normalize(model(*batches()).mean(1).float(), dim=1))


CASES = mixed_by_cause(FOUND)
