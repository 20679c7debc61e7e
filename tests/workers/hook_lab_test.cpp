// The lab: commands that switch settings between the steps of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "workers/hook_lab_fixture.h"

namespace warpmark::workers {
namespace {

using ::testing::HasSubstr;

/// Prints in each step what is in force.
constexpr const char* kShowing = R"(
emptied = []
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
torch.autograd.set_detect_anomaly(True)
for step in range(STEPS):
    optimizer.zero_grad(set_to_none=False)
    dropped = int(model.conv.weight.grad is None and step > 0)
    loss_of(torch.randn(4, 3, 8, 8)).backward()
    optimizer.step()
    state, last = optimizer.state[model.conv.weight]["exp_avg"], torch.channels_last
    print("threads=%d" % torch.get_num_threads(), "last=%d" % model.conv.weight.is_contiguous(memory_format=last),
          "state=%d" % state.is_contiguous(memory_format=last), "narrow=%d" % model.narrow,
          "foreach=%d" % bool(optimizer.param_groups[0]["foreach"]), "dropped=%d" % dropped,
          "anomaly=%d" % torch.is_anomaly_enabled(), "benchmark=%d" % torch.backends.cudnn.benchmark, flush=True)
)";

class HookLabSettings : public HookLab {
 protected:
  static std::string showing(const std::string& fails = "False", const std::string& count = "1000000") {
    return text(std::string(kLabModel) + kShowing, {{"FAILS", fails}, {"STEPS", count}});
  }
};

TEST_F(HookLabSettings, each_variants_settings_are_in_force_in_its_blocks_and_in_no_others) {
  WM_NEEDS_TORCH();
  const std::vector<std::pair<std::string, Json>> shown{
      {"threads=2", {{"process.threads", "2"}}},        {"last=1", {{"channels_last", "on"}}},
      {"narrow=1", {{"precision.autocast", "bf16"}}},   {"foreach=1", {{"optimizer.implementation", "foreach"}}},
      {"dropped=1", {{"optimizer.set_to_none", "on"}}}, {"anomaly=0", {{"debug.anomaly_detection", "off"}}},
      {"benchmark=1", {{"cudnn.benchmark", "on"}}}};
  std::vector<Json> variants{Json::object()};
  Json all = Json::object();
  for (const auto& [word, knobs] : shown) {
    variants.push_back(knobs);
    all.update(knobs);
  }
  variants.push_back(all);
  const std::vector<int> wanted{0, 1, 2, 3, 4, 5, 6, 7, 8, 0};
  const auto played = play(showing(), {blocks(variants, wanted)});
  ASSERT_EQ(played.run.output.exit_code, 0) << played.run.output.err;
  ASSERT_EQ(played.answers.size(), 2U);
  const auto& answer = played.answers[0];
  EXPECT_EQ(order(answer), wanted);
  for (const auto& block : answer["blocks"]) {
    EXPECT_EQ(block["steps"], 4);
    EXPECT_EQ(block["samples"], 16);
    EXPECT_GT(block["seconds"].get<double>(), 0);
    EXPECT_GT(block["forward"].get<double>(), 0);
  }
  for (const auto& variant : answer["variants"]) {
    EXPECT_EQ(variant["failed"], "");
    EXPECT_EQ(variant["nothing"].size(), 0U) << variant["nothing"];
  }
  const auto& report = main_of(played.run);
  EXPECT_TRUE(report.faults.empty()) << report.faults.front();
  EXPECT_EQ(report.ended, "window");
  // Each setting is on in two blocks of six steps; where in a step the program prints decides about one step more.
  std::map<std::string, int> steps;
  for (const auto& line : split(played.run.output.out, '\n')) {
    std::size_t on = 0;
    for (const auto& [word, knobs] : shown) {
      if ((" " + line + " ").find(" " + word + " ") == std::string::npos) continue;
      ++on;
      ++steps[word];
    }
    EXPECT_TRUE(on <= 2 || on >= shown.size() - 2) << line;
    EXPECT_EQ(line.find("last=1") == std::string::npos, line.find("state=1") == std::string::npos) << line;
  }
  for (const auto& [word, knobs] : shown) {
    EXPECT_GE(steps[word], 2 * 5) << word;
    EXPECT_LE(steps[word], 2 * 7) << word;
  }
}

TEST_F(HookLabSettings, a_setting_that_changes_nothing_is_named_with_its_reason) {
  WM_NEEDS_TORCH();
  const auto played = play(showing(), {blocks({{{"memory.no_empty_cache", "on"},
                                                {"optimizer.implementation", "fused"},
                                                {"tf32", "on"},
                                                {"loader.workers", "2"},
                                                {"process.affinity", "0"},
                                                {"process.threads", "2"}}},
                                              {0, 0})});
  ASSERT_EQ(played.answers.size(), 2U);
  const auto& variant = played.answers[0]["variants"][0];
  EXPECT_EQ(variant["failed"], "");
  EXPECT_EQ(variant["nothing"].size(), 4U) << variant["nothing"];
  EXPECT_THAT(variant["nothing"]["memory.no_empty_cache"].get<std::string>(), HasSubstr("nothing in these steps"));
  EXPECT_THAT(variant["nothing"]["optimizer.implementation"].get<std::string>(), HasSubstr("not for"));
  EXPECT_EQ(variant["elsewhere"], Json::array({"process.affinity"})) << "it needs a process of its own";
  EXPECT_EQ(played.answers[0]["blocks"].size(), 2U);
}

/// From PyTorch 2.9 on, a flag that was set back is not one that was never set: the compiler's cache knows them apart.
TEST_F(HookLabSettings, tf32_that_was_tried_leaves_the_precision_as_it_was) {
  WM_NEEDS_TORCH();
  const std::string program = text(std::string(kLabModel) + R"(
class Flags:
    fp32_precision = "none"
    @property
    def allow_tf32(self): return self.fp32_precision == "tf32"
    @allow_tf32.setter
    def allow_tf32(self, value): self.fp32_precision = "tf32" if value else "ieee"
torch.backends.cuda.matmul = Flags()
sys.modules["_warpmark_set_precision"].TF32.there_is_one = lambda self: True
optimizer, seen = torch.optim.SGD(model.parameters(), lr=0.01), []
for step in range(1000000):
    loss_of(torch.randn(4, 3, 8, 8)).backward()
    optimizer.step()
    if seen[-1:] != [torch.backends.cuda.matmul.fp32_precision]:
        seen.append(torch.backends.cuda.matmul.fp32_precision)
        print("precision", *seen, flush=True)
)",
                                   {{"FAILS", "False"}});
  const auto played = play(program, {blocks({Json::object(), {{"tf32", "on"}}}, {0, 1, 0})});
  ASSERT_EQ(played.answers.size(), 2U) << played.run.output.err;
  EXPECT_EQ(played.answers[0]["variants"][1]["nothing"], Json::object());
  EXPECT_THAT(played.run.output.out, HasSubstr("precision none tf32 none\n"));
}

