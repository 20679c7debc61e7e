// Two ranks over gloo that train one small model with DistributedDataParallel, for tests that run real programs.
#pragma once

#include <string>

namespace warpmark::testing_support {

/// Python up to the optimizer: `model(x, both)` leaves a part of its parameters out where `both` is false, which
/// `finds_unused` allows.
inline std::string model_of_two_ranks(bool finds_unused) {
  return std::string(R"(
import os, torch
import torch.distributed as dist
from torch import nn
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meeting-%s" % os.environ["MEETING"]),
                        rank=int(os.environ["RANK"]), world_size=2)
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 4)
    def forward(self, x, both=True):
        x = self.a(x)
        return self.b(x) if both else x[:, :4]
model = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=)") +
         (finds_unused ? "True" : "False") + ")\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n";
}

/// For a shell: starts both as torchrun does, which of Debian's torch 1.13 does not run on Python 3.11.
inline std::string start_two_ranks(const std::string& python, const std::string& script) {
  const std::string command = python + " " + script;
  return "export WORLD_SIZE=2 GLOO_SOCKET_IFNAME=lo MEETING=$$; RANK=1 LOCAL_RANK=1 " + command +
         " & RANK=0 LOCAL_RANK=0 " + command + " && wait $!";
}

}  // namespace warpmark::testing_support
