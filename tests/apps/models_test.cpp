// Models as a person runs them: what workers do wrong, and the exit code that it has; batches until memory is used up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "apps/cli_fixture.h"
#include "apps/in_background.h"
#include "support/python_with_torch.h"
#include "workloads/fake_model.h"

namespace warpmark::apps {
namespace {

using testing::HasSubstr;

class ModelCli : public workloads::FakeModel {
 protected:
  struct Ran {
    int exit_code = -1;
    std::string text;  ///< of both streams
    Json runs;
  };
  Ran run(const std::string& python, const std::vector<std::string>& more = {}) {
    return run("gpt2", python, apps::with({"--set", "peak=no"}, more));
  }
  /// As short as a round can be.
  Ran run(const std::string& model, const std::string& python, std::vector<std::string> more) {
    const auto file = (folder_ / "out.json").string();
    more.insert(more.begin(),
                {kExecutable, "run", model, "--device", "cpu", "--set", "preset=tiny", "--set", "python=" + python,
                 "--rounds", "1", "--precision", "50%", "--no-ceilings", "--no-store", "--json", file});
    const auto ran = run_process(more, {.deadline_s = 200});
    EXPECT_TRUE(ran.ok()) << ran.error().what;
    if (!ran.ok()) return {};
    const auto written = read_file(file);
    const auto json = written.ok() ? parse_json(*written, file) : Result<Json>(Json::object());
    std::filesystem::remove(file);
    return {ran->exit_code, ran->out + ran->err, json.ok() ? json->value("runs", Json::array()) : Json::array()};
  }
};

struct Fault {
  const char* lie;
  int exit_code;
  const char* said;  ///< in the report
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.lie; }

class FaultyModelCli : public ModelCli, public testing::WithParamInterface<Fault> {};

TEST_P(FaultyModelCli, has_its_exit_code_its_reason_and_leaves_no_process) {
  const auto& [lie, exit_code, said] = GetParam();
  const auto ran = run(liar(lie));
  EXPECT_EQ(ran.exit_code, exit_code) << ran.text;
  EXPECT_THAT(ran.text, HasSubstr(said));
  EXPECT_TRUE(is_gone());
}

INSTANTIATE_TEST_SUITE_P(All, FaultyModelCli,
                         testing::Values(Fault{"dies", 5, "exit code 9"}, Fault{"killed", 5, "signal 9"},
                                         Fault{"memory", 5, "not enough memory"}, Fault{"no cuda", 5, "without CUDA"},
                                         Fault{"knob", 5, "compile is not in force"}, Fault{"word", 2, "end_ns"},
                                         Fault{"parameters", 2, "parameters"}, Fault{"protocol", 2, "protocol"},
                                         Fault{"wrong", 1, "differs from fp64"}),
                         [](const auto& tested) {
                           std::string name = tested.param.lie;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST_F(ModelCli, that_lies_about_its_steps_is_unreliable_and_fails_where_that_is_asked) {
  const auto strict = run(liar("steps"), {"--strict"});
  EXPECT_EQ(strict.exit_code, 5) << strict.text;
  const auto mild = run(liar("steps"));
  EXPECT_EQ(mild.exit_code, 0) << mild.text;
  ASSERT_EQ(mild.runs.size(), 1U);
  EXPECT_EQ(mild.runs[0]["outcome"], "unreliable");
}

/// What a worker prints stays out of the report, however much it looks like an answer.
TEST_F(ModelCli, names_the_torch_that_it_did_not_measure_and_not_what_it_printed) {
  const auto two = run(liar("two"));
  EXPECT_EQ(two.exit_code, 0) << two.text;
  ASSERT_EQ(two.runs.size(), 1U);
  EXPECT_THAT(two.runs[0].dump(), HasSubstr("/b/torch; measured was /a/torch"));
  EXPECT_THAT(two.text, testing::Not(HasSubstr("\"number\": 1")));
}

TEST_F(ModelCli, without_torch_says_what_to_install) {
  const auto ran = run(program("#!/bin/sh\nexec python3 -S -E \"$@\"\n"));
  EXPECT_EQ(ran.exit_code, 5) << ran.text;
  EXPECT_THAT(ran.text, HasSubstr("cannot import torch"));
  EXPECT_THAT(ran.text, HasSubstr("python3-torch"));
}

TEST_F(ModelCli, refuses_what_is_of_gpus_before_a_worker_starts) {
  for (const char* precision : {"precision=fp16", "precision=tf32"}) {
    const auto ran = run("/no/such/python", {"--set", precision});
    EXPECT_EQ(ran.exit_code, 5) << ran.text;
    EXPECT_THAT(ran.text, HasSubstr("is for GPUs"));
  }
}

/// Two classes, bright and dark, as FOLDER/train/CLASS/PICTURE of another shape than the network's.
void make_pictures(const std::filesystem::path& folder) {
  for (const char* part : {"train", "val"}) {
    for (const auto& [name, level] : {std::pair{"bright", '\xe0'}, std::pair{"dark", '\x20'}}) {
      ASSERT_TRUE(make_folder(folder / part / name).ok());
      for (int i = 0; i < 8; ++i) {
        const auto file = folder / part / name / (std::to_string(i) + ".ppm");
        ASSERT_TRUE(write_file(file, "P6 40 24 255\n" + std::string(40 * 24 * 3, level)).ok());
      }
    }
  }
}

TEST_F(ModelCli, trains_to_a_quality_on_a_folder_of_pictures) {
  WM_NEEDS_TORCH();
  make_pictures(folder_ / "pictures");
  const auto ran = run("vit", testing_support::python_with_torch(),
                       {"--until", "accuracy>=1", "--set", "data=" + (folder_ / "pictures").string(), "--set",
                        "batch=4", "--set", "price=3600"});
  if (ran.text.find("needs Pillow") != std::string::npos) GTEST_SKIP() << "python3-pil is not installed";
  ASSERT_EQ(ran.exit_code, 0) << ran.text;
  ASSERT_EQ(ran.runs.size(), 1U);
  std::map<std::string, double> metrics;
  for (const auto& metric : ran.runs[0]["metrics"]) metrics[metric["id"]] = metric["median"];
  EXPECT_EQ(metrics["quality"], 1);
  EXPECT_EQ(metrics["samples"], 16 * metrics["epochs"]);
  EXPECT_DOUBLE_EQ(metrics["cost"], metrics["time"]) << "3600 an hour is 1 a second";
}

TEST_F(ModelCli, that_hangs_in_a_round_is_ended_by_ctrl_c) {
  const auto printed = (folder_ / "printed").string();
  const pid_t id =
      start_in_background("run gpt2 --device cpu --set preset=tiny --no-store --no-ceilings --rounds 1 --set " +
                              in_quotes("python=" + liar("hangs")),
                          printed);
  ASSERT_TRUE(comes_to_have((folder_ / "hanging").string(), "yes"));
  EXPECT_EQ(end_with_signal(id, SIGINT), 130);
  EXPECT_TRUE(is_gone());
}

/// What became of each batch of a sweep, up to the first that nobody tried: "passed" also where the machine was busy.
std::vector<std::string> outcomes_of_batches(const Json& runs) {
  std::vector<std::string> all;
  for (const auto& run : runs) {
    const std::string outcome = run["outcome"], reason = run.value("reason", "");
    if (outcome == "unsupported" && reason.find("was already") != std::string::npos) break;
    all.push_back(outcome == "unreliable" ? "passed" : outcome + (outcome == "passed" ? "" : ": " + reason));
  }
  return all;
}

TEST_F(ModelCli, sweeps_the_batch_until_memory_is_used_up_which_is_a_result) {
  const auto ran = run(liar("room for one"), {"--sweep", "batch=auto"});
  EXPECT_EQ(ran.exit_code, 0) << ran.text;
  const auto outcomes = outcomes_of_batches(ran.runs);
  ASSERT_EQ(outcomes.size(), 2U) << ran.text;
  EXPECT_EQ(outcomes[0], "passed");
  EXPECT_THAT(outcomes[1], HasSubstr("unsupported: out of memory: "));
  EXPECT_GT(ran.runs.size(), 2U);
}

/// A real network with 700 MB beside what PyTorch has taken when it was imported: a batch of one takes 550, most of it
/// for the step in fp64, one of two more than 750 and one of four a gigabyte.
TEST_F(ModelCli, sweeps_the_batch_of_a_real_network_too) {
  WM_NEEDS_TORCH();
  const auto python =
      program("#!/bin/sh\nOMP_NUM_THREADS=1 MKL_NUM_THREADS=1 exec " + testing_support::python_with_torch() +
              R"( -c "
import re, resource, runpy, sys, torch
taken = int(re.search(r'VmData:\s*(\d+)', open('/proc/self/status').read()).group(1)) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (taken + 700000000, taken + 700000000))
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name='__main__')
" "$@"
)");
  const auto ran =
      run(python, {"--sweep", "batch=auto", "--set", "pass=forward", "--set", "vocab=200000", "--set", "length=64"});
  EXPECT_EQ(ran.exit_code, 0) << ran.text;
  const auto outcomes = outcomes_of_batches(ran.runs);
  ASSERT_GE(outcomes.size(), 2U) << ran.text;
  EXPECT_LE(outcomes.size(), 3U) << ran.text;
  EXPECT_EQ(outcomes.front(), "passed");
  EXPECT_THAT(outcomes.back(), HasSubstr("unsupported: out of memory: not enough memory"));
}

}  // namespace
}  // namespace warpmark::apps
