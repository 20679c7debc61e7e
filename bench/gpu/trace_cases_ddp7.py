"""A further set of two-GPU cases for record_traces.py --gpus 2 --cases trace_cases_ddp7: data-parallel training,
sharded weights, and models split by heads or by layers, each with one flaw and its usual remedy. Needs timm besides."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
import trace_nets_blind9 as nets
from trace_cases import GPU, Prefetched, classify, images, inference, next_token, resident, tokens, training
from trace_cases_blind import annotated_case_list
from trace_cases_blind4 import mixed_by_cause
from trace_cases_ddp import average_after_backward, parallel

FOUND, case = annotated_case_list()


# --- multi_gpu_comm --------------------------------------------------------------------------------------------------

@case("fsdp_decoder_as_one_unit", "wide_decoder", "multi_gpu_comm", "fully_shard each layer, then the whole", 8)
def _(kind):
    """All weights are gathered before the first layer runs, all gradients scattered after the last."""
    from torch.distributed.fsdp import fully_shard
    with torch.device(GPU):
        model = own.Decoder(dim=2048, layers=12, heads=16, length=768)
    for block in model.blocks if kind == "fixed" else []:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    return training(model, next_token, resident(*tokens(4, 768)), optimizer)


@case("ddp_speakers_gathers_scores_as_objects", "speakers", "multi_gpu_comm",
      "hits counted on the GPU, one all-reduce of the count", 256,
      accept=["multi_gpu_comm", "host_transfer", "cpu_gpu_sync"])
def _(kind):
    model, hits = parallel(nets.SpeakerNet().to(GPU)), torch.zeros(2, device=GPU)

    def count(scores, who):
        if kind == "fixed":
            here = (scores.argmax(1) == who).sum().float()
            dist.all_reduce(here)
            hits[0] += here
            return
        parts = [None] * dist.get_world_size()
        dist.all_gather_object(parts, {"scores": scores.cpu(), "who": who.cpu()})
        found, right = (torch.cat([part[name] for part in parts]) for name in ("scores", "who"))
        hits[0] += (found.argmax(1) == right).sum().item()

    def loss_of(m, x, who):
        scores = m(x).float()
        count(scores.detach(), who)
        return F.cross_entropy(scores, who)
    return training(model, loss_of, resident(torch.randn(128, 80, 200), torch.randint(0, 5994, (128,))))


class HalfLayer(nn.Module):
    """A layer of which each of `ranks` has its share of the heads and of the hidden units."""

    def __init__(self, dim, heads, ranks):
        super().__init__()
        self.heads, self.ranks = heads // ranks, ranks
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim // ranks), nn.Linear(dim // ranks, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * dim // ranks), nn.Linear(4 * dim // ranks, dim, bias=False)

    def summed(self, x):
        if self.ranks > 1:
            dist.all_reduce(x)
        return x

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.summed(self.out(mixed))
        return x + self.summed(self.down(F.gelu(self.up(self.norm2(x)))))


@case("tp_encoder_that_fits_one_gpu", "passages", "multi_gpu_comm",
      "the whole encoder on each rank, half of the passages each", 64)
def _(kind):
    """Embeds passages; heads and hidden units are split over the ranks, all passages go through both."""
    ranks = dist.get_world_size()
    with torch.device(GPU):
        layers = [HalfLayer(1024, 16, 1 if kind == "fixed" else ranks) for _ in range(16)]
        model = nn.Sequential(*layers).bfloat16().eval()
    passages = torch.randn(64 // ranks if kind == "fixed" else 64, 256, 1024, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: model(passages).mean(1))


@case("zero_hrnet_broadcasts_each_parameter", "hrnet", "multi_gpu_comm",
      "ZeroRedundancyOptimizer(parameters_as_bucket_view=True)", 32,
      accept=["multi_gpu_comm", "launch_overhead", "optimizer"])
def _(kind):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = parallel(nets.picture_network("hrnet_w18", False))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW,
                                        parameters_as_bucket_view=kind == "fixed", lr=1e-4, fused=True)
    return training(model, classify, resident(*images(16)), optimizer)


@case("ddp_seresnet50_averages_once_more", "se_resnet50", "multi_gpu_comm",
      "no loop of all-reduces after DistributedDataParallel's own", 64, accept=["multi_gpu_comm", "launch_overhead"])
def _(kind):
    """The loop that averaged gradients before the model was wrapped is still there."""
    model = parallel(nets.picture_network("seresnet50"))
    optimizer = average_after_backward(model, dist.all_reduce) if kind == "broken" else None
    x, y = images(32)
    return training(model, classify, resident(x.contiguous(memory_format=torch.channels_last), y), optimizer)


# --- load_imbalance --------------------------------------------------------------------------------------------------

@case("pipeline_stages_of_equally_many_layers", "rescorer", "load_imbalance",
      "10 + 2 layers instead of 6 + 6: the head is worth eight", 16)
def _(kind):
    """The first layers on rank 0, the others and the head for 200,000 words on rank 1; eight micro-batches."""
    count = ((6, 6), (10, 2))[kind == "fixed"][dist.get_rank()]
    with torch.device(GPU):
        layers = nn.Sequential(*(own.Block(2048, 16) for _ in range(count))).bfloat16().eval()
        head = nn.Linear(2048, 200_000, bias=False).bfloat16() if dist.get_rank() == 1 else None
        texts = torch.randn(8, 2, 1024, 2048, dtype=torch.bfloat16)

    def first():
        kept = []
        for text in texts:
            hidden = layers(text)
            kept.append((hidden, dist.isend(hidden, 1)))
        for _, sending in kept:
            sending.wait()

    def second():
        best = []
        for text in texts:
            hidden = torch.empty_like(text)
            dist.recv(hidden, 0)
            best.append(head(layers(hidden)).argmax(-1))
    return inference(first if dist.get_rank() == 0 else second)


@case("ddp_deit_teacher_on_rank0_only", "deit_student", "load_imbalance",
      "each rank asks the teacher about its own half", 192)
def _(kind):
    """Rank 0 has the teacher judge the pictures of both ranks and sends rank 1 its half of the judgements."""
    import torchvision
    alone = kind == "broken"
    model = parallel(nets.picture_network("deit3_small_patch16_224", False))
    with torch.device(GPU):
        teacher = torchvision.models.vit_l_16(weights=None).bfloat16().eval().requires_grad_(False)
        pictures = torch.randn(192, 3, 224, 224)
        judged = torch.empty(192, 1000, dtype=torch.bfloat16)
    mine = slice(96 * dist.get_rank(), 96 * dist.get_rank() + 96)

    @torch.no_grad()
    def judgements():
        if not alone:
            return teacher(pictures[mine].bfloat16())
        if dist.get_rank() == 0:
            judged.copy_(torch.cat([teacher(half.bfloat16()) for half in pictures.split(96)]))
        dist.broadcast(judged, 0)
        return judged[mine]

    def loss_of(m, x):
        wanted = F.softmax(judgements().float() / 2, dim=1)
        return F.cross_entropy(m(x).float() / 2, wanted)
    return training(model, loss_of, lambda: (pictures[mine],))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("ddp_go_tower_healthy", "go_tower", "none", "", 1024)
def _(kind):
    model = nets.GoTower().to(GPU).to(memory_format=torch.channels_last)
    return training(parallel(model, gradient_as_bucket_view=True), nets.game_loss, Prefetched(*nets.games(512)))


@case("ddp_dinov2_wide_healthy", "dinov2", "none", "", 128)
def _(kind):
    import transformers as hf
    config = hf.Dinov2Config(hidden_size=1536, num_hidden_layers=10, num_attention_heads=24, mlp_ratio=4,
                             image_size=224, patch_size=14, num_labels=1000, drop_path_rate=0.0,
                             attn_implementation="sdpa")
    with torch.device(GPU):
        model = hf.Dinov2ForImageClassification(config).bfloat16().train()
    model.dinov2.embeddings.mask_token.requires_grad_(False)  # gets no gradient: DDP would wait for it
    x, y = images(64)
    return training(parallel(model, gradient_as_bucket_view=True),
                    lambda m, x, y: F.cross_entropy(m(pixel_values=x).logits.float(), y), Prefetched(x.bfloat16(), y),
                    mixed=False)


CASES = mixed_by_cause(FOUND)
