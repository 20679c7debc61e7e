"""Video on one rank sound on the other: load_imbalance. Cured by: both networks on each rank, half of the clips
each."""
import torch
import torch.distributed as dist
import torch.nn.functional as F

from shared.networks import picture_network
from shared.steps import channels_last, GPU, inference


def program(kind):
    """Embeds clips: pictures on rank 0, spectrograms on rank 1, then both ranks compare the two."""
    from torchvision.models.video import mvit_v1_b
    rank, ranks, cured = dist.get_rank(), dist.get_world_size(), kind == "cured"
    count = 12 // ranks if cured else 12
    watch = hear = None
    if cured or rank == 0:
        with torch.device(GPU):
            watch = mvit_v1_b(weights=None, num_classes=128).bfloat16().eval()
            clips = torch.randn(count, 3, 16, 224, 224, dtype=torch.bfloat16)
    if cured or rank == 1:
        hear = picture_network("resnet26t", in_chans=1, num_classes=128).bfloat16().eval()
        sounds = channels_last(torch.randn(count, 1, 128, 512, device=GPU, dtype=torch.bfloat16))

    def shared(found, source):
        if not cured:
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
