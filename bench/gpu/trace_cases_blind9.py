"""A further set of cases for record_traces.py --cases trace_cases_blind9: networks of timm, torchaudio, transformers
and trace_nets_blind9.py, each with one plain flaw and its usual remedy; written by somebody who did not know the
analysis. Needs timm, torchaudio and pandas besides."""
import copy
import itertools

import torch
import torch.nn.functional as F
from torch import nn

import trace_nets_blind9 as nets
from trace_cases import (GPU, Prefetched, adamw, captured, channels_last, classify, copied, graph_if,
                         huggingface_loss, images, inference, loaded, resident, tf32, tokens, training)
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause

WORKERS = 12
FOUND, case = annotated_case_list()


# --- data_loading ----------------------------------------------------------------------------------------------------

@case("convtasnet_mixes_voices_in_process", "convtasnet", "data_loading", "num_workers 0 -> 12", 16, loader=True)
def _(kind):
    from torchaudio.models import ConvTasNet
    batches, close = loaded(nets.Conversations(), 16, 0 if kind == "broken" else WORKERS)
    return training(ConvTasNet(msk_num_layers=6, msk_num_stacks=2).to(GPU), nets.separation_loss, batches), close


@case("nbeats_windows_cut_from_a_table", "nbeats", "data_loading",
      "all series in one tensor on the GPU, windows indexed there", 128, loader=True)