TEST_F(HookLabSettings, settings_of_the_plan_stay_the_base) {
  WM_NEEDS_TORCH();
  const auto played = play(showing(), {blocks({Json::object(), {{"precision.autocast", "bf16"}}}, {0, 1, 0})}, 1,
                           {{"precision.autocast", "bf16"}});
  EXPECT_THAT(played.run.output.out, HasSubstr("narrow=1"));
  EXPECT_THAT(played.run.output.out, ::testing::Not(HasSubstr("narrow=0")));
}

TEST_F(HookLabSettings, an_variant_that_breaks_the_forward_fails_alone) {
  WM_NEEDS_TORCH();
  const auto played = play(
      showing("self.narrow"),
      {blocks({Json::object(), {{"precision.autocast", "bf16"}}, {{"process.threads", "2"}}}, {0, 1, 2, 1, 2, 0})});
  EXPECT_EQ(played.run.output.exit_code, 0) << played.run.output.err;
  ASSERT_EQ(played.answers.size(), 2U);
  EXPECT_EQ(order(played.answers[0]), (std::vector<int>{0, 2, 2, 0}));
  EXPECT_EQ(played.answers[0]["variants"][1]["failed"], "ValueError: not in this type");
  EXPECT_EQ(played.answers[0]["variants"][2]["failed"], "");
  EXPECT_FALSE(std::filesystem::exists(lab_ / "working-0.json"));
}

