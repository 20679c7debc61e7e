// Models end to end: real steps in Debian's PyTorch, and workers that die, hang, answer nonsense and lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/catalog.h"
#include "base/files.h"
#include "base/json.h"
#include "measure/round.h"
#include "support/python_with_torch.h"
#include "workers/model_worker.h"
#include "workloads/models/model_round.h"
#include "workloads/models/model_shape.h"
#include "workloads/plan.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

using testing::HasSubstr;
using testing_support::python_with_torch;

Run run_model(const char* id, Overrides overrides) {
  const auto* workload = find_in(catalog(), std::string_view(id));
  overrides.insert(overrides.begin(), {"peak", "no"});
  overrides.insert(overrides.begin(), {"preset", "tiny"});
  const auto params = resolve_params(workload->params, overrides);
  EXPECT_TRUE(params.ok());
  const auto device = device::open_device("cpu");
  EXPECT_TRUE(device.ok());
  measure::RoundOptions options;
  options.stopping.budget_s = 0.2;
  options.stopping.max_samples = 12;
  options.warmup.cap_s = 0.2;
  options.seed = 1;
  return measure::measure_round({workload, "cpu", *params, Mode::hot}, **device, options);
}

const Metric* metric(const Run& run, const std::string& id) {
  const auto found = std::find_if(run.metrics.begin(), run.metrics.end(), [&](const auto& m) { return m.id == id; });
  return found == run.metrics.end() ? nullptr : &*found;
}

class ModelOnCpu : public testing::TestWithParam<const char*> {};

TEST_P(ModelOnCpu, trains_and_tells_its_phases) {
  WM_NEEDS_TORCH();
  const warpmark::Run run = run_model(GetParam(), {{"python", python_with_torch()}});
  // How well the clocks of two processes agree is the machine's business, not the test's.
  ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_LE(run.error->value, run.error->tolerance);
  for (const char* id : {"time", "flop_rate", "samples_rate", "phase.data", "phase.h2d", "phase.forward",
                         "phase.backward", "phase.optimizer", "first_step", "memory.peak_resident", "phases_ratio"}) {
    ASSERT_NE(metric(run, id), nullptr) << id;
    EXPECT_GT(metric(run, id)->summary.max, 0) << id;
  }
  EXPECT_THAT(run.reason, testing::Not(HasSubstr("add up to")));
}

