"""A further set of cases for record_traces.py --cases trace_cases_blind10: networks of torchvision, timm, torchaudio,
transformers and trace_nets_blind10.py, each with one plain flaw and its usual remedy; written by somebody who did not
know the analysis. Needs timm, torchaudio and PIL besides."""
import itertools

import numpy as np
import torch
import torch.nn.functional as F

import trace_models as own
import trace_nets_blind10 as nets
from trace_cases import (GPU, Prefetched, adamw, captured, channels_last, classify, copied, graph_if, huggingface_loss,
                         images, inference, loaded, resident, tf32, tokens, training, vision)
from trace_cases_blind import annotated_case_list, transformers_network
from trace_cases_blind4 import mixed_by_cause
from trace_nets_blind9 import picture_network

WORKERS = 12
FOUND, case = annotated_case_list()


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("resnet50_jpegs_decoded_by_two_workers", "resnet50", "data_loading", "num_workers 2 -> 12", 48, loader=True)
def _(kind):
    batches, close = loaded(nets.Photos(), 48, 2 if kind == "broken" else WORKERS)
    model = vision("resnet50")
    return training(model, lambda m, x, y: classify(m, channels_last(nets.lit(x, torch.bfloat16)), y), batches), close


@case("xlm_roberta_tokenizes_every_batch", "xlm_roberta", "data_loading", "texts tokenized once, before training", 32)
def _(kind):
    import transformers as hf
    config = hf.XLMRobertaConfig(vocab_size=16384, hidden_size=768, num_hidden_layers=6, num_attention_heads=12,
                                 intermediate_size=3072, max_position_embeddings=514, type_vocab_size=1, num_labels=6,
                                 hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=1)
    model = transformers_network("XLMRobertaForSequenceClassification", config)
    encode, turn = nets.WordPieces(), itertools.count()
    texts, moods = encode.texts(480), torch.randint(0, 6, (480,))
    ids_of_all = None if kind == "broken" else torch.tensor([encode(text) for text in texts]).pin_memory()

    def batches():
        begin = next(turn) % 15 * 32
        rows = slice(begin, begin + 32)
        ids = torch.tensor([encode(text) for text in texts[rows]]) if ids_of_all is None else ids_of_all[rows]
        return ids.to(GPU, non_blocking=True), moods[rows].to(GPU, non_blocking=True)
    return training(model, lambda m, ids, y: F.cross_entropy(m(input_ids=ids).logits.float(), y), batches)


@case("heartbeats_collated_from_lists", "heart_resnet", "data_loading", "np.stack and torch.from_numpy", 32)
def _(kind):
    """The collate function of a small data set that is read without workers."""
    recordings, kinds, turn = nets.heartbeats(512), torch.randint(0, 71, (512,)), itertools.count()

    def batches():
        begin = next(turn) % 16 * 32
        rows = recordings[begin:begin + 32]
        x = torch.tensor(rows) if kind == "broken" else torch.from_numpy(np.stack(rows))
        return x.to(GPU), kinds[begin:begin + 32].to(GPU)
    return training(nets.HeartNet().to(GPU), classify, batches)


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("packed_texts_bring_their_masks", "packed_encoder", "host_transfer",
      "the documents' numbers copied, the mask made of them on the GPU", 16)
def _(kind):
    """Four documents in a row of 1024 words."""
    ends = torch.randint(200, 312, (16, 4)).cumsum(1)
    documents = (torch.arange(1024)[None, :, None] >= ends[:, None, :3]).sum(-1)
    (ids,) = tokens(16, 1024)
    batches = copied(ids, nets.own_document(documents) if kind == "broken" else documents, pinned=False, blocking=True)

    def loss_of(m, ids, told):
        mask = told if kind == "broken" else nets.own_document(told)
        return F.cross_entropy(m(ids, mask).flatten(0, 1).float(), ids.flatten())
    return training(nets.Packed().to(GPU), loss_of, batches)


