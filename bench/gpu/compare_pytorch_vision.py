"""PyTorch's times for fused_texture, top_k_patches and opponent_balance at warpmark's default shapes: median of
CUDA-event samples over rotating inputs, eager and compiled. opponent_balance is its relevance and a plain proportional
split, as there is no PyTorch operation for the exact one. Usage: python3 compare_pytorch_vision.py"""
import torch
import torch.nn.functional as F

from compare_pytorch import median_ms

RGB_TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
WHITE = [0.9505, 1.0, 1.089]
DELTA = 6 / 29


def texture_with_library_calls(x, matrix, white, sobel):
    linear = torch.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    xyz = torch.einsum("ij,njhw->nihw", matrix, linear) / white
    f = torch.where(xyz > DELTA**3, xyz ** (1 / 3), xyz / (3 * DELTA * DELTA) + 4 / 29)
    lightness = 116 * f[:, 1:2] - 16
    gradients = F.conv2d(F.pad(lightness, (1, 1, 1, 1), mode="replicate"), sobel)
    return torch.cat([lightness, 500 * (f[:, 0:1] - f[:, 1:2]), 200 * (f[:, 1:2] - f[:, 2:3]), gradients], 1)


def texture_elementwise(x):
    """Only element-wise operations and slices, which a compiler can fuse."""
    linear = torch.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)

    def curve(row):
        m = RGB_TO_XYZ[row]
        t = (m[0] * linear[:, 0] + m[1] * linear[:, 1] + m[2] * linear[:, 2]) / WHITE[row]
        return torch.where(t > DELTA**3, t ** (1 / 3), t / (3 * DELTA * DELTA) + 4 / 29)

    fx, fy, fz = curve(0), curve(1), curve(2)
    lightness = 116 * fy - 16
    p = F.pad(lightness.unsqueeze(1), (1, 1, 1, 1), mode="replicate").squeeze(1)
    smooth, slope = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:], p[:, 2:] - p[:, :-2]
    return torch.stack([lightness, 500 * (fx - fy), 200 * (fy - fz), smooth[:, :, 2:] - smooth[:, :, :-2],
                        slope[:, :, 2:] + 2 * slope[:, :, 1:-1] + slope[:, :, :-2]], 1)


def top_k_and_gather(scores, features):
    _, indices = torch.topk(scores, 64, dim=1, sorted=True)
    return indices, torch.gather(features, 1, indices.unsqueeze(-1).expand(-1, -1, features.shape[2]))


def balance(scores, weights, bias):
    z = (scores - scores.mean(-1, keepdim=True)) / torch.sqrt(scores.var(-1, keepdim=True, unbiased=False) + 1e-6)
    t = torch.tanh(torch.einsum("ij,njp->nip", weights, z) + bias)
    r = (torch.softmax(t.abs(), 1) * t).sum(1)
    return r, (64 + (39200 - 64 * 196) * (r + 1) / (r + 1).sum(1, keepdim=True)).floor().int()


def report(name, function, sets, guess_ms):
    for kind, run in (("eager", function), ("compiled", torch.compile(function))):
        for inputs in sets:
            run(*inputs)
        print(f"torch {name} {kind} {1000 * median_ms(run, sets, guess_ms):.2f} us", flush=True)


def main():
    print(torch.__version__, torch.cuda.get_device_name())
    cuda = {"device": "cuda"}
    sobel_x = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]], **cuda)
    constants = (torch.tensor(RGB_TO_XYZ, **cuda), torch.tensor(WHITE, **cuda).view(1, 3, 1, 1),
                 torch.stack([sobel_x, sobel_x.t()]).unsqueeze(1))
    images = [torch.rand(64, 3, 224, 224, **cuda) for _ in range(4)]
    report("fused_texture library calls", texture_with_library_calls, [(x, *constants) for x in images], 0.7)
    report("fused_texture element-wise", texture_elementwise, [(x,) for x in images], 0.7)
    for dtype in (torch.float32, torch.bfloat16):
        sets = [(torch.randn(64, 196, **cuda), torch.randn(64, 196, 512, dtype=dtype, **cuda)) for _ in range(8)]
        report(f"top_k_patches {dtype}", top_k_and_gather, sets, 0.03)
    weights = torch.tensor([[0.6, -0.5, 0.2], [0.3, 0.6, -0.4], [-0.2, 0.4, 0.7]], **cuda)
    bias = torch.tensor([0.1, -0.05, 0.0], **cuda).view(1, 3, 1)
    report("opponent_balance", balance, [(torch.randn(64, 3, 196, **cuda), weights, bias) for _ in range(8)], 0.1)


if __name__ == "__main__":
    main()