INSTANTIATE_TEST_SUITE_P(All, ModelOnCpu, testing::Values("resnet50", "bert", "gpt2", "llama", "dlrm", "vit", "unet3d"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Models, train_a_fixed_number_of_steps_and_tell_the_loss_of_the_last) {
  WM_NEEDS_TORCH();
  const auto loss_after = [](const char* steps) {
    const warpmark::Run run = run_model("gpt2", {{"python", python_with_torch()}, {"steps", steps}});
    EXPECT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
    EXPECT_THAT(run.stopped_because, HasSubstr(std::string(steps) + " steps"));
    EXPECT_EQ(run.metrics.front().id, "time");
    const auto* loss = metric(run, "loss");
    return loss == nullptr ? std::nan("") : loss->samples.front();
  };
  const double early = loss_after("8"), late = loss_after("40");
  EXPECT_LT(late, early);
  EXPECT_DOUBLE_EQ(loss_after("8"), early) << "of one seed it is the same, however fast the steps are";
  const auto* gpt2 = find_in(catalog(), std::string_view("gpt2"));
  for (const char* steps : {"3", "-1"}) {
    EXPECT_FALSE(gpt2->cost(*gpt2, *resolve_params(gpt2->params, {{"steps", steps}})).ok()) << steps;
  }
}

TEST(Models, of_dlrm_cross_features_too) {
  WM_NEEDS_TORCH();
  const warpmark::Run run = run_model("dlrm", {{"python", python_with_torch()}, {"preset", "dcnv2-tiny"}});
  ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_LE(run.error->value, 1e-3);
}

TEST(Models, of_bert_answer_with_a_piece_of_the_text_too) {
  WM_NEEDS_TORCH();
  const warpmark::Run run = run_model("bert", {{"python", python_with_torch()}, {"preset", "squad-tiny"}});
  ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_LE(run.error->value, 1e-3);
}

TEST(Models, run_forward_alone) {
  WM_NEEDS_TORCH();
  const warpmark::Run run = run_model("gpt2", {{"python", python_with_torch()}, {"pass", "forward"}});
  ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_EQ(metric(run, "phase.backward"), nullptr);
}

TEST(Models, tell_the_best_of_their_own_kernels) {
  WM_NEEDS_TORCH();
  const warpmark::Run run = run_model("dlrm", {{"python", python_with_torch()}, {"peak", "yes"}});
  ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  ASSERT_NE(metric(run, "peak_time"), nullptr);
  EXPECT_GT(metric(run, "peak_time")->summary.median, 0);
  EXPECT_GT(metric(run, "peak_share")->summary.median, 0);
}

/// A product that is next to nothing is not timed, and counts at the rate of the one that is much.
TEST(ModelPeak, counts_what_is_light_at_the_rate_of_what_is_heavy) {
  const auto device = device::open_device("cpu");
  ASSERT_TRUE(device.ok());
  const auto product = [](std::int64_t m, std::int64_t count) {
    return Json{{"kind", "gemm"}, {"m", m}, {"n", 64}, {"k", 64}, {"dtype", "f32"}, {"count", count}};
  };
  const Json heavy = product(256, 4), light = product(1, 4);
  const auto both = model_peak(Json::array({light, heavy}), "f32", false, **device, {});
  ASSERT_TRUE(both.ok()) << both.error().what;
  const auto one = model_peak(Json::array({heavy}), "f32", false, **device, {});  // its time is known by now
  ASSERT_TRUE(one.ok());
  EXPECT_GT(one->product_s, 0);
  EXPECT_EQ(one->scaled, 0);
  EXPECT_DOUBLE_EQ(both->product_s, one->product_s * 257 / 256);
  EXPECT_DOUBLE_EQ(both->scaled, 1.0 / 257);
  EXPECT_DOUBLE_EQ(both->flops, 2.0 * 257 * 64 * 64 * 4);
  EXPECT_EQ(both->shapes, 2);
  const auto all = model_peak(Json::array({light, heavy}), "f32", true, **device, {});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->scaled, 0);
  EXPECT_GT(all->product_s, one->product_s);
}

TEST(ModelPeak, refuses_lists_that_make_no_sense) {
  const auto device = device::open_device("cpu");
  for (const Json& list : {Json("none"), Json::array({1}), Json::array({{{"kind", "gemm"}, {"count", 1}, {"m", -1}}}),
                           Json::array({{{"kind", "dance"}, {"count", 1}}})}) {
    const auto peak = model_peak(list, "f32", false, **device, {});
    ASSERT_FALSE(peak.ok()) << list.dump();
    EXPECT_EQ(peak.error().kind, ErrorKind::data);
  }
}

TEST(Models, tell_what_they_are_doing) {
  WM_NEEDS_TORCH();
  const auto* workload = find_in(catalog(), std::string_view("gpt2"));
  const auto params = resolve_params(workload->params, {{"preset", "tiny"}, {"python", python_with_torch()}});
  ASSERT_TRUE(params.ok());
  const auto device = device::open_device("cpu");
  std::vector<std::string> stages;
  measure::RoundOptions options;
  options.stopping.budget_s = 0.1;
  options.warmup.cap_s = 0.1;
  options.stage = [&](const std::string& stage) { stages.push_back(stage); };
  (void)measure::measure_round({workload, "cpu", *params, Mode::hot}, **device, options);
  for (const char* stage : {"and its PyTorch", "building", "timing steps", "fp64", "shapes of the peak"}) {
    EXPECT_THAT(stages, testing::Contains(HasSubstr(stage)));
  }
}

