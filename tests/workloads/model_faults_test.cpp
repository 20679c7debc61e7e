// Workers that die, answer nonsense and lie, in a whole round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "support/python_with_torch.h"
#include "workloads/fake_model.h"
#include "workloads/models/model_workers.h"

namespace warpmark::workloads {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(FakeModel, that_tells_the_truth_passes_and_ends) {
  const auto run = with("nothing");
  // How well the clocks of two processes agree is the machine's business.
  EXPECT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_TRUE(is_gone());
}

TEST_F(FakeModel, may_print_what_it_likes) {
  const auto run = with("garbage");
  EXPECT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
}

TEST_F(FakeModel, that_lies_about_steps_or_time_is_unreliable) {
  const std::pair<const char*, const char*> lies[] = {
      {"steps", "noted"}, {"fast", "by our clock"}, {"early", "outside of the window"}, {"phases", "add up to"}};
  for (const auto& [lie, reason] : lies) {
    const auto run = with(lie);
    EXPECT_EQ(run.outcome, Outcome::unreliable) << lie;
    EXPECT_TRUE(is_gone()) << lie;
    EXPECT_FALSE(run.reason.empty());
    // On a busy machine an honest window may have been doubted before.
    if (std::string_view(lie) != "phases") {
      EXPECT_THAT(run.reason, HasSubstr(reason)) << lie;
    }
  }
}

/// Windows before those that are published are held against our clock as well.
TEST_F(FakeModel, that_lies_about_its_first_step_is_unreliable) {
  EXPECT_EQ(with("fast first").outcome, Outcome::unreliable);
}

/// What is done while an answer is awaited may let our clock see it late, and excuses no more than that.
TEST_F(FakeModel, is_doubted_whatever_is_done_while_it_works) {
  auto workers = ModelWorkers::start({.python = liar("fast"), .device = "cpu"});
  ASSERT_TRUE(workers.ok() && (*workers)->ask({{"ask", "hello"}}, 100).ok());
  int polls = 0;
  (*workers)->while_waiting([&] { ++polls; });
  const auto window = (*workers)->window(20, true, 100);
  ASSERT_TRUE(window.ok());
  EXPECT_GT(polls, 0);
  EXPECT_THAT(window->doubt, HasSubstr("by our clock"));
}

/// The sum of the phases is held against steps that were timed without marks, and against our clock.
TEST_F(FakeModel, that_lies_about_phases_contradicts_the_clock) {
  const auto doubt_of = [&](const std::string& lie) {
    auto workers = ModelWorkers::start({.python = liar(lie), .device = "cpu"});
    EXPECT_TRUE(workers.ok() && (*workers)->ask({{"ask", "hello"}}, 100).ok());
    const auto phases = (*workers)->phases(10, 100);
    EXPECT_TRUE(phases.ok());
    EXPECT_EQ(phases->seconds.size(), 1U);
    return phases->doubt;
  };
  EXPECT_THAT(doubt_of("phases"), HasSubstr("the phases of a step add up to"));
  EXPECT_THAT(doubt_of("quick phases"), HasSubstr("for steps with marks that took"));
  EXPECT_THAT(doubt_of("slow phases"), HasSubstr("for steps with marks that took"));
  const auto run = with("nothing");
  ASSERT_NE(metric(run, "phases_ratio"), nullptr);
  EXPECT_NEAR(metric(run, "phases_ratio")->samples.front(),
              metric(run, "phase.forward")->summary.mean / metric(run, "time")->summary.median, 1e-9);
}

TEST_F(FakeModel, that_makes_no_sense_is_a_data_error) {
  const std::pair<const char*, const char*> lies[] = {{"backwards", "took"},   {"word", "no number 'end_ns'"},
                                                      {"ring", "records"},     {"parameters", "parameters"},
                                                      {"protocol", "version"}, {"shapes", "shapes"}};
  for (const auto& [lie, reason] : lies) {
    const auto run = with(lie);
    EXPECT_EQ(run.outcome, Outcome::error) << lie;
    EXPECT_EQ(run.fault, ErrorKind::data) << lie;
    EXPECT_THAT(run.reason, HasSubstr(reason)) << lie;
    EXPECT_TRUE(run.metrics.empty()) << lie;
    EXPECT_TRUE(is_gone()) << lie;
  }
}

TEST_F(FakeModel, whose_step_is_wrong_has_no_speed) {
  for (const char* lie : {"wrong", "nan"}) {
    const auto run = with(lie);
    EXPECT_EQ(run.outcome, Outcome::failed) << lie;
    EXPECT_TRUE(run.metrics.empty()) << lie;
  }
}

TEST_F(FakeModel, that_dies_or_lacks_memory_is_an_error_of_the_environment) {
  const std::pair<const char*, const char*> faults[] = {
      {"dies", "exit code 9"}, {"killed", "signal 9"}, {"memory", "not enough memory"}};
  for (const auto& [fault, reason] : faults) {
    const auto run = with(fault);
    EXPECT_EQ(run.outcome, Outcome::error) << fault;
    EXPECT_EQ(run.fault, ErrorKind::environment) << fault;
    EXPECT_THAT(run.reason, HasSubstr(reason)) << fault;
    EXPECT_TRUE(is_gone()) << fault;
  }
  EXPECT_THAT(with("killed").hint, HasSubstr("memory"));
}

TEST_F(FakeModel, without_torch_is_unsupported_and_told_what_to_install) {
  const auto run = measure({{"python", program("#!/bin/sh\nexec python3 -S -E \"$@\"\n")}});
  EXPECT_EQ(run.outcome, Outcome::unsupported) << run.reason;
  EXPECT_THAT(run.reason, HasSubstr("cannot import torch"));
  EXPECT_THAT(run.hint, HasSubstr("python3-torch"));
}

/// A package that looks like torch, of this version.
void make_torch(const std::filesystem::path& folder, const std::string& version) {
  const auto package = folder / "torch";
  ASSERT_TRUE(make_folder(package).ok());
  ASSERT_TRUE(write_file(package / "version.py", "").ok());
  ASSERT_TRUE(write_file(package / "__init__.py",
                         "class version: cuda = None\n__version__ = '" + version + "'\nget_num_threads = lambda: 1\n")
                  .ok());
}

TEST_F(FakeModel, with_a_torch_that_is_too_old_is_unsupported_and_names_both_versions) {
  make_torch(folder_ / "old", "1.8.0a0+cu");
  const auto run = measure(
      {{"python", program("#!/bin/sh\nPYTHONPATH='" + (folder_ / "old").string() + "' exec python3 \"$@\"\n")}});
  EXPECT_EQ(run.outcome, Outcome::unsupported) << run.reason;
  EXPECT_THAT(run.reason, HasSubstr("torch 1.8.0a0+cu is older than 1.13"));
  EXPECT_THAT(run.hint, HasSubstr("--set python="));
}

TEST_F(FakeModel, with_two_torches_on_the_path_names_both) {
  for (const char* version : {"1", "2"}) make_torch(folder_ / version, version + std::string(".99"));
  const auto python = program("#!/bin/sh\nPYTHONPATH='" + (folder_ / "1").string() + ":" + (folder_ / "2").string() +
                              "' exec python3 \"$@\"\n");
  auto workers = ModelWorkers::start({.python = python, .device = "cpu"});
  ASSERT_TRUE(workers.ok());
  const auto hello = (*workers)->ask({{"ask", "hello"}}, 100);
  ASSERT_TRUE(hello.ok()) << hello.error().what;
  EXPECT_EQ((*hello)["torch"], "1.99");
  EXPECT_THAT((*hello)["places"].dump(), HasSubstr("/1/torch"));
  EXPECT_THAT((*hello)["places"].dump(), HasSubstr("/2/torch"));
}

TEST_F(FakeModel, asked_for_cuda_where_torch_has_none_is_unsupported) {
  WM_NEEDS_TORCH();
  auto workers = ModelWorkers::start({.python = testing_support::python_with_torch(), .device = "cuda:0"});
  ASSERT_TRUE(workers.ok());
  const Json hello = *(*workers)->ask({{"ask", "hello"}}, 200);
  if (hello["cuda"] != "") GTEST_SKIP() << "this torch has CUDA";
  const auto answer = (*workers)->prepare({{"ask", "prepare"},
                                           {"model", "gpt2"},
                                           {"config", Json::object()},
                                           {"batch", 1},
                                           {"pass", "train"},
                                           {"precision", "f32"}},
                                          100);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(answer.error().what, HasSubstr("without CUDA"));
}

TEST_F(FakeModel, of_which_one_rank_dies_ends_all) {
  const auto python = program("#!/bin/sh\nif [ $RANK = 1 ]; then exit 5; fi; sleep 600\n");
  auto workers = ModelWorkers::start({.python = python, .device = "cpu", .ranks = 2});
  ASSERT_TRUE(workers.ok());
  const auto answer = (*workers)->ask({{"ask", "hello"}}, 3);
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().what, HasSubstr("rank 1"));
}

}  // namespace
}  // namespace warpmark::workloads