TEST_F(HookLabSettings, a_crash_leaves_the_variant_that_was_on) {
  WM_NEEDS_TORCH();
  const auto played = play(showing("self.narrow and not __import__('os')._exit(9)"),
                           {blocks({Json::object(), {{"precision.autocast", "bf16"}}}, {0, 1})});
  EXPECT_EQ(played.run.output.exit_code, 9);
  const auto working = read_file(lab_ / "working-0.json", 1000);
  ASSERT_TRUE(working.ok());
  EXPECT_EQ(parse_json(*working, "working").value(), (Json{{"command", 0}, {"variant", 1}}));
}

TEST_F(HookLabSettings, a_program_that_ends_within_a_command_answers_what_is_known) {
  WM_NEEDS_TORCH();
  const auto played =
      play(showing("False", "25"), {blocks({Json::object(), {{"process.threads", "2"}}}, {0, 1, 0, 1})});
  EXPECT_EQ(played.run.output.exit_code, 0);
  ASSERT_EQ(played.answers.size(), 1U);
  EXPECT_TRUE(played.answers[0]["ended"].get<bool>());
  EXPECT_EQ(order(played.answers[0]), (std::vector<int>{0, 1, 0}));
}

TEST_F(HookLabSettings, an_unknown_command_is_answered_with_an_error) {
  WM_NEEDS_TORCH();
  const auto played = play(showing(), {{{"do", "nonsense"}}, blocks({Json::object()}, {0})});
  ASSERT_EQ(played.answers.size(), 3U);
  EXPECT_THAT(played.answers[0]["failed"].get<std::string>(), HasSubstr("nonsense"));
  EXPECT_EQ(order(played.answers[1]), (std::vector<int>{0}));
}

TEST_F(HookLabSettings, records_steps) {
  WM_NEEDS_TORCH();
  const auto traces = folder_ / "traces";
  ASSERT_TRUE(make_folder(traces).ok());
  const auto played = play(showing(), {{{"do", "record"},
                                        {"steps", 3},
                                        {"stacks", true},
                                        {"folder", traces.string()},
                                        {"knobs", {{"process.threads", "2"}}}},
                                       blocks({Json::object()}, {0})});
  ASSERT_EQ(played.answers.size(), 3U) << played.run.output.err;
  EXPECT_EQ(played.answers[0]["files"], 1);
  EXPECT_EQ(played.answers[0]["failed"], "");
  EXPECT_FALSE(std::filesystem::is_empty(traces));
}

TEST_F(HookLabSettings, ranks_switch_at_the_same_steps) {
  WM_NEEDS_TORCH();
  const std::string program = text(std::string(kLabModel) + R"(
import os
import torch.distributed as dist
dist.init_process_group('gloo', init_method='file://' + os.path.abspath('meeting'),
                        rank=int(os.environ['RANK']), world_size=2)
model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(1000000):
    if step % 4 == 0 and dist.get_rank() == 0:  # as nanoGPT does
        model.eval()
        with torch.no_grad(): model.module(torch.randn(4, 3, 8, 8))
        model.train()
    optimizer.zero_grad()
    loss_of(torch.randn(4, 3, 8, 8)).backward()
    optimizer.step()
)",
                                   {{"FAILS", "self.narrow and dist.get_rank() == 1"}});
  const std::vector<Json> variants{Json::object(),
                                   {{"precision.autocast", "bf16"}},
                                   {{"channels_last", "on"}, {"optimizer.implementation", "foreach"}}};
  const auto played = play(program, {blocks(variants, {0, 1, 2, 1, 2, 0}), check(variants)}, 2);
  EXPECT_EQ(played.run.output.exit_code, 0) << played.run.output.err;
  ASSERT_EQ(played.answers.size(), 6U) << "of two ranks to three commands";
  EXPECT_EQ(order(played.answers[0]), (std::vector<int>{0, 1, 2, 1, 2, 0}));
  EXPECT_EQ(order(played.answers[1]), (std::vector<int>{0, 2, 2, 0}));
  EXPECT_EQ(played.answers[1]["variants"][1]["failed"], "ValueError: not in this type");
  EXPECT_EQ(played.answers[0]["variants"][2]["elsewhere"], Json::array({"channels_last"})) << "buckets keep the layout";
  EXPECT_EQ(played.answers[2]["why_not"], "");
  EXPECT_EQ(played.answers[3]["checks"][0]["failed"], "ValueError: not in this type");
  for (const auto* report : main_processes(played.run.reports)) {
    EXPECT_EQ(report->world, 2);
    EXPECT_TRUE(report->faults.empty()) << report->faults.front();
  }
}

