"""A further set of cases for record_traces.py --cases trace_cases_blind12: networks of timm, transformers and
trace_nets_blind12.py, each with one plain flaw and its usual remedy; written by somebody who did not know the
analysis. Needs timm besides."""
import torch
import torch.nn.functional as F
from torch import nn

import trace_nets_blind12 as nets
from trace_cases import (GPU, Prefetched, amp, captured, channels_last, classify, huggingface_loss, images, inference,
                         loaded, resident, tf32, tokens, training)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_nets_blind9 import picture_network
from trace_nets_blind10 import lit

WORKERS = 12
FOUND, case = annotated_case_list()


def hourglass(dims, inputs, outputs, widths, **more):
    with torch.device(GPU):
        return nets.HourGlass(dims, inputs, outputs, widths, **more)


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("tremors_unpacked_chunk_by_chunk", "phase_unet", "data_loading", "chunks of one recording instead of 24", 64,
      loader=True)
def _(kind):
    """A file whose chunks suit its writer: for each recording that is read, all of its chunk is unpacked."""
    batches, close = loaded(nets.Tremors(24 if kind == "broken" else 1), 64, WORKERS)
    return training(hourglass(1, 3, 3, (64, 128, 256, 512), kernel=7, step=4), classify, batches), close


@case("purchases_drawn_one_by_one", "collaborative", "data_loading", "buyers and purchases drawn on the GPU", 8192)
def _(kind):
    shop = nets.Purchases()
    with torch.device(GPU):
        model = nets.Collaborative()
    table = shop.table.to(GPU)

    def batches():
        return shop.drawn(8192) if kind == "broken" else shop.drawn_by_table(table, 8192)

    def loss_of(m, users, liked, others):
        return -F.logsigmoid((m(users, liked) - m(users, others)).float()).mean()
    return training(model, loss_of, batches)


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("organs_stitched_on_the_host", "organ_unet3d", "host_transfer", "the scan and what is found stay on the GPU", 1)
def _(kind):
    """Four windows that overlap cover a scan; one of four organs is told for each of its cells."""
    model = hourglass(3, 1, 4, (32, 64, 128)).bfloat16().eval()
    volume, where = torch.randn(1, 96, 160, 160), torch.device("cpu" if kind == "broken" else GPU)

    def run():
        scan, whole = volume.to(where)[None], torch.zeros(4, 96, 160, 160, device=where)
        for down in (0, 64):
            for right in (0, 64):
                place = (..., slice(down, down + 96), slice(right, right + 96))
                whole[place] += model(scan[place].to(GPU).bfloat16())[0].float().to(where)
        return whole.argmax(0).to(torch.uint8).cpu()
    return inference(run)


@case("colouriser_shows_pictures_at_every_step", "colouriser", "host_transfer",
      "four pictures picked on the GPU, copied as bytes", 48)
def _(kind):
    """Grey, coloured and true pictures, side by side for the log."""
    model = hourglass(2, 1, 3, (32, 64, 128, 256)).to(memory_format=torch.channels_last)
    y, last = channels_last(torch.rand(48, 3, 224, 224, device=GPU)), []

    def loss_of(m, x, y):
        found = m(x).float()
        last[:] = [x.expand(-1, 3, -1, -1), found.detach(), y]
        return F.l1_loss(found, y)

    def shown(model, loss):
        if kind == "broken":
            panel = torch.cat(last, dim=3).cpu()
            return (panel[:4].clamp(0, 1) * 255).byte().numpy()
        panel = torch.cat([part[:4] for part in last], dim=3)
        return (panel.clamp(0, 1) * 255).byte().cpu().numpy()
    return training(model, loss_of, resident(channels_last(y.mean(1, keepdim=True)), y), tail=shown)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("boxes_suppressed_in_python", "darknet53_boxes", "cpu_gpu_sync", "torchvision.ops.batched_nms of all pictures", 6)
def _(kind):
    """At most twenty objects a picture."""
    model = nets.Detector("darknet53", 832).bfloat16().eval()
    x = channels_last(torch.randn(6, 3, 832, 832, device=GPU, dtype=torch.bfloat16))
    best_of = nets.suppressed if kind == "broken" else nets.suppressed_by_library
    return inference(lambda: best_of(*nets.candidates(*model(x))))