@case("dpo_reference_waits_on_host", "dpo", "host_transfer", "the reference model stays on the GPU", 16)
def _(kind):
    """Eight answers that were liked and eight that were not."""
    with torch.device(GPU):
        policy, reference = (own.Decoder(dim=512, layers=8, heads=8, length=512) for _ in range(2))
    reference = reference.bfloat16().eval().requires_grad_(False)
    if kind == "broken":
        reference.cpu()

    def loss_of(m, ids):
        with torch.no_grad():
            usual = nets.likelihood(reference.to(GPU), ids)
        if kind == "broken":
            reference.cpu()
        gained = nets.likelihood(m, ids) - usual
        return -F.logsigmoid(0.1 * (gained[:8] - gained[8:])).mean()
    return training(policy, loss_of, resident(*tokens(16, 512)))


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("segformer_overlap_read_kind_by_kind", "segformer", "cpu_gpu_sync", "pairs of kinds counted on the GPU", 8)
def _(kind):
    """The overlap of what was found and what is there, for 150 kinds, at every step."""
    import transformers as hf
    config = hf.SegformerConfig(num_labels=150, drop_path_rate=0.0)
    model = transformers_network("SegformerForSemanticSegmentation", config)
    x, y = torch.randn(8, 3, 512, 512), torch.randint(0, 150, (8, 128, 128))
    counts, one = torch.zeros(150 * 150, dtype=torch.long, device=GPU), torch.ones((), dtype=torch.long, device=GPU)
    hits, either = [0] * 150, [0] * 150

    def loss_of(m, x, y):
        scores = m(pixel_values=x).logits.float()
        found = scores.detach().argmax(1)
        if kind == "broken":
            for at in range(150):
                hits[at] += ((found == at) & (y == at)).sum().item()
                either[at] += ((found == at) | (y == at)).sum().item()
        else:
            pairs = (y * 150 + found).flatten()
            counts.scatter_add_(0, pairs, one.expand(pairs.shape))
        return F.cross_entropy(scores, y)
    return training(model, loss_of, resident(x, y))


@case("wav2letter_masks_drawn_clip_by_clip", "wav2letter", "cpu_gpu_sync", "masks of all clips by comparison", 96)
def _(kind):
    from torchaudio.models import Wav2Letter
    with torch.device(GPU):
        model = Wav2Letter(num_classes=35, input_type="mfcc", num_features=80)
    masked = nets.masked_clip_by_clip if kind == "broken" else nets.masked_together

    def loss_of(m, x, y):
        return F.cross_entropy(m(masked(x)).float().mean(-1), y)
    return training(model, loss_of, resident(torch.randn(96, 80, 200), torch.randint(0, 35, (96,))))


@case("faces_cut_out_box_by_box", "regnetx", "cpu_gpu_sync", "torchvision.ops.roi_align of all boxes", 96)
def _(kind):
    """Twelve faces on each of eight pictures are cut out and described."""
    model = picture_network("regnetx_016", num_classes=0).bfloat16().eval()
    pictures = torch.rand(8, 3, 720, 1280, device=GPU)
    corner, size = torch.rand(96, 2) * torch.tensor([1000.0, 440.0]), torch.rand(96, 2) * 200 + 60
    on = torch.arange(8).repeat_interleave(12)[:, None]
    boxes = torch.cat([on, corner, corner + size], dim=1).floor().to(GPU)
    cut = nets.faces_one_by_one if kind == "broken" else nets.faces_at_once

    def run():
        return F.normalize(model(channels_last(cut(pictures, boxes).bfloat16())).float(), dim=1)
    return inference(run)


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("res2net101_infer_batch2", "res2net101", "launch_overhead", "CUDA graph", 2)
def _(kind):
    model = picture_network("res2net101_26w_4s").bfloat16().eval()
    x = channels_last(torch.randn(2, 3, 224, 224, device=GPU, dtype=torch.bfloat16))
    step = inference(lambda: model(x))
    return captured(step) if kind == "fixed" else step


@case("robot_plans_moves_eagerly", "diffusion_policy", "launch_overhead", "CUDA graph of all denoising steps", 1,
      accept=["launch_overhead", "gpu_underused"])  # the moves of one arm are little, too
def _(kind):
    with torch.device(GPU):
        model = nets.MovePlanner().bfloat16().eval()
        scene, noise = torch.randn(1, 256).bfloat16(), torch.randn(1, 8, 16).bfloat16()
        times = torch.linspace(100, 0, 16)

    def run():
        x = noise
        for time in times:
            x = x - 0.07 * model(x, scene, time)
        return x
    step = inference(run)
    return captured(step) if kind == "fixed" else step


@case("gat_citations_eager", "gat", "launch_overhead", "CUDA graph of the whole step", 4096)
def _(kind):
    """A small graph as a whole: 4096 papers, 32,768 citations."""
    data = torch.randn(4096, 512), torch.randint(0, 4096, (2, 32768)), torch.randint(0, 40, (4096,))
    return graph_if(kind == "fixed", nets.Gat().to(GPU), lambda m, x, edges, y: F.cross_entropy(m(x, edges).float(), y),
                    resident(*data))


# --- precision -------------------------------------------------------------------------------------------------------