TEST_F(HookLabSettings, a_training_without_an_optimizer_of_pytorch_ends_its_steps_after_backwards) {
  WM_NEEDS_TORCH();
  const std::string program = text(std::string(kLabModel) + R"(
with torch.no_grad():
    for early in range(2): model(torch.randn(4, 3, 8, 8))
for step in range(1000000):
    model.zero_grad()
    for part in range(2): loss_of(torch.randn(4, 3, 8, 8)).backward()
    for p in model.parameters(): p.data.add_(p.grad, alpha=-0.01)
)",
                                   {{"FAILS", "False"}});
  const auto played = play(program, {blocks({Json::object(), {{"precision.autocast", "bf16"}}}, {0, 1})});
  ASSERT_EQ(played.answers.size(), 2U) << played.run.output.err;
  EXPECT_EQ(order(played.answers[0]), (std::vector<int>{0, 1}));
  const auto& report = main_of(played.run);
  EXPECT_EQ(report.marker, "backward");
  EXPECT_EQ(report.steps.size(), 5U);
  EXPECT_EQ(report.losses.size(), 5U);
  for (const auto& step : report.steps) EXPECT_EQ(step.backwards, 1);
  EXPECT_EQ(played.answers[0]["blocks"][0]["samples"], 16);
}

/// Reinforcement learning collects data by forwards without gradients, in train() mode.
TEST_F(HookLabSettings, forwards_without_gradients_are_an_evaluation_in_eval_mode_alone) {
  WM_NEEDS_TORCH();
  const std::string program = text(std::string(kLabModel) + R"(
import time
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(1000000):
    if step % 3 == 0:
        model.train(TRAINS)
        with torch.no_grad(): model(torch.randn(4, 3, 8, 8))
        time.sleep(0.05)
        model.train()
    optimizer.zero_grad()
    loss_of(torch.randn(4, 3, 8, 8)).backward()
    optimizer.step()
)",
                                   {{"FAILS", "False"}});
  for (const bool trains : {true, false}) {
    ASSERT_TRUE(make_folder(lab_).ok());
    const auto played =
        play(text(program, {{"TRAINS", trains ? "True" : "False"}}), {blocks({Json::object()}, {0}, 2, 12)});
    ASSERT_FALSE(played.answers.empty()) << played.run.output.err;
    const auto& block = played.answers[0]["blocks"][0];
    EXPECT_EQ(block["seconds"].get<double>() > 0.15, trains) << block;
    EXPECT_EQ(block["left_out_seconds"].get<double>() > 0.15, !trains) << block;
    std::filesystem::remove_all(lab_);
  }
}

TEST_F(HookLabSettings, steps_go_on_with_the_next_optimizer_where_the_first_is_kept_and_steps_no_more) {
  WM_NEEDS_TORCH();
  const std::string program = text(std::string(kLabModel) + R"(
optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for layer in range(1000)]
for optimizer in optimizers:
    for step in range(40):
        model.zero_grad()
        loss_of(torch.randn(4, 3, 8, 8)).backward()
        optimizer.step()
)",
                                   {{"FAILS", "False"}});
  const auto played =
      play(program, {blocks({Json::object(), {{"precision.autocast", "bf16"}}}, {0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0})});
  ASSERT_EQ(played.answers.size(), 2U) << played.run.output.err;
  EXPECT_EQ(order(played.answers[0]), (std::vector<int>{0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(main_of(played.run).marker, "optimizer");
}

}  // namespace
}  // namespace warpmark::workers
