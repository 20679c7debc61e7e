// Programs in the lab of the hook; the tests give the commands that the tool would give.
#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "workers/hooked_fixture.h"

namespace warpmark::workers {

/// A model whose forward notes its type and raises an error where FAILS is true.
inline constexpr const char* kLabModel = R"(
import random, sys, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset
random.seed(0)
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.end = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(144, 5)
        self.drop = nn.Dropout(0.2)
    def forward(self, x):
        x = self.drop(self.norm(self.conv(x)))
        self.narrow = int(x.dtype == torch.bfloat16)
        if FAILS: raise ValueError("not in this type")
        return self.end(x.flatten(1))
model = Net()
def loss_of(x):
    return nn.functional.cross_entropy(model(x), torch.arange(len(x)) % 5)
)";

struct Played {
  HookedRun run;
  std::vector<Json> answers;
};

class HookLab : public Hooked {
 protected:
  void SetUp() override {
    Hooked::SetUp();
    lab_ = folder_ / "lab";
    ASSERT_TRUE(make_folder(lab_).ok());
  }

  static std::string text(std::string program, const std::vector<std::pair<std::string, std::string>>& words) {
    for (const auto& [word, value] : words) {
      for (auto at = program.find(word); at != std::string::npos; at = program.find(word, at + value.size())) {
        program.replace(at, word.size(), value);
      }
    }
    return program;
  }

  /// Gives the commands one after the other, and then "end", until an answer says that the program has ended.
  Played play(const std::string& program, std::vector<Json> commands, int ranks = 1, NamedValues knobs = {}) {
    const HookPlan plan{
        .knobs = std::move(knobs), .warmup_steps = 2, .window_steps = 3, .stop = true, .lab = lab_.string()};
    const std::string start = "'" + testing_support::python_with_torch() + "' '" + script(program) + "'";
    std::string line = start;
    if (ranks == 2) line = "RANK=1 LOCAL_RANK=1 " + start + " & RANK=0 LOCAL_RANK=0 " + start + " && wait $!";
    auto running = std::async(std::launch::async, [&] {
      return run_words({"sh", "-c", line}, plan,
                       {{"OMP_NUM_THREADS", "1"}, {"PYTHONWARNINGS", "ignore"}, {"GLOO_SOCKET_IFNAME", "lo"}});
    });
    Played played;
    const auto wait_for = [&](const std::string& name) {
      while (!std::filesystem::exists(lab_ / name)) {
        if (running.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready) return Json();
      }
      const auto content = read_file(lab_ / name, 1 << 20);
      EXPECT_TRUE(content.ok());
      return content.ok() ? parse_json(*content, name).value() : Json();
    };
    bool going = !wait_for("ready-0.json").is_null();
    commands.push_back({{"do", "end"}});
    for (std::size_t n = 0; going && n < commands.size(); ++n) {
      EXPECT_TRUE(write_file(lab_ / "part", dump_json(commands[n])).ok());
      std::filesystem::rename(lab_ / "part", lab_ / ("command-" + std::to_string(n) + ".json"));
      for (int rank = 0; rank < ranks; ++rank) {
        played.answers.push_back(wait_for("answer-" + std::to_string(n) + "-" + std::to_string(rank) + ".json"));
      }
      going = played.answers.back().is_object() && !played.answers.back()["ended"].get<bool>();
    }
    played.run = running.get();
    return played;
  }

  static Json blocks(const std::vector<Json>& variants, const std::vector<int>& order, int wash = 2, int steps = 4) {
    Json command{{"do", "blocks"}, {"variants", Json::array()}, {"blocks", Json::array()}};
    for (const auto& knobs : variants) command["variants"].push_back({{"knobs", knobs}});
    for (const int variant : order)
      command["blocks"].push_back({{"variant", variant}, {"wash", wash}, {"steps", steps}});
    return command;
  }
  static Json check(const std::vector<Json>& variants) {
    Json command{{"do", "check"}, {"variants", Json::array()}};
    for (const auto& knobs : variants) command["variants"].push_back({{"knobs", knobs}});
    return command;
  }
  static std::vector<int> order(const Json& answer) {
    std::vector<int> variants;
    for (const auto& block : answer["blocks"]) variants.push_back(block["variant"]);
    return variants;
  }

  std::filesystem::path lab_;
};

}  // namespace warpmark::workers
