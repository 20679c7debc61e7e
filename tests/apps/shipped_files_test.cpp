// Bundled files with what the commands that they name really write: criteria, suites, matrices, alert rules. Workflows
// and examples of other kinds have tests of their own (ci_steps_test, end_to_end_test, example_tasks_test).
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "apps/cli_fixture.h"
#include "apps/stored_history.h"
#include "base/text.h"
#include "base/units.h"
#include "validate/accept/criteria.h"
#include "workloads/catalog.h"

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
  const auto verdicts = json("a.json");
  EXPECT_EQ(verdicts["rows"].size(), 9U);
  for (const auto& row : verdicts["rows"]) EXPECT_EQ(row["state"], "pass") << row;
}

/// What healthy cards reach, by title: an H100 as measured (docs/results/gpu/accept.txt), an A100 by the
/// same shares of its datasheet.
const std::map<std::string, std::map<std::string, double>> kHealthy{{"h100-sxm",
                                                                     {{"Memory, copy", 3.04e12},
                                                                      {"Memory, triad", 3.08e12},
                                                                      {"Memory, read", 3.16e12},
                                                                      {"Matrix product, bf16", 816e12},
                                                                      {"Matrix product, tf32", 410e12},
                                                                      {"Product without tensor cores, f32", 52.0e12},
                                                                      {"Matrix product, f64", 55.7e12},
                                                                      {"Matrix product, fp8", 1.50e15},
                                                                      {"Attention against the matrix units", 0.665},
                                                                      {"Host to device, pinned", 55.2e9},
                                                                      {"Device to host, pinned", 55.1e9},
                                                                      {"Launch of an empty kernel", 8.665e-6}}},
                                                                    {"a100-sxm",
                                                                     {{"Memory, copy", 1.85e12},
                                                                      {"Memory, triad", 1.87e12},
                                                                      {"Memory, read", 1.92e12},
                                                                      {"Matrix product, bf16", 257e12},
                                                                      {"Matrix product, tf32", 129e12},
                                                                      {"Product without tensor cores, f32", 17.2e12},
                                                                      {"Matrix product, f64", 16.2e12},
                                                                      {"Host to device, pinned", 27.6e9},
                                                                      {"Device to host, pinned", 27.5e9},
                                                                      {"Launch of an empty kernel", 8.7e-6}}}};

/// The workloads that criteria name, run here as they name them but for sizes: names, parameters, modes, metrics and
/// units are as `warpmark run` writes them. What a processor cannot do (another link, a data type) is written by the
/// command without metrics, which then are those of the workload next to it.
class GpuCriteria : public TrainingNodeFiles {
 protected:
  Json run_of(const validate::Criterion& row) {
    std::vector<std::string> words{"run",         row.workload,    "--device", "cpu", "--rounds",      "1",
                                   "--precision", "50%",           "--budget", "10h", "--no-ceilings", "--no-store",
                                   "--json",      path("run.json")};
    Overrides sizes;
    for (const auto& [name, value] : row.set) {
      const bool is_size = name != "mode" && value.find_first_of("0123456789") == 0;
      if (is_size) sizes.emplace_back(name, value);
      const std::string kind = value == "kernel" ? "fork_join" : value;  // launches of a GPU are of another kind
      words.insert(words.end(), {"--set", name + "=" + (!is_size ? kind : name == "size" ? "64KiB" : "64")});
    }
    const auto output = warpmark(words);
    const auto results = json("run.json");
    EXPECT_FALSE(results["runs"].empty()) << row.title << ": " << output.err;
    if (results["runs"].empty()) return {};
    Json run = results["runs"][0];
    for (const auto& [name, value] : row.set) {
      const bool written = name == "mode" || run["params"].contains(name);
      EXPECT_TRUE(written) << row.title << " names " << name << ": " << run["params"];
      if (value == "kernel") run["params"][name] = value;
    }
    for (const auto& [name, value] : sizes) {
      run["params"][name] =
          static_cast<std::int64_t>(name == "size" ? *parse_quantity(value, "B") : *parse_number(value));
    }
    return run;
  }
};

