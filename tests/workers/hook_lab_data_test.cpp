// In the lab: loaders that continue each other's order, and comparisons of settings at the same state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "workers/hook_lab_fixture.h"

namespace warpmark::workers {
namespace {

using ::testing::HasSubstr;

/// Prints the samples of each batch, and how many workers its loader has.
constexpr const char* kLoading = R"(
class Data(Dataset):
    def __len__(self): return 40
    def __getitem__(self, i):
        worker = torch.utils.data.get_worker_info()
        if BREAKS: raise RuntimeError("no GPU in here")
        return i, 0 if worker is None else worker.num_workers
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for epoch in range(1000):
    for numbers, workers in DataLoader(Data(), batch_size=4, num_workers=WORKERS):
        print("epoch", epoch, "workers", int(workers[0]), "numbers", *numbers.tolist(), flush=True)
        optimizer.zero_grad()
        loss_of(torch.zeros(4, 3, 8, 8)).backward()
        optimizer.step()
)";

class HookLabData : public HookLab {
 protected:
  static std::string loading(const std::string& workers, const std::string& breaks = "False") {
    return text(std::string(kLabModel) + kLoading, {{"FAILS", "False"}, {"WORKERS", workers}, {"BREAKS", breaks}});
  }
};

/// Every epoch has each sample once and in order, whoever serves it. Returns the numbers of workers in their order.
std::vector<int> served_by(const std::string& out) {
  std::vector<int> workers;
  int epoch = -1, next = 0;
  for (const auto& line : split(out, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() != 9) continue;
    if (std::stoi(words[1]) != epoch) {
      EXPECT_TRUE(epoch < 0 || next == 40) << "epoch " << epoch << " ended after " << next;
      epoch = std::stoi(words[1]);
      next = 0;
    }
    for (std::size_t i = 5; i < 9; ++i) EXPECT_EQ(std::stoi(words[i]), next++) << line;
    if (workers.empty() || workers.back() != std::stoi(words[3])) workers.push_back(std::stoi(words[3]));
  }
  return workers;
}

TEST_F(HookLabData, another_loader_continues_the_order_of_the_samples) {
  WM_NEEDS_TORCH();
  for (const auto* own : {"0", "1"}) {
    std::filesystem::remove_all(lab_);
    ASSERT_TRUE(make_folder(lab_).ok());
    const auto played = play(loading(own), {blocks({Json::object(),
                                                    {{"loader.workers", "2"}, {"loader.persistent_workers", "on"}},
                                                    {{"loader.workers", "3"}, {"loader.prefetch_factor", "4"}}},
                                                   {0, 1, 2, 1, 0, 2, 0}, 3, 5)});
    EXPECT_EQ(played.run.output.exit_code, 0) << played.run.output.err;
    const int first = std::stoi(own);
    EXPECT_EQ(served_by(played.run.output.out), (std::vector<int>{first, 2, 3, 2, first, 3, first}));
    ASSERT_EQ(played.answers.size(), 2U);
    for (const auto& variant : played.answers[0]["variants"]) {
      EXPECT_EQ(variant["failed"], "");
      EXPECT_EQ(variant["nothing"].size(), 0U) << variant["nothing"];
    }
  }
}

/// What is measured of a loader whose epochs are short holds the start of its workers, unless they are kept.
TEST_F(HookLabData, workers_start_with_each_epoch_unless_kept) {
  WM_NEEDS_TORCH();
  const auto program = text(std::string(kLabModel) + R"(
import os
class Data(Dataset):
    def __len__(self): return 24
    def __getitem__(self, i):
        worker = torch.utils.data.get_worker_info()
        return os.getpid(), worker.num_workers
loader = DataLoader(Data(), batch_size=4, num_workers=1)
for epoch in range(1000):
    for pids, workers in loader:
        print("workers", int(workers[0]), "pid", int(pids[0]), flush=True)
        loss_of(torch.zeros(4, 3, 8, 8)).backward()
)",
                            {{"FAILS", "False"}});
  const auto played = play(
      program,
      {blocks(
          {Json::object(), {{"loader.workers", "2"}}, {{"loader.workers", "3"}, {"loader.persistent_workers", "on"}}},
          {0, 1, 2}, 18, 18)});
  ASSERT_EQ(played.answers.size(), 2U) << played.run.output.err;
  std::map<std::string, std::set<std::string>> started;
  for (const auto& line : split(played.run.output.out, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() == 4) started[words[1]].insert(words[3]);
  }
  EXPECT_GE(started["1"].size(), 4U);
  EXPECT_GE(started["2"].size(), 8U);
  EXPECT_EQ(started["3"].size(), 3U);
}

