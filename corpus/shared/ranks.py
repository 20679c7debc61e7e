"""What PyTorch programs on several GPUs share."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def parallel(model, **more):
    return DistributedDataParallel(model, device_ids=[dist.get_rank()], **more)


def sharded(model, blocks):
    """FSDP2, a unit a block; products in bf16, gradients summed in fp32."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model
