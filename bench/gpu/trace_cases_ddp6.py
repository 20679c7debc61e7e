"""A further set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp6: plain data-parallel training,
each case with one flaw and its usual remedy."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
from trace_cases import (GPU, adamw, amp, case_list, channels_last, classify, huggingface_loss, images, next_token,
                         resident, tokens, training, vision)
from trace_cases_blind import BlindCase, mean_square
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import parallel

FOUND, add = case_list(BlindCase)


def case(name, model, injected, fix, batch, **more):
    """All traces of this set have shapes and step annotations."""
    options = {"shapes": True, "annotations": True, "sync_events": False, "memory": False}
    return add(name, model, injected, fix, batch, options=options, **more)


def sgd(model):
    return torch.optim.SGD(model.parameters(), 1e-3, fused=True)


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("ddp_encoder_small_batch", "wide_encoder", "multi_gpu_comm", "larger batch per all-reduce: 2 -> 64", 2,
      fixed_batch=64)
def _(kind):
    with torch.device(GPU):
        layer = nn.TransformerEncoderLayer(2048, 16, 8192, dropout=0.0, batch_first=True, norm_first=True)
        model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    x = torch.randn(1 if kind == "broken" else 32, 128, 2048)
    model = parallel(model, gradient_as_bucket_view=True)
    return training(model, mean_square, resident(x), sgd(model))


@case("ddp_vgg16_reduces_every_micro_batch", "vgg16", "multi_gpu_comm", "no_sync() but for the last micro-batch", 32)
def _(kind):
    """Four micro-batches of four images on each rank."""
    with torch.device(GPU):
        model = vision("vgg16")
    model = parallel(model, gradient_as_bucket_view=True)
    optimizer = sgd(model)
    x, y = images(4)
    x, y = resident(channels_last(x), y)()

    def step():
        optimizer.zero_grad(set_to_none=True)
        for index in range(4):
            with model.no_sync() if kind == "fixed" and index < 3 else contextlib.nullcontext():
                with amp():
                    loss = classify(model, x, y)
                loss.backward()
        optimizer.step()
    return step


class LanguageLstm(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.words, self.lstm = nn.Embedding(vocab, dim), nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.head(self.lstm(self.words(ids))[0])


@case("ddp_lstm_fp32_gradients", "language_lstm", "multi_gpu_comm", "bf16_compress_hook", 16)
def _(kind):
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
    with torch.device(GPU):
        model = LanguageLstm(131072, 1024)
    model = parallel(model, gradient_as_bucket_view=True)
    if kind == "fixed":
        model.register_comm_hook(None, bf16_compress_hook)
    return training(model, next_token, resident(*tokens(8, 24, 131072)), sgd(model))


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("ddp_swin_s_uneven_shards", "swin_s", "load_imbalance", "equal shards: 64 images on both ranks", 128)
def _(kind):
    batch = 64 if kind == "fixed" else (112, 16)[dist.get_rank()]
    return training(parallel(vision("swin_s", False)), classify, resident(*images(batch)))


def mask_loss(model, x, y):
    return F.cross_entropy(model(x).float(), y)


@case("ddp_unet_large_images_on_rank1", "unet", "load_imbalance", "images of one size on both ranks", 32)
def _(kind):
    """224 and 544 pixels have as large an area as twice 416."""
    side = 416 if kind == "fixed" else (224, 544)[dist.get_rank()]
    model = own.UNet(base=32).to(GPU).to(memory_format=torch.channels_last)
    data = channels_last(torch.randn(16, 3, side, side)), torch.randint(0, 16, (16, side, side))
    return training(parallel(model), mask_loss, resident(*data))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_gpt2_xl_width_healthy", "gpt2_xl", "none", "", 24)
def _(kind):
    import transformers as hf
    config = hf.GPT2Config(vocab_size=16384, n_embd=1600, n_layer=8, n_head=25, n_positions=1024, resid_pdrop=0.0,
                           embd_pdrop=0.0, attn_pdrop=0.0, activation_function="gelu_pytorch_tanh", use_cache=False,
                           attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.GPT2LMHeadModel(config).train()
    model = parallel(model, gradient_as_bucket_view=True)
    return training(model, huggingface_loss, resident(*tokens(12, 1024)), adamw(model))


CASES = mixed_by_cause(FOUND)
