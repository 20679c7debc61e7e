// The worker without Python beside the one with it: the same network, batches and losses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/json.h"
#include "measure/round.h"
#include "support/python_with_torch.h"
#include "workers/libtorch_build.h"
#include "workloads/models/model_question.h"
#include "workloads/models/model_witness.h"
#include "workloads/models/model_workers.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

using testing::HasSubstr;
using testing_support::python_with_torch;

/// Made once for all tests of a build folder.
Result<std::filesystem::path> libtorch_worker() {
  setenv("OMP_NUM_THREADS", "1", 1);  // threads that spin for one another are slow on a busy machine
  setenv("XDG_CACHE_HOME", (std::string(WARPMARK_BINARY_DIR) + "/test-cache").c_str(), 1);
  return workers::build_libtorch_worker(python_with_torch(), nullptr);
}

class LibtorchWorker : public testing::TestWithParam<const char*> {};

/// Losses of eight steps, and the answers that describe the network.
struct Told {
  double parameters = 0, flops = 0, error = 1;
  std::vector<double> losses;
};

Told told_by(const std::vector<std::string>& words, const char* model, const char* precision) {
  Told told;
  const auto params = resolve_params(test::workload(model).params, {{"preset", "tiny"}, {"precision", precision}});
  const auto shape = model_shape(model, *params);
  auto workers = ModelWorkers::start({.words = words, .device = "cpu"});
  EXPECT_TRUE(workers.ok()) << workers.error().what;
  EXPECT_TRUE((*workers)->ask({{"ask", "hello"}}, 200).ok());
  const auto prepared = (*workers)->prepare(prepare_question(model, *params, *shape, 5), 200);
  EXPECT_TRUE(prepared.ok()) << prepared.error().what;
  if (!prepared.ok()) return told;
  told.parameters = (*prepared)["parameters"].get<double>();
  told.flops = (*prepared)["forward_flops"].get<double>();
  EXPECT_EQ(told.parameters, static_cast<double>(shape->parameters));
  EXPECT_EQ(told.flops, shape->forward_flops * static_cast<double>(shape->batch));
  const auto window = (*workers)->window(8, true, 200);
  EXPECT_TRUE(window.ok());
  told.losses = window->losses;
  const auto phases = (*workers)->phases(2, 200);
  EXPECT_TRUE(phases.ok());
  EXPECT_EQ(phases->seconds.size(), 5U);
  EXPECT_THAT(phases->doubt,
              testing::Not(HasSubstr("add up to")));  // how well two clocks agree is the machine's business
  const auto checked = (*workers)->ask({{"ask", "check"}}, 200);
  EXPECT_TRUE(checked.ok());
  told.error = (*checked)["error"].get<double>();
  return told;
}