TEST_F(HookLabData, a_dataset_that_fails_in_workers_fails_the_variant_and_loses_no_batch) {
  WM_NEEDS_TORCH();
  const auto played =
      play(loading("0", "worker is not None"), {blocks({Json::object(), {{"loader.workers", "2"}}}, {0, 1, 0, 1, 0})});
  EXPECT_EQ(played.run.output.exit_code, 0) << played.run.output.err;
  EXPECT_EQ(served_by(played.run.output.out), (std::vector<int>{0}));
  ASSERT_EQ(played.answers.size(), 2U);
  EXPECT_THAT(played.answers[0]["variants"][1]["failed"].get<std::string>(), HasSubstr("RuntimeError"));
  EXPECT_EQ(order(played.answers[0]), (std::vector<int>{0, 0, 0}));
}

TEST_F(HookLabData, an_iterable_dataset_keeps_its_loader) {
  WM_NEEDS_TORCH();
  const auto program = text(std::string(kLabModel) + R"(
class Data(IterableDataset):
    def __iter__(self): return iter(torch.zeros(1000, 3, 8, 8))
for x in DataLoader(Data(), batch_size=4):
    loss_of(x).backward()
)",
                            {{"FAILS", "False"}});
  const auto played = play(program, {blocks({{{"loader.workers", "2"}}}, {0})});
  ASSERT_EQ(played.answers.size(), 2U) << played.run.output.err;
  const auto& variant = played.answers[0]["variants"][0];
  EXPECT_EQ(variant["failed"], "");
  EXPECT_THAT(variant["nothing"]["loader.workers"].get<std::string>(), HasSubstr("IterableDataset"));
}

TEST_F(HookLabData, compares_settings_at_the_same_state_and_changes_nothing) {
  WM_NEEDS_TORCH();
  const std::string program = text(std::string(kLabModel) + R"(
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(1000000):
    optimizer.zero_grad()
    loss = loss_of(torch.randn(4, 3, 8, 8))
    loss.backward()
    optimizer.step()
    print("%.9f %.9f" % (loss.item(), random.random()), [b.tolist() for b in model.buffers()], flush=True)
)",
                                   {{"FAILS", "self.narrow and random.random() < 0"}});
  const std::vector<Json> variants{Json::object(), {{"precision.autocast", "bf16"}}, {{"process.threads", "1"}}};
  const auto wait = blocks({Json::object()}, {0}, 0, 2);
  const auto played = play(program, {wait, check(variants), wait});
  ASSERT_EQ(played.answers.size(), 4U) << played.run.output.err;
  const auto& answer = played.answers[1];
  EXPECT_EQ(answer["why_not"], "");
  EXPECT_TRUE(answer["trains"].get<bool>());
  EXPECT_TRUE(answer["draws"].get<bool>());
  EXPECT_TRUE(answer["finite"].get<bool>());
  EXPECT_EQ(answer["noise"]["outputs"], 0.0);
  EXPECT_GT(answer["rounding"]["outputs"].get<double>(), 1e-8) << "units of the last place show";
  EXPECT_LT(answer["rounding"]["outputs"].get<double>(), 1e-5);
  EXPECT_GT(answer["rounding"]["gradients"].get<double>(), 1e-8);
  EXPECT_LT(answer["rounding"]["gradients"].get<double>(), 1e-3);
  EXPECT_GT(answer["spread"]["outputs"].get<double>(), 0.01) << "another seed drops other values";
  EXPECT_GT(answer["spread"]["gradients"].get<double>(), 0.01);
  ASSERT_EQ(answer["checks"].size(), 2U);
  EXPECT_GT(answer["checks"][0]["outputs"].get<double>(), 1e-5);
  EXPECT_LT(answer["checks"][0]["outputs"].get<double>(), 0.05);
  EXPECT_GT(answer["checks"][0]["cosine"].get<double>(), 0.99);
  EXPECT_TRUE(answer["checks"][0]["calm"].get<bool>()) << "without dropout the module draws nothing";
  EXPECT_LT(answer["checks"][1]["gradients"].get<double>(), 1e-4) << "nothing changed";
  // Without the comparison: the same losses, random numbers and buffers.
  std::filesystem::remove_all(lab_);
  ASSERT_TRUE(make_folder(lab_).ok());
  const auto plain = play(program, {wait, wait, wait});
  const auto ours = split(played.run.output.out, '\n'), theirs = split(plain.run.output.out, '\n');
  ASSERT_GT(ours.size(), 8U);
  for (std::size_t i = 0; i + 1 < std::min(ours.size(), theirs.size()); ++i) EXPECT_EQ(ours[i], theirs[i]);
}

TEST_F(HookLabData, a_check_names_the_variant_that_fails) {
  WM_NEEDS_TORCH();
  const auto program = text(std::string(kLabModel) + R"(
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(1000000):
    loss_of(torch.randn(4, 3, 8, 8)).backward()
    optimizer.step()
)",
                            {{"FAILS", "self.narrow"}});
  const auto played = play(program, {check({Json::object(), {{"precision.autocast", "bf16"}}})});
  ASSERT_EQ(played.answers.size(), 2U) << played.run.output.err;
  EXPECT_EQ(played.answers[0]["checks"][0]["failed"], "ValueError: not in this type");
  EXPECT_EQ(played.answers[0]["why_not"], "");
}

}  // namespace
}  // namespace warpmark::workers