/// A case says which sizes ran, also where nobody named them.
TEST(Models, spell_out_the_sizes_of_their_preset) {
  const auto device = device::open_device("cpu");
  ASSERT_TRUE(device.ok());
  const auto sizes = [&](const char* model, Overrides set) {
    SuiteEntry entry;
    entry.workload = model;
    entry.set = std::move(set);
    const auto plan = make_plan(catalog(), {entry}, {(*device)->info()});
    EXPECT_TRUE(plan.ok());
    const auto& params = plan->front().what.params;
    return std::vector{params.integer("batch"), params.integer("length"), params.integer("new_tokens")};
  };
  EXPECT_EQ(sizes("resnet50", {{"preset", "base"}}), (std::vector<std::int64_t>{128, 224, 0}));
  EXPECT_EQ(sizes("gpt2", {{"preset", "base"}, {"pass", "decode"}}), (std::vector<std::int64_t>{16, 512, 128}));
  EXPECT_EQ(sizes("dlrm", {{"preset", "tiny"}, {"batch", "3"}}), (std::vector<std::int64_t>{3, 0, 0}));
}

TEST(Models, whose_batch_shall_be_found_are_a_sweep) {
  const auto device = device::open_device("cpu");
  ASSERT_TRUE(device.ok());
  SuiteEntry entry;
  entry.workload = "vit";
  entry.set = {{"batch", "auto"}};
  const auto plan = make_plan(catalog(), {entry}, {(*device)->info()});
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(plan->front().invalid);
  EXPECT_THAT(plan->front().invalid->hint, HasSubstr("--sweep batch=auto"));
}

TEST(Models, decode_word_by_word) {
  WM_NEEDS_TORCH();
  const warpmark::Run run = run_model("llama", {{"python", python_with_torch()}, {"pass", "decode"}, {"batch", "2"}});
  ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_LE(run.error->value, 1e-4);
  const auto* token = metric(run, "phase.token");
  ASSERT_NE(token, nullptr);
  EXPECT_EQ(token->samples.size(), 15 * metric(run, "phase.prefill")->samples.size());
  EXPECT_NE(metric(run, "tokens_rate"), nullptr);
}

TEST(Models, share_a_step_among_ranks) {
  WM_NEEDS_TORCH();
  const warpmark::Run run = run_model("dlrm", {{"python", python_with_torch()}, {"ranks", "2"}});
  ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_LE(run.error->value, 1e-4);  // the gradient that two ranks average, against fp64 of both batches
  EXPECT_NE(metric(run, "phase.communication"), nullptr);
}

/// What reaches it: tests/apps/models_test.cpp.
TEST(Models, that_do_not_reach_their_quality_have_no_time) {
  WM_NEEDS_TORCH();
  const warpmark::Run never =
      run_model("dlrm", {{"python", python_with_torch()}, {"until", "loss<=0"}, {"epochs", "1"}, {"batch", "8"}});
  EXPECT_EQ(never.outcome, Outcome::failed);
  EXPECT_THAT(never.reason, HasSubstr("asked for was loss<=0"));
  EXPECT_TRUE(never.metrics.empty());
}

TEST(Models, refuse_goals_that_are_none) {
  for (const char* goal : {"accuracy", "accuracy>=", "accuracy>=x", "accuracy>=1.5", "bleu>=3", "loss>=1"}) {
    EXPECT_THAT(test::cost_error("vit", {{"until", goal}}), testing::Not(HasSubstr("ok"))) << goal;
  }
  EXPECT_EQ(test::cost_error("vit", {{"until", "accuracy>=0.759"}}), "ok");
  EXPECT_THAT(test::cost_error("vit", {{"until", "loss<=1"}, {"ranks", "2"}}), HasSubstr("one rank"));
}

TEST(Models, whose_knob_does_not_hold_are_unsupported) {
  WM_NEEDS_TORCH();
  const warpmark::Run run = run_model("gpt2", {{"python", python_with_torch()}, {"optimizer", "fused"}});
  EXPECT_EQ(run.outcome, Outcome::unsupported);
  EXPECT_THAT(run.reason, HasSubstr("optimizer.implementation"));
}

