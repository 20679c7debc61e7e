// Workers that die, answer nonsense and lie, in a whole round: a program in place of the interpreter speaks the
// protocol as the real worker does but for one thing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "measure/round.h"
#include "support/python_with_torch.h"
#include "workloads/models/model_shape.h"
#include "workloads/models/model_workers.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kFake = R"(#!/usr/bin/env python3
import json, mmap, os, struct, sys, time
lie = '@LIE@'
open('@FOLDER@/pid', 'w').write(str(os.getpid()))
control, memory = (int(fd) for fd in os.environ['WARPMARK_WORKER_FDS'].split(','))
ring = mmap.mmap(memory, 0)
clock = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
losses = iter([5.545] + [5.0 - i * 0.0001 for i in range(100000)])

def note(records):
    for i, record in enumerate(records):
        struct.pack_into('<qqqd', ring, 16 + 32 * i, *record)
    struct.pack_into('<qq', ring, 0, 1, 1 << 60 if lie == 'ring' else len(records))

def run(ask):
    steps, records = ask['steps'], []
    begin = clock()
    for i in range(steps):
        time.sleep(0.02)
        records.append((0, i, clock(), 0.0))
    end = clock()
    for i in range(steps):
        records.append((1, i, end, next(losses)))
    if ask['phases']:
        part = 0.01 if lie == 'phases' else 0.02
        records = [r for i in range(steps) for r in ((2, i, end, 0.02), (10, i, end, part))]
    if lie == 'steps' and not ask['phases']:
        records = records[1:]
    if lie == 'fast':
        end = begin + (end - begin) // 4
        records = [(k, i, min(t, end), v) for k, i, t, v in records]
    if lie == 'early':
        begin -= 10 ** 12
    if lie == 'backwards':
        begin, end = end, begin
    if lie == 'nan':
        records = [(k, i, t, float('nan') if k == 1 else v) for k, i, t, v in records]
    if lie == 'dies':
        print('out of coffee', flush=True)
        os._exit(9)
    if lie == 'killed':
        os.kill(os.getpid(), 9)
    note(records)
    return {'begin_ns': begin, 'end_ns': 'soon' if lie == 'word' else end}

def answer(ask):
    what = ask['ask']
    if what == 'hello':
        return {'protocol': 7 if lie == 'protocol' else 1, 'torch': '9', 'cuda': '', 'executable': 'x', 'places': []}
    if what == 'prepare':
        if lie == 'memory':
            return {'refused': 'environment', 'what': 'not enough memory: 3 of 2', 'hint': 'a smaller batch'}
        return {'parameters': @PARAMETERS@ + (lie == 'parameters'), 'forward_flops': @FLOPS@, 'ignorance': 5.545}
    if what == 'run':
        return run(ask)
    if what == 'check':
        return {'error': 0.5 if lie == 'wrong' else 1e-7, 'differing': 0}
    if what == 'state':
        return {'memory': {'peak': 3 if lie != 'text' else 'much'}, 'knobs': []}
    return {'shapes': 'none' if lie == 'shapes' else []}

rest = b''
while True:
    piece = os.read(control, 65536)
    if not piece:
        sys.exit(0)
    rest += piece
    while b'\n' in rest:
        line, rest = rest.split(b'\n', 1)
        ask = json.loads(line)
        if lie == 'garbage':
            print('{"ask": "run", "number": 1}\n' * 100, flush=True)
        os.write(control, json.dumps(dict(answer(ask), ask=ask['ask'], number=ask['number'])).encode() + b'\n')
)";