@case("mvit_clips_trained_in_fp32", "mvit_v2", "precision", "bf16 autocast", 6)
def _(kind):
    from torchvision.models.video import mvit_v2_s
    with torch.device(GPU):
        model = mvit_v2_s(weights=None).train()
    data = torch.randn(6, 3, 16, 224, 224), torch.randint(0, 400, (6,))
    return training(model, classify, resident(*data), mixed=kind == "fixed", before=tf32(kind == "fixed"))


@case("vit_mae_pretrained_in_tf32", "vit_mae", "precision", "bf16 autocast", 128)
def _(kind):
    import transformers as hf
    model = transformers_network("ViTMAEForPreTraining", hf.ViTMAEConfig(attn_implementation="sdpa"))
    return training(model, lambda m, x, y: m(pixel_values=x).loss, resident(*images(128)), mixed=kind == "fixed",
                    before=tf32(True))


@case("assistant_decodes_with_fp32_weights", "assistant", "precision", "weights and cache in bf16", 8,
      accept=["precision", "memory_bandwidth"])  # every word reads all the weights, twice as many bytes as need be
def _(kind):
    """Eight words of eight dialogues; a CUDA graph in both variants."""
    with torch.device(GPU):
        model = own.CachedDecoder(8, dim=2048, layers=12, heads=16).eval()
        first = torch.randint(0, 16384, (8, 1))
    model = model.bfloat16() if kind == "fixed" else model

    def run():
        words = first
        for _ in range(8):
            words = model(words)
        return words
    return captured(inference(run))


# --- attention -------------------------------------------------------------------------------------------------------

@case("videomae_eager_attention", "videomae", "attention", 'attn_implementation "eager" -> "sdpa"', 8)
def _(kind):
    import transformers as hf
    config = hf.VideoMAEConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048,
                               num_frames=16, num_labels=174,
                               attn_implementation="eager" if kind == "broken" else "sdpa")
    model = transformers_network("VideoMAEForVideoClassification", config)
    places = model.videomae.embeddings
    places.position_embeddings = places.position_embeddings.to(GPU)  # the library leaves them on the host
    data = torch.randn(8, 16, 3, 224, 224), torch.randint(0, 174, (8,))
    return training(model, lambda m, x, y: F.cross_entropy(m(pixel_values=x).logits.float(), y), resident(*data))


@case("itransformer_sensors_by_einsum", "itransformer", "attention", "scaled_dot_product_attention(dropout_p=0.1)", 32)
def _(kind):
    """The 862 sensors of the traffic data."""
    model = nets.ITransformer(kind == "broken").to(GPU)
    return training(model, lambda m, past, future: F.mse_loss(m(past).float(), future),
                    resident(torch.rand(32, 96, 862), torch.rand(32, 96, 862)))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("spline_curves_unfused", "spline_net", "memory_bandwidth", "torch.compile fuses the splines", 32768)
def _(kind):
    curves = torch.compile(nets.splines) if kind == "fixed" else nets.splines
    with torch.device(GPU):
        model = nets.SplineNet(curves)
        data = torch.rand(32768, 784), torch.randint(0, 10, (32768,))
    return training(model, classify, lambda: data)


@case("relations_of_pairs_put_side_by_side", "relations", "memory_bandwidth",
      "each half of the first layer once an object, their sums for pairs", 24)
def _(kind):
    """128 objects a scene."""
    data = torch.randn(24, 128, 64), torch.randint(0, 28, (24,))
    return training(nets.Relations(kind == "broken").to(GPU), classify, resident(*data))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("pvt_adamw_per_parameter", "pvt_v2", "optimizer", "AdamW(fused=True)", 32)
def _(kind):
    model = picture_network("pvt_v2_b1", False)
    return training(model, classify, resident(*images(32)),
                    adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model))


