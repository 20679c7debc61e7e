"""A further set of cases for record_traces.py --cases trace_cases_blind15: networks of timm, transformers and
trace_nets_blind15*.py (vision, video, made pictures, graphs, recommendations), each with one plain flaw and its usual
remedy; written by somebody who did not know the analysis. Needs timm and PIL besides."""
import torch
import torch.nn.functional as F

import trace_nets_blind15 as nets
import trace_nets_blind15b as related
from trace_cases import (GPU, Prefetched, captured, channels_last, classify, copied, images, inference, loaded,
                         resident, tf32, training)
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

@case("tsn_clips_decoded_by_three_workers", "tsn", "data_loading", "num_workers 3 -> 12", 12, loader=True)
def _(kind):
    batches, close = loaded(nets.Sports(), 12, 3 if kind == "broken" else WORKERS)
    return training(picture_network("selecsls42b", num_classes=174), nets.segment_loss, batches), close


@case("pixel_denoiser_draws_noise_on_host", "pixel_denoiser", "data_loading", "noise drawn on the GPU", 24,
      accept=["data_loading", "host_transfer"])
def _(kind):
    def loss_of(model, x):
        t = torch.rand(len(x), device=GPU)
        noise = torch.randn(x.shape).to(GPU) if kind == "broken" else torch.randn_like(x)
        return F.mse_loss(model(torch.lerp(x, noise, t[:, None, None, None]), t).float(), noise - x)
    return training(laid_out(on_gpu(nets.PixelDenoiser)), loss_of, Prefetched(images(24, 256)[0]))


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("painter_pictures_to_bytes_on_host", "painter", "host_transfer", "made bytes on the GPU, copied to pinned memory",
      64)