class FakeModel : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "warpmark-fake-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A program at folder_/python.
  std::string program(std::string text) const {
    const auto path = folder_ / "python";
    EXPECT_TRUE(write_file(path, text).ok());
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return path.string();
  }

  static warpmark::Run measure(Overrides overrides) {
    const auto* workload = find_in(catalog(), std::string_view("gpt2"));
    overrides.insert(overrides.begin(), {"preset", "tiny"});
    const auto params = resolve_params(workload->params, overrides);
    EXPECT_TRUE(params.ok());
    const auto device = device::open_device("cpu");
    measure::RoundOptions options;
    options.stopping.budget_s = 0.1;
    options.stopping.max_samples = 6;
    options.warmup.cap_s = 0.1;
    return measure::measure_round({workload, "cpu", *params, Mode::hot}, **device, options);
  }

  warpmark::Run with(const std::string& lie) {
    const auto shape = model_shape("gpt2", "tiny", 0, 0);
    std::string text = kFake;
    const auto put = [&](const std::string& mark, const std::string& value) {
      for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark))
        text.replace(at, mark.size(), value);
    };
    put("@LIE@", lie);
    put("@FOLDER@", folder_.string());
    put("@PARAMETERS@", std::to_string(shape->parameters));
    put("@FLOPS@", fmt::format("{:.0f}", shape->forward_flops * static_cast<double>(shape->batch)));
    return measure({{"python", program(text)}});
  }

  /// Nothing is left of the worker.
  [[nodiscard]] bool is_gone() const {
    const auto pid = read_file(folder_ / "pid");
    if (!pid.ok()) return false;
    const auto state = first_line("/proc/" + *pid + "/stat");
    return state.empty() || state.find(") Z ") != std::string::npos;
  }
  fs::path folder_;
};

TEST_F(FakeModel, that_tells_the_truth_passes_and_ends) {
  const auto run = with("nothing");
  // How well the clocks of two processes agree is the machine's business.
  EXPECT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::mistrusted) << run.reason;
  EXPECT_TRUE(is_gone());
}

TEST_F(FakeModel, may_print_what_it_likes) {
  const auto run = with("garbage");
  EXPECT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::mistrusted) << run.reason;
}

TEST_F(FakeModel, that_lies_about_steps_or_time_is_mistrusted) {
  const std::pair<const char*, const char*> lies[] = {
      {"steps", "noted"}, {"fast", "by our clock"}, {"early", "outside of the window"}, {"phases", "add up to"}};
  for (const auto& [lie, reason] : lies) {
    const auto run = with(lie);
    EXPECT_EQ(run.outcome, Outcome::mistrusted) << lie;
    EXPECT_TRUE(is_gone()) << lie;
    EXPECT_FALSE(run.reason.empty());
    if (std::string_view(lie) != "phases") {
      EXPECT_THAT(run.reason, HasSubstr(reason)) << lie;
    }
  }
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
  auto workers = ModelWorkers::start({.words = {python}, .device = "cpu"});
  ASSERT_TRUE(workers.ok());
  const auto hello = (*workers)->ask({{"ask", "hello"}}, 100);
  ASSERT_TRUE(hello.ok()) << hello.error().what;
  EXPECT_EQ((*hello)["torch"], "1.99");
  EXPECT_THAT((*hello)["places"].dump(), HasSubstr("/1/torch"));
  EXPECT_THAT((*hello)["places"].dump(), HasSubstr("/2/torch"));
}

TEST_F(FakeModel, asked_for_cuda_where_torch_has_none_is_unsupported) {
  WM_NEEDS_TORCH();
  auto workers = ModelWorkers::start({.words = {testing_support::python_with_torch()}, .device = "cuda:0"});
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

TEST_F(FakeModel, out_of_memory_in_torch_is_told_as_that) {
  WM_NEEDS_TORCH();
  const auto run = measure({{"preset", "large"},
                            {"python", program("#!/bin/sh\nulimit -v 3000000\nexec " +
                                               testing_support::python_with_torch() + " \"$@\"\n")}});
  EXPECT_EQ(run.outcome, Outcome::error) << run.reason;
  EXPECT_EQ(run.fault, ErrorKind::environment) << run.reason;
  EXPECT_THAT(run.reason, HasSubstr("memory"));
}

TEST_F(FakeModel, of_which_one_rank_dies_ends_all) {
  auto workers = ModelWorkers::start(
      {.words = {"sh", "-c", "if [ $RANK = 1 ]; then exit 5; fi; sleep 600"}, .device = "cpu", .ranks = 2});
  ASSERT_TRUE(workers.ok());
  const auto answer = (*workers)->ask({{"ask", "hello"}}, 3);
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().what, HasSubstr("rank 1"));
}

}  // namespace
}  // namespace warpmark::workloads