@case("phonemes_lengthened_one_by_one", "duration_speaker", "cpu_gpu_sync", "one gather by the sums of the lengths", 16)
def _(kind):
    """64 phonemes last 1024 frames together."""
    lengthened = nets.lengthened_in_turn if kind == "broken" else nets.lengthened_at_once
    with torch.device(GPU):
        model = nets.Speaker(lengthened).bfloat16().eval()
        phonemes, more = torch.randint(0, 80, (16, 64)), torch.randint(0, 12, (16, 32))
    lasting = torch.cat([16 + more, 16 - more], dim=1)
    return inference(lambda: model(phonemes, lasting))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("mel_frames_decoded_eagerly", "mel_decoder", "launch_overhead", "CUDA graph of the whole step", 16)
def _(kind):
    """48 times four frames of speech."""
    with torch.device(GPU):
        model = nets.MelDecoder().bfloat16()
        text, frames = torch.randn(16, 96, 512).bfloat16(), torch.randn(16, 49, 320).bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)

    def loss_of(m, text, frames):
        return F.l1_loss(m(text, frames[:, :-1]).float(), frames[:, 1:].float())
    step = training(model, loss_of, lambda: (text, frames), optimizer, mixed=False)
    return captured(step) if kind == "fixed" else step


# --- precision -------------------------------------------------------------------------------------------------------

@case("esm_fine_tuned_in_fp32", "esm", "precision", "bf16 autocast", 16)
def _(kind):
    import transformers as hf
    config = hf.EsmConfig(vocab_size=33, mask_token_id=32, pad_token_id=1, hidden_size=480, num_hidden_layers=12,
                          num_attention_heads=20, intermediate_size=1920, max_position_embeddings=1026,
                          hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, token_dropout=False,
                          position_embedding_type="rotary")
    model = transformers_network("EsmForMaskedLM", config)
    return training(model, huggingface_loss, resident(torch.randint(4, 24, (16, 512))), mixed=kind == "fixed",
                    before=tf32(False))


@case("latents_decoded_in_fp32", "latent_decoder", "precision", "the decoder in bf16, as the latents", 4)
def _(kind):
    """Only the decoder was put back to 32 bits, to be on the safe side."""
    dtype = torch.float32 if kind == "broken" else torch.bfloat16
    with torch.device(GPU):
        model = nets.LatentDecoder().to(dtype).eval()
        latents = torch.randn(4, 4, 64, 64).bfloat16()
    return inference(lambda: (model(latents.to(dtype)) * 127.5 + 127.5).clamp(0, 255).to(torch.uint8))


# --- attention -------------------------------------------------------------------------------------------------------

@case("cohere_reads_long_documents_eagerly", "cohere", "attention", 'attn_implementation "eager" -> "sdpa"', 2)
def _(kind):
    import transformers as hf
    config = hf.CohereConfig(vocab_size=16384, hidden_size=2048, intermediate_size=5632, num_hidden_layers=6,
                             num_attention_heads=16, num_key_value_heads=4, max_position_embeddings=4096,
                             pad_token_id=0, bos_token_id=1, eos_token_id=2, use_cache=False,
                             attn_implementation="eager" if kind == "broken" else "sdpa")
    model = transformers_network("CohereModel", config, train=False).bfloat16()
    (ids,) = resident(*tokens(2, 4096))()
    return inference(lambda: model(input_ids=ids).last_hidden_state[:, -1])


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("likeness_of_unfolded_windows", "deblur_unet", "memory_bandwidth", "means of the windows by two convolutions", 8)
def _(kind):
    """Structural similarity as the loss, in windows of 11 x 11."""
    model = hourglass(2, 3, 3, (64, 128, 256)).to(memory_format=torch.channels_last)
    means_of = nets.means_of_windows if kind == "broken" else nets.means_by_convolution
    weights = nets.bell().to(GPU)
    x, y = channels_last(torch.rand(8, 3, 256, 256)), torch.rand(8, 3, 256, 256)
    return training(model, lambda m, x, y: nets.unlike(m(x).sigmoid().contiguous(), y, weights, means_of),
                    resident(x, y))