def _(kind):
    model = laid_out(on_gpu(nets.Painter)).bfloat16().eval()
    pinned = torch.empty(64, 256, 256, 3, dtype=torch.uint8, pin_memory=True)

    def run():
        made = model(torch.randn(64, 128, device=GPU, dtype=torch.bfloat16)).permute(0, 2, 3, 1)
        if kind == "broken":
            return made.float().cpu().add_(1).mul_(127.5).to(torch.uint8)
        pinned.copy_(made.float().add_(1).mul_(127.5).to(torch.uint8), non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return pinned
    return inference(run)


@case("mult_vae_rows_of_users_pageable", "mult_vae", "host_transfer", "what was watched is sent, the rows made of it "
      "on the GPU", 800)
def _(kind):
    model = on_gpu(related.WatchedVAE)
    watched = torch.randint(0, model.items, (800, 150))
    if kind == "broken":
        rows = torch.zeros(800, model.items).scatter_(1, watched, 1.0)
        return training(model, lambda m, x: m.loss(x), copied(rows, pinned=False, blocking=True))

    def loss_of(m, seen):
        return m.loss(torch.zeros(len(seen), m.items, device=GPU).scatter_(1, seen, 1.0))
    return training(model, loss_of, copied(watched, pinned=True, blocking=False))


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("gru4rec_gain_worked_out_user_by_user", "gru4rec", "cpu_gpu_sync", "the gain of all users at once", 128)
def _(kind):
    """The validation of a model of sessions: hit rate and discounted gain among the best 20."""
    model = on_gpu(related.SessionNet).half().eval()
    (sessions,) = resident(torch.randint(0, 400_000, (128, 100)))()
    with torch.no_grad():
        best = model(sessions).topk(20).indices
    wanted = best.gather(1, torch.randint(0, 20, (128, 1), device=GPU)).flatten()
    wanted[::2] = -1
    gain = related.gain_user_by_user if kind == "broken" else related.gain_of_all_users
    return inference(lambda: gain(model(sessions).topk(20).indices, wanted))


@case("sort_pool_takes_graph_by_graph", "sort_pool", "cpu_gpu_sync", "the nodes of all graphs sorted at once", 96)
def _(kind):
    sizes = torch.randint(600, 1800, (96,), generator=torch.Generator().manual_seed(15)).tolist()
    near, graph = related.ring_graphs(sizes)
    best_of = related.best_of_each_graph if kind == "broken" else related.best_of_all_graphs
    model = on_gpu(related.SortPoolNet, best_of)

    def loss_of(m, x, y):
        return F.cross_entropy(m(x, near, graph, len(sizes)).float(), y)
    return training(model, loss_of, resident(torch.randn(sum(sizes), 64), torch.randint(0, 10, (96,))))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("radar_drawn_frame_by_frame", "conv_lstm", "launch_overhead", "CUDA graph", 4)
def _(kind):
    model = laid_out(on_gpu(nets.Nowcast)).bfloat16().eval()
    (frames,) = resident(torch.rand(4, 8, 1, 64, 64).bfloat16())()
    step = inference(lambda: model(frames, ahead=12))
    return captured(step) if kind == "fixed" else step


@case("rgcn_relation_by_relation", "rgcn", "launch_overhead", "all relations as one batched product", 12)
def _(kind):
    """All relations have equally many edges (drawn anew for each epoch)."""
    model = on_gpu(related.KnowledgeGraph, kind == "fixed")
    edges, asked = torch.randint(0, 24000, (2, 12, 12000)), torch.randint(0, 24000, (2, 30000))
    return training(model, related.chosen_loss, resident(*edges, asked[0], torch.randint(0, 12, (30000,)), asked[1],
                                                         torch.randint(0, 2, (30000,)).float()))


# --- precision -------------------------------------------------------------------------------------------------------

@case("upernet_trains_in_fp32", "upernet", "precision", "bf16 autocast", 6)
def _(kind):
    import transformers as hf
    trunk = hf.ConvNextConfig(hidden_sizes=[96, 192, 384, 768], depths=[3, 3, 9, 3],
                              out_features=["stage1", "stage2", "stage3", "stage4"])
    config = hf.UperNetConfig(backbone_config=trunk, hidden_size=256, num_labels=21, use_auxiliary_head=False)
    model = laid_out(transformers_network("UperNetForSemanticSegmentation", config))

    def loss_of(m, x, y):
        return F.cross_entropy(m(pixel_values=x).logits.float(), y)
    data = resident(channels_last(torch.randn(6, 3, 512, 512)), torch.randint(0, 21, (6, 512, 512)))
    return training(model, loss_of, data, mixed=kind == "fixed", before=tf32(False))


@case("mmoe_ranks_in_fp32", "mmoe", "precision", "bf16 autocast", 12288)
def _(kind):
    data = resident(torch.randint(0, 640_000, (12288, 32)), torch.randint(0, 2, (12288, 3)).float())
    return training(on_gpu(related.ManyGates), related.chosen_loss, data, mixed=kind == "fixed", before=tf32(False))


# --- attention -------------------------------------------------------------------------------------------------------

@case("yolos_eager_attention", "yolos", "attention", 'attn_implementation="sdpa"', 16)
def _(kind):
    """Objects are found by a plain transformer: 1728 patches and 100 questions."""
    import transformers as hf
    config = hf.YolosConfig(image_size=[512, 864], hidden_size=384, num_attention_heads=6, intermediate_size=1536,
                            attn_implementation="eager" if kind == "broken" else "sdpa")
    model = transformers_network("YolosForObjectDetection", config, train=False).bfloat16()
    (pictures,) = resident(torch.randn(16, 3, 512, 864).bfloat16())()

    def run():
        found = model(pixel_values=pictures)
        return found.logits.softmax(-1), found.pred_boxes
    return inference(run)


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("dalle_coder_draws_words_unfused", "dalle_coder", "memory_bandwidth", "the Gumbel softmax compiled", 16)
def _(kind):
    draw = torch.compile(nets.drawn_words) if kind == "fixed" else nets.drawn_words
    model = laid_out(on_gpu(nets.DiscreteCoder, draw))
    return training(model, lambda m, x: m.loss(x), resident(channels_last(images(16, 256)[0])))


@case("din_interest_unfused", "din", "memory_bandwidth", "torch.compile of the interest unit", 4096)
def _(kind):
    model = on_gpu(related.InterestNet)
    if kind == "fixed":
        model.interest.compile()
    items = 200_000
    data = resident(torch.randint(0, items, (4096,)), torch.randint(0, items, (4096, 100)),
                    torch.randint(0, 2, (4096,)).float())
    return training(model, related.chosen_loss, data)


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("dpn92_adadelta_per_parameter", "dpn92", "optimizer", "Adadelta(foreach=True)", 64)
def _(kind):
    model = picture_network("dpn92")
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.1, weight_decay=1e-4, foreach=kind == "fixed")
    x, y = images(64)
    return training(model, classify, resident(channels_last(x), y), optimizer)


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("pspnet_empties_cache_after_each_scale", "pspnet", "memory_allocation", "no empty_cache() between the scales", 3)
def _(kind):
    """Street pictures are parsed at three scales, whose answers are added."""
    model = laid_out(on_gpu(nets.PyramidParser)).bfloat16().eval()
    (pictures,) = resident(torch.randn(3, 3, 512, 1024).bfloat16())()

    def run():
        total = 0
        for scale in (0.75, 1.0, 1.25):
            x = F.interpolate(pictures, scale_factor=scale, mode="bilinear")
            scores = F.interpolate(model(channels_last(x)), size=pictures.shape[2:], mode="bilinear")
            total = total + scores.softmax(1)
            if kind == "broken":
                del x, scores
                torch.cuda.empty_cache()
        return total.argmax(1)
    return inference(run)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("efficientformer_train_batch24", "efficientformer", "gpu_underused", "batch 24 -> 96", 24, fixed_batch=96)
def _(kind):
    import timm
    model = laid_out(timm.create_model("efficientformer_l1", pretrained=False).to(GPU))  # cannot be drawn on the GPU
    x, y = images(24 if kind == "broken" else 96)
    return training(model, classify, resident(channels_last(x), y))


@case("neumf_train_batch4096", "neumf", "gpu_underused", "batch 4096 -> 16384", 4096, fixed_batch=16384)
def _(kind):
    batch = 4096 if kind == "broken" else 16384
    data = resident(torch.randint(0, 138_000, (batch,)), torch.randint(0, 27_000, (batch,)),
                    torch.randint(0, 2, (batch,)).float())
    return training(on_gpu(related.NeuMF), related.chosen_loss, data)


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("eva_giant_sorts_pictures_healthy", "eva_giant", "none", "", 40)
def _(kind):
    model = picture_network("eva_giant_patch14_224", False).bfloat16().eval()
    batches = Prefetched(images(40)[0].bfloat16())
    return inference(lambda: model(batches()[0]).argmax(1))


@case("wide_ranker_trained_healthy", "wide_ranker", "none", "", 16384)
def _(kind):
    data = Prefetched(torch.randint(0, 260_000, (16384, 26)), torch.randint(0, 2, (16384,)).float())
    return training(on_gpu(related.WideRanker), related.chosen_loss, data)


CASES = mixed_by_cause(FOUND)