def _(kind):
    data, model = nets.Demand(), nets.NBeats().to(GPU)

    def loss_of(m, past, future):
        return F.smooth_l1_loss(m(past).float(), future)
    if kind == "broken":
        batches, close = loaded(data, 128, 4)
        return training(model, loss_of, batches), close
    sales, within = data.sales.to(GPU), torch.arange(210, device=GPU)

    def drawn():
        shop = torch.randint(0, data.shops, (128, 1), device=GPU)
        windows = sales[shop, torch.randint(0, data.days - 210, (128, 1), device=GPU) + within]
        return windows[:, :180], windows[:, 180:]
    return training(model, loss_of, drawn), lambda: None


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("dinov2_keeps_best_weights_on_host", "dinov2", "host_transfer", "the best weights kept on the GPU", 64)
def _(kind):
    import transformers as hf
    config = hf.Dinov2Config(hidden_size=384, num_hidden_layers=12, num_attention_heads=6, mlp_ratio=4, image_size=224,
                             patch_size=14, num_labels=1000, drop_path_rate=0.0, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.Dinov2ForImageClassification(config).train()
    best = {name: value.clone() for name, value in model.state_dict().items()}

    def keep(model, _):
        """After every step, as if each were better than all before."""
        state = model.state_dict()
        if kind == "broken":
            best.update({name: value.cpu() for name, value in state.items()})
        else:
            torch._foreach_copy_(list(best.values()), list(state.values()))
    return training(model, lambda m, x, y: F.cross_entropy(m(pixel_values=x).logits.float(), y),
                    resident(*images(64)), tail=keep)


@case("voxnet_grids_sent_as_floats", "voxnet", "host_transfer", "grids as bytes, in pinned memory", 64)
def _(kind):
    grids, kinds = torch.rand(64, 1, 88, 88, 88) < 0.05, torch.randint(0, 40, (64,))
    batches = copied(grids.float(), kinds, pinned=False, blocking=True) if kind == "broken" else copied(
        grids.to(torch.uint8), kinds, pinned=True, blocking=False)
    return training(nets.VoxNet().to(GPU), lambda m, x, y: classify(m, x.float(), y), batches)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("reid_triplets_picture_by_picture", "se_resnet50", "cpu_gpu_sync", "hardest triplets of all pictures by masks",
      96)
def _(kind):
    """Twelve persons, eight pictures each."""
    model = nets.picture_network("seresnet50", num_classes=0)
    x, who = channels_last(torch.randn(96, 3, 256, 128)), torch.arange(12).repeat_interleave(8)
    triplets = nets.triplets_in_turn if kind == "broken" else nets.triplets_at_once
    return training(model, lambda m, x, who: triplets(m(x), who), resident(x, who))


@case("reviews_losses_noted_text_by_text", "reviews", "cpu_gpu_sync", "losses noted in a tensor on the GPU", 512)
def _(kind):
    """Every text's loss and whether it was told right are noted, to find texts with wrong labels later."""
    model, (ids, y) = nets.Reviews().to(GPU), (*tokens(512, 48), torch.randint(0, 5, (512,)))
    texts = torch.arange(512, device=GPU)
    history, table = {}, torch.zeros(2, 512, device=GPU)

    def loss_of(m, ids, y):
        scores = m(ids).float()
        losses = F.cross_entropy(scores, y, reduction="none")
        right = scores.argmax(1) == y
        if kind == "broken":
            for at in range(len(losses)):
                history[at] = losses[at].item(), right[at].item()
        else:
            table[0].index_copy_(0, texts, losses.detach())
            table[1].index_copy_(0, texts, right.float())
        return losses.mean()
    return training(model, loss_of, resident(ids, y))


@case("pointnet2_far_points_cloud_by_cloud", "pointnet2", "cpu_gpu_sync",
      "farthest points of all clouds at once, indices stay on the GPU", 6)
def _(kind):
    data = torch.randn(6, 8192, 3), torch.randint(0, 40, (6,))
    return training(nets.PointNet2(kind == "broken").to(GPU), classify, resident(*data))


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("mobilevit_infer_batch1", "mobilevit", "launch_overhead", "CUDA graph", 1)
def _(kind):
    model = nets.picture_network("mobilevit_s").bfloat16().eval()
    x = channels_last(torch.randn(1, 3, 256, 256, device=GPU, dtype=torch.bfloat16))
    step = inference(lambda: model(x))
    return captured(step) if kind == "fixed" else step


@case("crf_tagger_chain_in_python", "crf_tagger", "launch_overhead", "CUDA graph", 32)
def _(kind):
    data = *tokens(32, 96), torch.randint(0, 24, (32, 96))
    return graph_if(kind == "fixed", nets.CrfTagger().to(GPU), lambda m, ids, tags: m(ids, tags), resident(*data))


@case("td3_updates_eager", "td3", "launch_overhead", "CUDA graph of the update", 256)
def _(kind):
    """Two updates of both critics, one of the actor, then the targets follow."""
    with torch.device(GPU):
        actor, critics = nets.small_net(24, 6), nn.ModuleList(nets.small_net(30, 1) for _ in range(2))
        now, later, moves = torch.randn(256, 24), torch.randn(256, 24), torch.rand(256, 6) * 2 - 1
        reward, lasts = torch.randn(256, 1), (torch.rand(256, 1) < 0.99).float()
    old_actor, old_critics = (copy.deepcopy(m).requires_grad_(False) for m in (actor, critics))
    teach_actor, teach_critics = (torch.optim.Adam(m.parameters(), 3e-4, fused=True, capturable=True)
                                  for m in (actor, critics))

    def learn_values():
        with torch.no_grad():
            noise = (torch.randn_like(moves) * 0.2).clamp(-0.5, 0.5)
            then = torch.cat([later, (torch.tanh(old_actor(later)) + noise).clamp(-1, 1)], dim=1)
            target = reward + 0.99 * lasts * torch.minimum(*(critic(then) for critic in old_critics))
        taken = torch.cat([now, moves], dim=1)
        loss = sum(F.mse_loss(critic(taken), target) for critic in critics)
        teach_critics.zero_grad(set_to_none=True)
        loss.backward()
        teach_critics.step()

    def step():
        learn_values()
        learn_values()
        loss = -critics[0](torch.cat([now, torch.tanh(actor(now))], dim=1)).mean()
        teach_actor.zero_grad(set_to_none=True)
        loss.backward()
        teach_actor.step()
        with torch.no_grad():
            for new, old in itertools.chain(zip(actor.parameters(), old_actor.parameters()),
                                            zip(critics.parameters(), old_critics.parameters())):
                old.mul_(0.995).add_(new, alpha=0.005)
    return captured(step) if kind == "fixed" else step


# --- precision -------------------------------------------------------------------------------------------------------

@case("cspdarknet53_default_precision", "cspdarknet53", "precision", "bf16 autocast + channels_last", 64)
def _(kind):
    """As PyTorch comes: convolutions in TF32."""
    fixed = kind == "fixed"
    x, y = images(64)
    return training(nets.picture_network("cspdarknet53", fixed), classify,
                    resident(channels_last(x) if fixed else x, y), mixed=fixed)


@case("protbert_embeds_in_fp32", "protbert", "precision", "bf16 weights", 16)
def _(kind):
    import transformers as hf
    config = hf.BertConfig(vocab_size=30, hidden_size=1024, num_hidden_layers=8, num_attention_heads=16,
                           intermediate_size=4096, max_position_embeddings=1024, hidden_dropout_prob=0.0,
                           attention_probs_dropout_prob=0.0, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.BertModel(config, add_pooling_layer=False).eval()
    model = model.bfloat16() if kind == "fixed" else model
    (residues,) = resident(*tokens(16, 512, 30))()
    return inference(lambda: model(input_ids=residues).last_hidden_state.mean(1), tf32(False))


# --- attention -------------------------------------------------------------------------------------------------------

@case("opt_eager_attention", "opt", "attention", 'attn_implementation "eager" -> "sdpa"', 4)
def _(kind):
    import transformers as hf
    config = hf.OPTConfig(vocab_size=16384, hidden_size=1024, num_hidden_layers=6, ffn_dim=4096,
                          num_attention_heads=16, max_position_embeddings=2048, dropout=0.0, attention_dropout=0.0,
                          layerdrop=0.0, use_cache=False,
                          attn_implementation="eager" if kind == "broken" else "sdpa")
    with torch.device(GPU):
        model = hf.OPTForCausalLM(config).train()
    return training(model, huggingface_loss, resident(*tokens(4, 1792)))


@case("genome_scores_written_out", "genome", "attention", "scaled_dot_product_attention", 2)
def _(kind):
    model = nets.Genome(kind == "broken").to(GPU)
    ids, unread = torch.randint(0, 4107, (2, 4096)), torch.arange(4096) >= torch.tensor([[4096], [3600]])

    def loss_of(m, ids, unread):
        return F.cross_entropy(m(ids, unread).flatten(0, 1).float(), ids.flatten())
    return training(model, loss_of, resident(ids, unread))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("spiking_neurons_unfused", "spiking", "memory_bandwidth", "torch.compile fuses the neurons' time steps", 32768)
def _(kind):
    """Eight time steps."""
    neurons = torch.compile(nets.spikes) if kind == "fixed" else nets.spikes
    with torch.device(GPU):
        model = nn.ModuleList([nn.Linear(256, 1024), nn.Linear(1024, 1024), nn.Linear(1024, 20)])
        x, y = torch.rand(8, 32768, 256).bfloat16(), torch.randint(0, 20, (32768,))

    def loss_of(m, x, y):
        for layer in m[:2]:
            x = neurons(layer(x))
        return F.cross_entropy(m[2](x).float().mean(0), y)
    return training(model, loss_of, lambda: (x, y))


@case("retinanet_focal_loss_unfused", "retinanet_head", "memory_bandwidth", "torch.compile fuses the loss", 131072)
def _(kind):
    """Cells of a map: nine boxes, eighty kinds."""
    loss = torch.compile(nets.focal_loss) if kind == "fixed" else nets.focal_loss
    with torch.device(GPU):
        model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 720))
        cells, wanted = torch.randn(131072, 256), (torch.rand(131072, 720) < 0.001).float()
    return training(model, lambda m, x, y: loss(m(x).float(), y), lambda: (cells, wanted))


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("cait_adamw_per_parameter", "cait", "optimizer", "AdamW(fused=True)", 24)
def _(kind):
    model = nets.picture_network("cait_xxs24_224", False)
    return training(model, classify, resident(*images(24)),
                    adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model))