TEST_P(LibtorchWorker, has_the_losses_of_the_one_in_python) {
  WM_NEEDS_TORCH();
  const auto worker = libtorch_worker();
  if (!worker.ok() && worker.error().kind == ErrorKind::unsupported) GTEST_SKIP() << worker.error().what;
  ASSERT_TRUE(worker.ok()) << worker.error().what;
  for (const char* precision : {"f32", "bf16"}) {
    const auto python = told_by({python_with_torch()}, GetParam(), precision);
    const auto cpp = told_by({worker->string(), "worker"}, GetParam(), precision);
    ASSERT_EQ(python.losses.size(), 8U);
    ASSERT_EQ(cpp.losses.size(), 8U);
    const double tolerance = std::string(precision) == "f32" ? 1e-4 : 1e-2;
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(cpp.losses[i], python.losses[i], tolerance) << i;
    EXPECT_LT(cpp.losses.back(), cpp.losses.front());
    EXPECT_LE(cpp.error, std::string(precision) == "f32" ? 1e-4 : 3e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LibtorchWorker, testing::Values("gpt2", "bert", "resnet50"),
                         [](const auto& tested) { return std::string(tested.param); });

/// Without CUPTI the recorder says so in its recording: that it was started in the worker's process can be seen all the
/// same.
TEST(LibtorchWorkerRecorder, starts_in_its_process) {
  WM_NEEDS_TORCH();
  const auto library = std::filesystem::path(WARPMARK_BINARY_DIR) / "libwarpmark_inject.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "the recorder is not built here";
  const auto worker = libtorch_worker();
  if (!worker.ok() && worker.error().kind == ErrorKind::unsupported) GTEST_SKIP() << worker.error().what;
  setenv("WARPMARK_INJECT_LIBRARY", library.c_str(), 1);
  setenv("WARPMARK_CUPTI", "/no/such/libcupti.so", 1);
  const auto params = resolve_params(test::workload("gpt2").params, {{"preset", "tiny"}});
  const auto shape = model_shape("gpt2", *params);
  for (const auto& words : {std::vector<std::string>{python_with_torch()}, {worker->string(), "worker"}}) {
    auto workers = ModelWorkers::start({.words = words, .device = "cpu"});
    ASSERT_TRUE(workers.ok()) << workers.error().what;
    ASSERT_TRUE((*workers)->prepare(prepare_question("gpt2", *params, *shape, 5), 200).ok());
    const auto heard = hear_recorder(**workers, {.step_s = 1}, 200);
    EXPECT_EQ(heard.doubt, "");
    EXPECT_THAT(heard.note, HasSubstr("CUPTI")) << words.front();
  }
  unsetenv("WARPMARK_INJECT_LIBRARY");
  unsetenv("WARPMARK_CUPTI");
}

TEST(LibtorchWorkerRound, passes_and_refuses_what_is_pythons) {
  WM_NEEDS_TORCH();
  const auto worker = libtorch_worker();
  if (!worker.ok() && worker.error().kind == ErrorKind::unsupported) GTEST_SKIP() << worker.error().what;
  const auto device = device::open_device("cpu");
  ASSERT_TRUE(device.ok());
  const auto run = [&](const char* model, Overrides overrides) {
    overrides.insert(overrides.begin(), {{"preset", "tiny"}, {"worker", "cpp"}, {"python", python_with_torch()}});
    const auto& workload = test::workload(model);
    const auto params = resolve_params(workload.params, overrides);
    EXPECT_TRUE(params.ok());
    measure::RoundOptions options;
    options.stopping.budget_s = 0.2;
    options.stopping.max_samples = 8;
    options.warmup.cap_s = 0.2;
    return measure::measure_round({&workload, "cpu", *params, Mode::hot}, **device, options);
  };
  const auto good = run("bert", {});
  // How quiet the machine is is not the test's business.
  ASSERT_TRUE(good.outcome == Outcome::passed || good.outcome == Outcome::mistrusted) << good.reason;
  EXPECT_LE(good.error->value, good.error->tolerance);
  const auto last = run("resnet50", {{"channels_last", "yes"}});
  ASSERT_TRUE(last.outcome == Outcome::passed || last.outcome == Outcome::mistrusted) << last.reason;
  const auto other = run("vit", {});
  EXPECT_EQ(other.outcome, Outcome::unsupported);
  EXPECT_THAT(other.reason, HasSubstr("vit is of the Python worker"));
  EXPECT_THAT(run("gpt2", {{"channels_last", "yes"}}).reason, HasSubstr("the knob channels_last"));
  EXPECT_EQ(run("gpt2", {{"pass", "decode"}}).outcome, Outcome::unsupported);
  EXPECT_THAT(run("bert", {{"preset", "squad-tiny"}}).reason, HasSubstr("the span head"));
  EXPECT_THAT(run("gpt2", {{"checkpoint", "yes"}}).reason, HasSubstr("checkpoint.blocks"));
}

TEST(LibtorchWorkerRound, cannot_be_made_without_pytorch) {
  const auto worker = workers::build_libtorch_worker("/bin/false", nullptr);
  ASSERT_FALSE(worker.ok());
  EXPECT_EQ(worker.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(worker.error().hint, HasSubstr("worker=python"));
  EXPECT_EQ(workers::build_libtorch_worker("/no/such/python", nullptr).error().kind, ErrorKind::environment);
  // Programs that answer, but not as an interpreter would: `echo` gives the question back.
  EXPECT_EQ(workers::build_libtorch_worker("/bin/echo", nullptr).error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace warpmark::workloads
