"""A further set of cases for record_traces.py --cases trace_cases_blind14: networks of timm, torchvision, transformers
and trace_nets_blind14.py, each with one plain flaw and its usual remedy; written by somebody who did not know the
analysis. Needs timm and PIL besides."""
import torch
import torch.nn.functional as F

import trace_nets_blind14 as nets
from trace_cases import (GPU, Prefetched, captured, channels_last, classify, copied, huggingface_loss, images,
                         inference, loaded, nhwc, resident, tf32, tokens, training, vision)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_nets_blind9 import picture_network

WORKERS = 12
FOUND, case = annotated_case_list()


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("meals_processed_in_process", "hf_resnet50", "data_loading", "num_workers 0 -> 12", 64, loader=True)
def _(kind):
    """The fine-tuning of a first lesson: photos go through the image processor one by one."""
    import transformers as hf
    model = transformers_network("ResNetForImageClassification", hf.ResNetConfig(num_labels=101))
    batches, close = loaded(nets.Meals(), 64, 0 if kind == "broken" else WORKERS)

    def loss_of(m, x, y):
        return F.cross_entropy(m(pixel_values=x).logits.float(), y)
    return training(model.to(memory_format=torch.channels_last), loss_of, nhwc(batches)), close


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("resnet26d_tags_pageable_pictures", "resnet26d", "host_transfer", "pinned, copied on a second stream", 256)
def _(kind):
    model = picture_network("resnet26d").bfloat16().eval()
    pictures = images(256)[0]
    batches = copied(pictures, pinned=False, blocking=True) if kind == "broken" else Prefetched(pictures)
    return inference(lambda: model(channels_last(batches()[0].bfloat16())).argmax(1))


@case("tinyllama_probes_take_all_words_to_cpu", "tinyllama", "host_transfer",
      "the last word picked on the GPU, one small copy", 8)
def _(kind):
    """What three layers say of the last word of each text."""
    import transformers as hf
    config = hf.LlamaConfig(vocab_size=16384, hidden_size=2048, intermediate_size=5632, num_hidden_layers=12,
                            num_attention_heads=32, num_key_value_heads=4, max_position_embeddings=768,
                            use_cache=False, attn_implementation="sdpa")
    model = transformers_network("LlamaModel", config, train=False).bfloat16()
    (ids,) = resident(*tokens(8, 768))()

    def run():
        layers = model(input_ids=ids, output_hidden_states=True).hidden_states
        chosen = [layers[at] for at in (4, 8, 12)]
        if kind == "broken":
            return torch.stack([states.cpu()[:, -1] for states in chosen])
        return torch.stack([states[:, -1] for states in chosen]).cpu()
    return inference(run)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("deit3_medium_varies_pictures_in_turn", "deit3_medium", "cpu_gpu_sync", "chances of all pictures drawn at once",
      64)
def _(kind):
    varied = nets.varied_in_turn if kind == "broken" else nets.varied_at_once
    model = picture_network("deit3_medium_patch16_224", False)
    return training(model, lambda m, x, y: classify(m, varied(x), y), resident(*images(64)))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("efficientnet_v2_m_infer_batch8", "efficientnet_v2", "launch_overhead", "CUDA graph", 8)
def _(kind):
    model = vision("efficientnet_v2_m").bfloat16().eval()
    x = channels_last(torch.randn(8, 3, 384, 384, device=GPU, dtype=torch.bfloat16))
    step = inference(lambda: model(x))
    return captured(step) if kind == "fixed" else step


# --- precision -------------------------------------------------------------------------------------------------------

@case("eva02_fine_tuned_in_fp32", "eva02", "precision", "bf16 autocast", 40)
def _(kind):
    return training(picture_network("eva02_base_patch14_224", False, num_classes=1000), classify,
                    resident(*images(40)), mixed=kind == "fixed", before=tf32(False))


# --- attention -------------------------------------------------------------------------------------------------------

@case("vit_patch8_fused_attention_off", "vit_patch8", "attention", "set_fused_attn(True)", 16)
def _(kind):
    """785 patches a picture; timm lets one choose how attention is computed."""
    from timm.layers import set_fused_attn
    set_fused_attn(kind == "fixed")
    model = picture_network("vit_base_patch8_224", False, num_classes=1000)
    set_fused_attn(True)
    return training(model, classify, resident(*images(16)))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("phi1_5_gelu_as_configured", "phi1_5", "memory_bandwidth", 'hidden_act "gelu_new" -> "gelu_pytorch_tanh"', 8)