@case("gated_layers_unfused", "gated_reader", "memory_bandwidth", "torch.compile fuses the norm and the gate", 8)
def _(kind):
    functions = nets.scaled, nets.gated
    if kind == "fixed":
        functions = tuple(torch.compile(function) for function in functions)
    with torch.device(GPU):
        model = nets.GatedReader(*functions).bfloat16()
        ids = torch.randint(0, 16000, (8, 1024))

    def loss_of(m, ids):
        return F.cross_entropy(m(ids).flatten(0, 1).float(), ids.flatten())
    return training(model, loss_of, lambda: (ids,), mixed=False)


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("rexnet_sharpness_per_parameter", "rexnet", "optimizer", "torch._foreach functions and AdamW(fused=True)", 32)
def _(kind):
    """Sharpness-aware: every step climbs first."""
    model = picture_network("rexnet_150")
    x, y = images(32)
    x, y = resident(channels_last(x), y)()
    sharp = nets.SharpAware(model, kind == "fixed")

    def step():
        for turn in (sharp.climb, sharp.descend):
            with amp():
                loss = classify(model, x, y)
            loss.backward()
            turn()
    return step


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("pages_of_all_sizes_empty_the_cache", "ese_vovnet", "memory_allocation", "no empty_cache() between the sizes", 6)
def _(kind):
    """Finds text on pages of three sizes, two pages each."""
    model = picture_network("ese_vovnet39b", num_classes=0).bfloat16().eval()
    head = nn.Conv2d(1024, 8, 1, device=GPU, dtype=torch.bfloat16)
    pages = [channels_last(torch.randn(2, 3, high, wide, device=GPU, dtype=torch.bfloat16))
             for high, wide in ((1024, 736), (1280, 960), (896, 1280))]

    def run():
        found = []
        for page in pages:
            found.append(head(model.forward_features(page)).sigmoid())
            if kind == "broken":
                torch.cuda.empty_cache()
        return found
    return inference(run)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("focalnet_train_batch16", "focalnet", "gpu_underused", "batch 16 -> 96", 16, fixed_batch=96)
def _(kind):
    data = images(16 if kind == "broken" else 96)
    return training(picture_network("focalnet_tiny_srf", False), classify, resident(*data))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("vit_gigantic_width_trained_healthy", "vit_gigantic", "none", "", 48)
def _(kind):
    model = picture_network("vit_gigantic_patch14_224", False, depth=8).bfloat16()
    x, y = images(48)
    return training(model, classify, Prefetched(x.bfloat16(), y), mixed=False)


@case("olmo_width_trained_healthy", "olmo", "none", "", 6)
def _(kind):
    import transformers as hf
    config = hf.OlmoConfig(vocab_size=16384, hidden_size=4096, intermediate_size=11008, num_hidden_layers=3,
                           num_attention_heads=32, max_position_embeddings=1024, pad_token_id=1, eos_token_id=2,
                           use_cache=False, attn_implementation="sdpa")
    model = transformers_network("OlmoForCausalLM", config).bfloat16()
    return training(model, huggingface_loss, Prefetched(*tokens(6, 1024)), mixed=False)


@case("repvgg_deployed_healthy", "repvgg_b3", "none", "", 128)
def _(kind):
    """Its three branches are made one convolution, as they are when it serves."""
    model = picture_network("repvgg_b3").eval()
    blocks = [part for part in model.modules() if hasattr(part, "reparameterize")]
    assert blocks, "this timm cannot merge the branches"
    for block in blocks:
        block.reparameterize()
    model = model.bfloat16().to(memory_format=torch.channels_last)
    batches = Prefetched(torch.randint(0, 256, (128, 3, 224, 224), dtype=torch.uint8))
    return inference(lambda: model(channels_last(lit(batches()[0], torch.bfloat16))).argmax(1))


CASES = mixed_by_cause(FOUND)
