"""What first steps on a GPU load while nothing is chosen: libraries of products and convolutions. A run that waits
for its turn before its first step loads them by products and convolutions of zeros, beside the others that wait.
"""


def load(torch, device, types, convolutions):
    """Leaves flags, random numbers and gradients as they were."""
    with torch.inference_mode(False), torch.enable_grad():
        for kind in types:
            a = torch.zeros(64, 64, device=device, dtype=kind, requires_grad=True)
            torch.autograd.grad((a @ a).sum(), a)
            if not convolutions:
                continue
            x = torch.zeros(2, 16, 16, 16, device=device, dtype=kind, requires_grad=True)
            w = torch.zeros(16, 16, 3, 3, device=device, dtype=kind, requires_grad=True)
            torch.autograd.grad(torch.nn.functional.conv2d(x, w, padding=1).sum(), (x, w))