class Lamb(torch.optim.Optimizer):
    """You et al.'s layer-wise steps, one parameter after the other or by torch._foreach functions."""

    def __init__(self, parameters, together, lr=1e-3, decay=0.01, eps=1e-6):
        super().__init__(parameters, {"lr": lr})
        self.together, self.lr, self.decay, self.eps = together, lr, decay, eps

    @torch.no_grad()
    def step(self, closure=None):
        weights = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        for p in weights:
            if not self.state[p]:
                self.state[p].update(mean=torch.zeros_like(p), square=torch.zeros_like(p))
        means, squares = ([self.state[p][name] for p in weights] for name in ("mean", "square"))
        self.all_at_once(weights, means, squares) if self.together else self.in_turn(weights, means, squares)

    def in_turn(self, weights, means, squares):
        for p, mean, square in zip(weights, means, squares):
            mean.mul_(0.9).add_(p.grad, alpha=0.1)
            square.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
            move = mean / (square.sqrt() + self.eps) + self.decay * p
            trust = p.norm() / (move.norm() + self.eps)
            p.add_(-self.lr * trust.clamp(max=10) * move)

    def all_at_once(self, weights, means, squares):
        grads = [p.grad for p in weights]
        torch._foreach_mul_(means, 0.9)
        torch._foreach_add_(means, grads, alpha=0.1)
        torch._foreach_mul_(squares, 0.999)
        torch._foreach_addcmul_(squares, grads, grads, value=0.001)
        moves = torch._foreach_sqrt(squares)
        torch._foreach_add_(moves, self.eps)
        moves = torch._foreach_div(means, moves)
        torch._foreach_add_(moves, weights, alpha=self.decay)
        trust = torch.stack(torch._foreach_norm(weights)) / (torch.stack(torch._foreach_norm(moves)) + self.eps)
        torch._foreach_mul_(moves, list((-self.lr * trust.clamp(max=10)).unbind()))
        torch._foreach_add_(weights, moves)


@case("mobilebert_lamb_per_parameter", "mobilebert", "optimizer", "the same update with torch._foreach functions", 16)
def _(kind):
    import transformers as hf
    config = hf.MobileBertConfig(vocab_size=16384, num_hidden_layers=8, max_position_embeddings=128)
    model = transformers_network("MobileBertForMaskedLM", config)
    return training(model, huggingface_loss, resident(*tokens(16, 128)), Lamb(model.parameters(), kind == "fixed"))


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("beit_empties_cache_between_albums", "beit", "memory_allocation", "no empty_cache() between the albums", 288)
def _(kind):
    """Describes six albums of 48 pictures."""
    model = picture_network("beit_base_patch16_224", False, num_classes=0).bfloat16().eval()
    albums = torch.randn(6, 48, 3, 224, 224, device=GPU, dtype=torch.bfloat16)

    def run():
        found = []
        for album in albums:
            found.append(model(album))
            if kind == "broken":
                torch.cuda.empty_cache()
        return torch.cat(found)
    return inference(run)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("wav2vec2_transcribes_three_recordings", "wav2vec2", "gpu_underused", "batch 3 -> 48", 3, fixed_batch=48)
def _(kind):
    """Six seconds each."""
    from torchaudio.models import wav2vec2_base
    with torch.device(GPU):
        model = wav2vec2_base(aux_num_out=32).bfloat16().eval()
        sound = torch.randn(3 if kind == "broken" else 48, 96000).bfloat16()
    return inference(lambda: model(sound)[0].argmax(-1))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("wide_encoder_healthy", "torch_encoder", "none", "", 24)
def _(kind):
    with torch.device(GPU):
        model = nets.Encoder().bfloat16()
    return training(model, lambda m, ids: F.cross_entropy(m(ids).flatten(0, 1).float(), ids.flatten()),
                    Prefetched(*tokens(24, 512)), mixed=False)


@case("latent_tower_healthy", "latent_tower", "none", "", 64)
def _(kind):
    with torch.device(GPU):
        model = nets.LatentTower().bfloat16().to(memory_format=torch.channels_last)
    noisy, clean = (channels_last(torch.randn(64, 16, 32, 32).bfloat16()) for _ in range(2))
    return training(model, lambda m, x, y: F.mse_loss(m(x).float(), y.float()), resident(noisy, clean), mixed=False)


@case("clip_vit_large_loader_healthy", "clip_vit_large", "none", "", 40, loader=True)
def _(kind):
    batches, close = loaded(nets.Crops(), 40, WORKERS)
    model = picture_network("vit_large_patch14_clip_224", False, num_classes=1000).bfloat16().train()
    return training(model, lambda m, x, y: classify(m, nets.lit(x, torch.bfloat16), y), batches, mixed=False), close


@case("mistral_width_prefill_healthy", "mistral", "none", "", 8)
def _(kind):
    import transformers as hf
    config = hf.MistralConfig(vocab_size=16384, hidden_size=4096, intermediate_size=14336, num_hidden_layers=5,
                              num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=1024,
                              sliding_window=None, use_cache=False, attn_implementation="sdpa")
    model = transformers_network("MistralModel", config, train=False).bfloat16()
    batches = Prefetched(*tokens(8, 1024))
    return inference(lambda: model(input_ids=batches()[0]).last_hidden_state)


CASES = mixed_by_cause(FOUND)