@case("electra_adam_per_parameter", "electra", "optimizer", "Adam(fused=True)", 16)
def _(kind):
    import transformers as hf
    config = hf.ElectraConfig(vocab_size=16384, embedding_size=128, hidden_size=256, num_hidden_layers=12,
                              num_attention_heads=4, intermediate_size=1024, max_position_embeddings=512,
                              hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    with torch.device(GPU):
        model = hf.ElectraForMaskedLM(config).train()
    more = {"foreach": False, "fused": False} if kind == "broken" else {"fused": True}
    return training(model, huggingface_loss, resident(*tokens(16, 128)),
                    torch.optim.Adam(model.parameters(), 1e-4, **more))


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("gallery_search_empties_cache_per_chunk", "gallery", "memory_allocation",
      "no empty_cache() between the chunks of queries", 2048)
def _(kind):
    """The twenty nearest of 400,000 faces for 2048 others, 256 at a time."""
    gallery = F.normalize(torch.randn(400_000, 256, device=GPU), dim=1).bfloat16()
    queries = F.normalize(torch.randn(2048, 256, device=GPU), dim=1).bfloat16()

    def run():
        nearest = []
        for chunk in queries.split(256):
            scores = chunk @ gallery.T
            nearest.append(scores.topk(20, dim=1).indices)
            del scores
            if kind == "broken":
                torch.cuda.empty_cache()
        return torch.cat(nearest)
    return inference(run)


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("xception41_train_batch6", "xception41", "gpu_underused", "batch 6 -> 192", 6, fixed_batch=192)
def _(kind):
    x, y = images(6 if kind == "broken" else 192)
    return training(nets.picture_network("xception41"), classify, resident(channels_last(x), y))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("deit3_huge_healthy", "deit3_huge", "none", "", 32)
def _(kind):
    model = nets.picture_network("deit3_huge_patch14_224", False).bfloat16().train()
    x, y = images(32)
    return training(model, classify, Prefetched(x.bfloat16(), y), mixed=False)


@case("sparse_features_healthy", "sparse_features", "none", "", 8192)
def _(kind):
    with torch.device(GPU):
        model = nets.SparseFeatures().bfloat16()
    return training(model, nets.feature_loss, resident(torch.randn(8192, 4096).bfloat16()), mixed=False)


@case("pythia_prefill_healthy", "pythia", "none", "", 8)
def _(kind):
    import transformers as hf
    config = hf.GPTNeoXConfig(vocab_size=16384, hidden_size=4096, num_hidden_layers=6, num_attention_heads=32,
                              intermediate_size=16384, max_position_embeddings=1024, hidden_dropout=0.0,
                              attention_dropout=0.0, use_cache=False, attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.GPTNeoXModel(config).bfloat16().eval()
    batches = Prefetched(*tokens(8, 1024))
    return inference(lambda: model(input_ids=batches()[0]).last_hidden_state)


@case("go_tower_healthy", "go_tower", "none", "", 512)
def _(kind):
    model = nets.GoTower().to(GPU).to(memory_format=torch.channels_last)
    return training(model, nets.game_loss, Prefetched(*nets.games(512)))


CASES = mixed_by_cause(FOUND)
