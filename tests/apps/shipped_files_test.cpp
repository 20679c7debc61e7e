// Bundled files with what the commands that they name really write: criteria, suites, matrices, alert rules. Workflows
// and examples of other kinds have tests of their own (ci_steps_test, end_to_end_test, example_tasks_test).
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "apps/cli_fixture.h"
#include "apps/stored_history.h"
#include "base/text.h"

namespace warpmark::apps {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::string kSource = WARPMARK_SOURCE_DIR;

/// The three commands of acceptance/training-node.yaml, run here: without GPUs, so that what was measured is then moved
/// to GPUs of the kind that the limits are of, and its values to those of a good node. Names, parameters and units are
/// as the commands write them.
class TrainingNodeFiles : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    setenv("LD_LIBRARY_PATH", (std::string(WARPMARK_BINARY_DIR) + "/mock_nvml").c_str(), 1);
    setenv("WARPMARK_TEST_GPU_WORK", path("work").c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"LD_LIBRARY_PATH", "WARPMARK_TEST_GPU_WORK"}) unsetenv(name);
    Cli::TearDown();
  }

  /// Every value of the metric near `value`, with the statistics of such values.
  static void move_to(Json& run, const std::string& metric, double value) {
    for (auto& one : run["metrics"]) {
      if (one["id"] != metric) continue;
      for (const char* name : {"median", "ci_low", "ci_high"}) one[name] = value;
      for (std::size_t i = 0; i < one["samples"].size(); ++i)
        one["samples"][i] = value * (1 + 1e-4 * static_cast<double>(i % 3));
      return;
    }
    ADD_FAILURE() << run["workload"] << " has no " << metric;
  }

  /// The newest session as a file, on the GPUs of the data sheet and a quiet machine.
  std::string stored_as(const std::string& name, const std::function<void(Json&)>& edit) {
    const auto shown = warpmark({"report", "last", "--format", "json"});
    auto session = parse_json(shown.out, "report");
    EXPECT_TRUE(session.ok()) << shown.err;
    if (!session.ok()) return {};
    (*session)["machine"]["devices"] =
        Json::array({{{"id", "cuda:0"}, {"backend", "cuda"}, {"name", "NVIDIA A100-SXM4-80GB"}}});
    for (auto& run : (*session)["runs"]) {
      if (run["device"] != "host") run["device"] = "cuda:0";
      if (run["outcome"] == "unreliable") run["outcome"] = "passed";
      edit(run);
    }
    write(name, dump_json(*session));
    return path(name);
  }
};

TEST_F(TrainingNodeFiles, accept_what_the_named_commands_write_on_a_good_node) {
  if (!run_process({"mpirun", "--version"}).ok()) GTEST_SKIP() << "mpirun is not installed";
  write("warpmark.yaml",
        "run: 'echo 70000000000 > " + path("work") + "; sleep 0.6; rm " + path("work") +
            "; echo \"{\\\"throughput\\\": 450, \\\"steps\\\": [0.150, 0.151, 0.152]}\"'\nshell: true\nmetrics:\n"
            "  - {name: throughput, unit: samples/s, better: higher, json: throughput}\n"
            "  - {name: latency, unit: s, json: steps, percentile: 99}\n");
  const auto project = warpmark({"run", "--project", path("warpmark.yaml"), "--rounds", "8", "--warmup", "0"});
  ASSERT_EQ(project.exit_code, 0) << project.err;
  const std::string training = stored_as("project.json", [](Json&) {});

  const auto links =
      warpmark({"collective", "all_reduce", "--ranks", "2", "--oversubscribe", "-b", "64K", "-e", "64K"});
  ASSERT_EQ(links.exit_code, 0) << links.err;
  const std::string collective = stored_as("links.json", [](Json& run) {
    run["params"]["bytes"] = std::int64_t{1} << 30;
    move_to(run, "bus_bandwidth", 232e9);
  });

  // Without a budget, which a busy machine uses up before the second workload.
  const auto texture = warpmark({"run", "fused_texture", "top_k_patches", "--device", "cpu", "--rounds", "1",
                                 "--budget", "10h", "--precision", "50%", "--no-ceilings"});
  ASSERT_EQ(texture.exit_code, 0) << texture.err;
  const std::string kernels = stored_as("kernels.json", [](Json& run) {
    if (run["workload"] == "fused_texture") run["params"]["n"] = 64;  // the default on a GPU
    if (run["outcome"] == "passed") move_to(run, "time", run["workload"] == "fused_texture" ? 2.1e-3 : 3.1e-3);
  });

  const auto accepted = warpmark({"accept", "training-node", "--results", training, "--results", collective,
                                  "--results", kernels, "--json", path("a.json"), "--no-store"});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.out << accepted.err;
  for (const auto& row : json("a.json")["rows"]) EXPECT_EQ(row["state"], "pass") << row;
}

TEST_F(Cli, every_case_of_the_quick_suite_is_measured_on_a_processor) {
  const auto output = warpmark({"run", "--suite", "quick", "--device", "cpu", "--rounds", "1", "--budget", "10h",
                                "--no-ceilings", "--no-store", "--json", path("o.json")});
  const auto runs = json("o.json")["runs"];
  EXPECT_GT(runs.size(), 10U) << output.err;
  for (const auto& run : runs) {  // a processor may lack a data type
    EXPECT_THAT(run["outcome"], AnyOf("passed", "unreliable", "unsupported")) << run;
  }
}

TEST_F(Cli, the_example_of_a_matrix_measures_what_it_names) {
  const auto output = run_process(
      {kExecutable, "matrix", "examples/matrix.yaml", "--rounds", "2", "--no-store", "--json", path("m.json")},
      {.deadline_s = 1000, .directory = kSource});
  ASSERT_TRUE(output.ok());
  EXPECT_NE(output->exit_code, 2) << output->err;
  const auto matrix = json("m.json");
  EXPECT_EQ(matrix["variants"].size(), 6U);
  for (const auto& variant : matrix["variants"]) EXPECT_EQ(variant.value("failures", 0), 0) << variant;
}

class ShippedRules : public WithHistory {};

TEST_F(ShippedRules, of_results_fire_for_what_is_stored) {
  // A benchmark of commands named "train" that takes 0.3 s, above the 250 ms of the example.
  for (int i = 0; i < 3; ++i) {
    const auto run = warpmark({"run", "--rounds", "1", "--warmup", "0", "--name", "train", "--", "sleep", "0.3"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  const auto rules = read_file(kSource + "/examples/watch/results.yaml");
  ASSERT_TRUE(rules.ok());
  write("results.yaml", rules->substr(0, rules->find("sinks:")) +
                            "sinks:\n  - name: chat\n    command: ['true']\n"
                            "  - name: mail\n    command: ['true']\n");
  const auto output = warpmark({"watch", path("results.yaml"), "--dry-run", "--since", "30d"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("StepTooLong"));
}

}  // namespace
}  // namespace warpmark::apps