def _(kind):
    """The activation that the model comes with is a formula in Python."""
    import transformers as hf
    config = hf.PhiConfig(vocab_size=16384, hidden_size=2048, intermediate_size=8192, num_hidden_layers=8,
                          num_attention_heads=32, max_position_embeddings=1024, resid_pdrop=0.0, embd_pdrop=0.0,
                          use_cache=False, attn_implementation="sdpa",
                          hidden_act="gelu_new" if kind == "broken" else "gelu_pytorch_tanh")
    model = transformers_network("PhiModel", config, train=False).bfloat16()
    (ids,) = resident(*tokens(8, 1024))()
    return inference(lambda: model(input_ids=ids).last_hidden_state[:, -1])


@case("darknet19_batch_norm_by_hand", "darknet19", "memory_bandwidth", "nn.BatchNorm2d", 96)
def _(kind):
    with torch.device(GPU):
        model = nets.Darknet19(nets.BatchNormByHand if kind == "broken" else torch.nn.BatchNorm2d)
    x, y = images(96)
    return training(model.to(memory_format=torch.channels_last), classify, resident(channels_last(x), y))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("resnext101_nesterov_per_parameter", "resnext101", "optimizer", "SGD(nesterov=True, fused=True)", 10)
def _(kind):
    model = vision("resnext101_32x8d")
    how = {"foreach": False} if kind == "broken" else {"fused": True}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, nesterov=True, **how)
    x, y = images(10)
    return training(model, classify, resident(channels_last(x), y), optimizer)


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("esrgan_empties_cache_after_each_tile", "esrgan", "memory_allocation", "no empty_cache() between the tiles", 4)
def _(kind):
    """A picture of 512 x 512, enlarged tile by tile."""
    with torch.device(GPU):
        model = nets.Enlarger().bfloat16().eval().to(memory_format=torch.channels_last)
        picture = torch.rand(1, 3, 512, 512).bfloat16()
        large = torch.empty(1, 3, 2048, 2048, dtype=torch.bfloat16)

    def run():
        for down in (0, 256):
            for right in (0, 256):
                tile = channels_last(picture[:, :, down:down + 256, right:right + 256])
                large[:, :, 4 * down:4 * down + 1024, 4 * right:4 * right + 1024] = model(tile)
                if kind == "broken":
                    torch.cuda.empty_cache()
    return inference(run)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("gmlp_train_batch32", "gmlp", "gpu_underused", "batch 32 -> 160", 32, fixed_batch=160)
def _(kind):
    data = images(32 if kind == "broken" else 160)
    return training(picture_network("gmlp_s16_224", False), classify, resident(*data))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("opt_13b_width_trained_healthy", "opt_13b", "none", "", 6)
def _(kind):
    import transformers as hf
    config = hf.OPTConfig(vocab_size=16384, hidden_size=5120, word_embed_proj_dim=5120, ffn_dim=20480,
                          num_hidden_layers=2, num_attention_heads=40, max_position_embeddings=1024, dropout=0.0,
                          attention_dropout=0.0, use_cache=False, attn_implementation="sdpa")
    model = transformers_network("OPTForCausalLM", config).bfloat16()
    return training(model, huggingface_loss, Prefetched(*tokens(6, 1024)), mixed=False)


@case("clip_big_g_describes_pictures_healthy", "clip_big_g", "none", "", 96)
def _(kind):
    import transformers as hf
    config = hf.CLIPVisionConfig(hidden_size=1664, intermediate_size=8192, num_hidden_layers=12,
                                 num_attention_heads=16, image_size=224, patch_size=14, hidden_act="gelu",
                                 attn_implementation="sdpa")
    model = transformers_network("CLIPVisionModel", config, train=False).bfloat16()
    batches = Prefetched(images(96)[0].bfloat16())
    return inference(lambda: model(pixel_values=batches()[0]).pooler_output)


CASES = mixed_by_cause(FOUND)