TEST(Models, without_a_python_say_so) {
  const warpmark::Run run = run_model("gpt2", {{"python", "/no/such/python"}});
  EXPECT_EQ(run.outcome, Outcome::error);
  EXPECT_EQ(run.fault, ErrorKind::environment);
  EXPECT_THAT(run.hint, HasSubstr("python="));
}

TEST(Models, that_are_interrupted_are_no_result) {
  const auto* workload = find_in(catalog(), std::string_view("gpt2"));
  const auto params = resolve_params(workload->params, {{"preset", "tiny"}, {"python", "sleep"}});
  ASSERT_TRUE(params.ok());
  const auto device = device::open_device("cpu");
  const std::atomic<bool> interrupted = true;  // as by Ctrl-C while the worker starts
  measure::RoundOptions options;
  options.interrupted = &interrupted;
  const auto run = measure::measure_round({workload, "cpu", *params, Mode::hot}, **device, options);
  EXPECT_EQ(run.outcome, Outcome::skipped);
  EXPECT_EQ(run.reason, "interrupted");
  EXPECT_TRUE(run.metrics.empty());
}

/// A program in place of the worker: BODY reads questions with ask() and answers with say(text).
class Impostor : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark impostor XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<Json> ask(const std::string& body, double deadline_s = 60) {
    const std::string head =
        "import os, sys, json, time\n"
        "fd = int(os.environ['WARPMARK_WORKER_FDS'].split(',')[0])\n"
        "def ask(): return json.loads(os.read(fd, 65536))\n"
        "def say(text): os.write(fd, text.encode() + b'\\n')\n";
    EXPECT_TRUE(write_file(folder_ / "impostor.py", head + body).ok());
    auto worker = workers::ModelWorker::start(
        {.words = {"python3", (folder_ / "impostor.py").string()}, .printed = folder_ / "printed.txt"});
    EXPECT_TRUE(worker.ok());
    return (*worker)->ask({{"ask", "hello"}}, deadline_s);
  }
  std::filesystem::path folder_;
};

TEST_F(Impostor, that_dies_is_told_with_its_last_words) {
  const auto answer = ask("ask(); print('out of coffee', flush=True); os._exit(7)");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::environment);
  EXPECT_THAT(answer.error().what, HasSubstr("exit code 7"));
  EXPECT_THAT(answer.error().hint, HasSubstr("out of coffee"));
}

TEST_F(Impostor, that_hangs_is_ended_with_all_its_processes) {
  const auto answer = ask(
      "child = os.fork()\nif child: open('" + (folder_ / "pid").string() + "', 'w').write(str(child))\ntime.sleep(600)",
      20);
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().what, HasSubstr("did not hello within"));
  const auto child = read_file(folder_ / "pid");
  ASSERT_TRUE(child.ok());
  const auto state = [&] { return first_line("/proc/" + *child + "/stat"); };
  for (int i = 0; i < 500 && !state().empty() && state().find(") Z ") == std::string::npos; ++i) ::usleep(10'000);
  EXPECT_TRUE(state().empty() || state().find(") Z ") != std::string::npos) << state();
}

TEST_F(Impostor, that_answers_nonsense_is_a_data_error) {
  for (const char* text : {"say('{\"ask\": ')", "say('[]')", "say('{\"ask\": \"hello\", \"number\": 9}')"}) {
    const auto answer = ask(std::string("ask(); ") + text + "; time.sleep(60)");
    ASSERT_FALSE(answer.ok()) << text;
    EXPECT_EQ(answer.error().kind, ErrorKind::data) << text;
  }
}

TEST_F(Impostor, may_print_what_it_likes) {
  const auto answer = ask("q = ask(); print('{\"ask\": 1}\\n' * 1000, flush=True); say(json.dumps(q))");
  EXPECT_TRUE(answer.ok());
}

TEST_F(Impostor, that_refuses_is_believed) {
  const auto answer =
      ask("q = ask(); say(json.dumps(dict(q, refused='unsupported', what='no torch', hint='get one')))");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(answer.error().hint, "get one");
}

}  // namespace
}  // namespace warpmark::workloads