TEST_F(GpuCriteria, accept_what_their_workloads_write_on_a_healthy_card_and_reject_half_of_it) {
  const std::map<std::string, std::string> gpus{{"h100-sxm", "NVIDIA H100 80GB HBM3"},
                                                {"a100-sxm", "NVIDIA A100-SXM4-80GB"}};
  for (const auto& [name, gpu] : gpus) {
    const auto file = validate::load_criteria(name);
    ASSERT_TRUE(file.ok());
    const auto criteria = validate::parse_criteria(file->text, name);
    ASSERT_TRUE(criteria.ok()) << criteria.error().what;
    ASSERT_EQ(warpmark({"run", "copy", "--device", "cpu", "--set", "size=64KiB", "--rounds", "1", "--budget", "10h",
                        "--no-ceilings", "--no-store", "--json", path("session.json")})
                      .exit_code %
                  5,
              0);
    Json session = json("session.json");
    session["machine"]["devices"] = Json::array({{{"id", "cuda:0"}, {"backend", "cuda"}, {"name", gpu}}});
    Json good = Json::array(), bad = Json::array();
    const Json metrics_of_bytes = session["runs"][0]["metrics"];
    const Json metrics_of_rates = run_of({.workload = "gemm", .set = {{"dtype", "f32"}, {"m", "64"}}})["metrics"];
    for (const auto& row : criteria->rows) {
      if (row.workload.empty()) continue;
      Json run = run_of(row);
      if (run["metrics"].empty()) run["metrics"] = row.metric == "bandwidth" ? metrics_of_bytes : metrics_of_rates;
      run["device"] = "cuda:0";
      run["outcome"] = "passed";
      run.erase("reason");
      run["index"] = good.size();
      const double healthy = kHealthy.at(name).at(row.title);
      for (const bool is_good : {true, false}) {
        Json copy = run;
        const double value = is_good ? healthy : row.metric == "time" ? 4 * healthy : healthy / 2;
        if (row.metric.empty()) {
          copy["peak"] = {{"bound", "compute"}, {"share", value}};
          for (const Json& one : run["metrics"]) move_to(copy, one["id"], one["median"]);  // of a quiet machine
        }
        if (!row.metric.empty()) move_to(copy, row.metric, value);
        (is_good ? good : bad).push_back(std::move(copy));
      }
    }
    for (const bool is_good : {true, false}) {
      session["runs"] = is_good ? good : bad;
      write("card.json", dump_json(session));
      const auto output =
          warpmark({"accept", name, "--results", path("card.json"), "--json", path("a.json"), "--no-store"});
      std::size_t judged = 0;
      const auto verdicts = json("a.json");
      for (const auto& row : verdicts["rows"]) {
        if (!kHealthy.at(name).contains(row["title"])) continue;
        EXPECT_EQ(row["state"], is_good ? "pass" : "fail") << name << ": " << row << output.err;
        ++judged;
      }
      EXPECT_EQ(judged, kHealthy.at(name).size()) << name;
    }
  }
}

TEST_F(Cli, the_full_suite_holds_every_workload_of_a_processor_and_none_fails) {
  const auto output = warpmark({"run", "--suite", "full", "--device", "cpu", "--rounds", "1", "--budget", "4s",
                                "--precision", "50%", "--no-ceilings", "--no-store", "--json", path("o.json")});
  std::set<std::string> found;
  std::size_t measured = 0;
  const auto session = json("o.json");
  for (const auto& run : session["runs"]) {
    found.insert(run["workload"]);
    EXPECT_THAT(run["outcome"], AnyOf("passed", "unreliable", "unsupported", "skipped")) << run;
    if (run["outcome"] == "skipped") {
      EXPECT_THAT(run["reason"].get<std::string>(), HasSubstr("the budget of 4 s"));
    }
    measured += run["outcome"] == "passed" || run["outcome"] == "unreliable" ? 1U : 0U;
  }
  EXPECT_GE(measured, 3U) << output.err;
  for (const auto* workload : workloads::catalog()) EXPECT_TRUE(found.contains(workload->id)) << workload->id;
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
