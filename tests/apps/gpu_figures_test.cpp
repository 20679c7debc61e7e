// What a command makes of GPUs, as `run`, `compare`, `check` and `accept` tell it without anybody declaring anything:
// on GPUs that an NVML without a GPU plays.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/text.h"
#include "model/auxiliary.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

constexpr double kFourGib = 4294967296, kEightGib = 8589934592;

class GpuFigures : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    setenv("LD_LIBRARY_PATH", (std::string(WARPMARK_BINARY_DIR) + "/mock_nvml").c_str(), 1);
    std::filesystem::create_directories(path("power"));
    setenv("WARPMARK_TEST_POWER", path("power").c_str(), 1);  // gives the GPUs a counter of energy
    setenv("WARPMARK_TEST_GPU_WORK", path("work").c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"LD_LIBRARY_PATH", "WARPMARK_TEST_POWER", "WARPMARK_TEST_GPU_WORK"}) unsetenv(name);
    Cli::TearDown();
  }
  /// A program that has so many bytes on the first GPU, long enough for a look at it.
  static std::string script(double bytes) {
    return fmt::format("echo {:.0f} > \"$WARPMARK_TEST_GPU_WORK\"; sleep 0.6; rm \"$WARPMARK_TEST_GPU_WORK\"", bytes);
  }
  static std::vector<std::string> at_work(double bytes) { return {"--", "sh", "-c", script(bytes)}; }
  static Json metric(const Json& run, std::string_view id) {
    const auto found = std::ranges::find_if(run["metrics"], [&](const Json& one) { return one["id"] == id; });
    return found == run["metrics"].end() ? Json() : *found;
  }
  static double median(const Json& run, std::string_view id) { return metric(run, id).value("median", -1.0); }
};

TEST_F(GpuFigures, of_a_command_are_measured_though_nobody_asked) {
  const auto output =
      warpmark(with({"run", "--rounds", "2", "--warmup", "0", "--json", path("o.json")}, at_work(kEightGib)));
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(testing_support::schema_errors(json("o.json"), "results.schema.json"), "");
  const Json run = json("o.json")["runs"][0];
  EXPECT_DOUBLE_EQ(median(run, kGpuUtilization), 0.97);
  EXPECT_DOUBLE_EQ(median(run, kGpuPeakMemory), kEightGib) << "above what others had before";
  EXPECT_DOUBLE_EQ(median(run, kGpuClock), 1.755e9);
  // The played GPU draws 700 W all the time, also while the program starts and ends.
  EXPECT_GE(median(run, kGpuEnergy), 0.99 * 700 * median(run, "time"));
  EXPECT_GE(median(run, kGpuPower), 0.99 * 700);
  for (const auto figure : kGpuFigures) EXPECT_THAT(output.out, HasSubstr(std::string(figure)));
}

TEST_F(GpuFigures, of_each_number_of_gpus_are_energy_of_a_sample_and_memory) {
  const auto output = warpmark(with({"scale", "--gpus", "1,2", "--rounds", "2", "--warmup", "0", "--work", "100",
                                     "--unit", "samples", "--json", path("s.json")},
                                    at_work(kEightGib)));
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto scaling = json("s.json");
  EXPECT_EQ(testing_support::schema_errors(scaling, "scaling.schema.json"), "");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& point = scaling["points"][i];
    // Every played GPU draws 700 W all the time; 0.6 s or more for 100 samples.
    const double seconds = point["seconds"][0].get<double>() + point["seconds"][1].get<double>();
    const double expected = static_cast<double>(i + 1) * 700 * seconds / 2 / 100;
    EXPECT_NEAR(point["energy_per_work"]["value"].get<double>(), expected, 0.1 * expected) << i;
    EXPECT_NEAR(point["work_per_joule"].get<double>(), 1 / expected, 0.1 / expected) << i;
    EXPECT_GE(point["gpu_memory"].get<double>(), kEightGib) << i;
    EXPECT_GT(point["peak_memory"].get<double>(), 0) << i;
    EXPECT_DOUBLE_EQ(point["gpu_utilization"].get<double>(), 0.97) << i;
  }
  EXPECT_THAT(output.out, HasSubstr("J/samples"));
  EXPECT_THAT(output.out, HasSubstr("NVML, about "));
  const auto stored = warpmark({"report", "last", "--format", "json"});
  const auto session = parse_json(stored.out, "report");
  ASSERT_TRUE(session.ok()) << stored.err;
  EXPECT_GE(median((*session)["runs"][0], kGpuEnergy), 700 * 0.6) << "beside the throughput";
}

TEST_F(GpuFigures, are_goals_of_each_number_of_gpus) {
  const auto code = [&](const char* goal) {
    const auto output = warpmark(with({"scale", "--gpus", "1,2", "--rounds", "1", "--warmup", "0", "--no-store",
                                       "--goal", "gpu_utilization>=80%", "--goal", goal},
                                      at_work(kEightGib)));
    EXPECT_THAT(output.err, HasSubstr("gpu_utilization>=80%")) << output.err;
    EXPECT_THAT(output.err, HasSubstr("2 GPUs"));
    return output.exit_code;
  };
  EXPECT_EQ(code("gpu_peak_memory<=9GB"), 0);
  EXPECT_EQ(code("gpu_peak_memory<=8GB"), 1) << "8 GiB are 8.6 GB";
}

TEST_F(GpuFigures, scale_gives_a_program_the_numbers_of_its_gpus) {
  const auto ids = [&](const char* visible) {
    visible == nullptr ? unsetenv("CUDA_VISIBLE_DEVICES") : setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    const auto output = warpmark({"scale", "--gpus", "1,2", "--rounds", "1", "--warmup", "0", "--no-store", "--shell",
                                  "--", "echo {gpu_ids} on $CUDA_VISIBLE_DEVICES >> " + path("ids")});
    unsetenv("CUDA_VISIBLE_DEVICES");
    EXPECT_EQ(output.exit_code, 0) << output.err;
    const auto text = read_file(path("ids"));
    std::filesystem::remove(path("ids"));
    auto lines = split(text.ok() ? *text : "", '\n');
    std::ranges::sort(lines);
    return lines;
  };
  EXPECT_THAT(ids(nullptr), ::testing::IsSupersetOf({"0 on 0", "0,1 on 0,1"}));
  EXPECT_THAT(ids("1,0"), ::testing::IsSupersetOf({"0 on 1", "0,1 on 1,0"})) << "of those that the user chose";
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  const auto output = warpmark({"scale", "--gpus", "1,2", "--", "true"});
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("this machine has 1 in CUDA_VISIBLE_DEVICES=1"));
}

TEST_F(GpuFigures, are_not_told_of_a_command_that_uses_none) {
  const auto output =
      warpmark({"run", "--rounds", "1", "--warmup", "0", "--json", path("o.json"), "--", "sleep", "0.6"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  for (const auto figure : kGpuFigures) EXPECT_TRUE(metric(json("o.json")["runs"][0], figure).is_null()) << figure;
}

TEST_F(GpuFigures, stand_beside_a_comparison_and_decide_it_once_they_are_named) {
  const auto memory_of = [](const Json& comparison) {
    const auto found =
        std::ranges::find_if(comparison["metrics"], [](const Json& one) { return one["id"] == kGpuPeakMemory; });
    return found == comparison["metrics"].end() ? Json() : *found;
  };
  const std::vector<std::string> options{"--warmup", "0", "--no-store", "--json", path("c.json")};
  const auto auxiliary =
      warpmark(with(with(with({"compare", "--rounds", "3"}, options), at_work(kEightGib)), at_work(kFourGib)));
  EXPECT_EQ(testing_support::schema_errors(json("c.json"), "compare.schema.json"), "") << auxiliary.err;
  const Json reported = memory_of(json("c.json"));
  ASSERT_FALSE(reported.is_null()) << auxiliary.out << auxiliary.err;
  EXPECT_EQ(reported["auxiliary"], true);
  EXPECT_NEAR(reported["ratio"].get<double>(), 0.5, 1e-9);
  EXPECT_THAT(auxiliary.out, HasSubstr("gpu_peak_memory (info)"));

  write("p.yaml",
        "run: 'echo {bytes} > \"$WARPMARK_TEST_GPU_WORK\"; sleep 0.6; rm \"$WARPMARK_TEST_GPU_WORK\"'\nshell: true\n"
        "metrics: [{name: gpu_peak_memory}]\n");
  const auto compared = [&] {
    return warpmark(with(
        {"compare", "--project", path("p.yaml"), "--a", "bytes=8589934592", "--b", "bytes=4294967296", "--rounds", "8"},
        options));
  };
  auto named = compared();
  // Nothing is decided where this machine's processor clock changes between A and B.
  for (int i = 0; i < 3 && named.out.find("core_clock was at") != std::string::npos; ++i) named = compared();
  EXPECT_EQ(named.exit_code, 0) << named.out << named.err;
  EXPECT_EQ(memory_of(json("c.json"))["verdict"], "better");
  EXPECT_EQ(json("c.json")["verdict"], "better");
}

/// The history is of a branch, so the project is a repository.
TEST_F(GpuFigures, are_guarded_by_a_check_that_names_them) {
  const auto in_repository = [&](std::vector<std::string> words) {
    words.insert(words.begin(), kExecutable);
    const auto output = run_process(words, {.deadline_s = 200, .directory = path("repo")});
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : ProcessOutput{};
  };
  std::filesystem::create_directory(path("repo"));
  const std::string git =
      "git init -q -b main . && git config user.email a@b && git config user.name a && "
      "git commit -q --allow-empty -m one";
  ASSERT_EQ(run_process({"sh", "-c", git}, {.deadline_s = 60, .directory = path("repo")})->exit_code, 0);
  const std::vector<std::string> once{"--name", "job", "--rounds", "1", "--warmup", "0"};
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(in_repository(with(with({"run"}, once), at_work(kFourGib + i * 1048576))).exit_code, 0);
  }
  ASSERT_EQ(
      run_process({"git", "commit", "-q", "--allow-empty", "-m", "two"}, {.deadline_s = 60, .directory = path("repo")})
          ->exit_code,
      0);
  const std::vector<std::string> check{"check", "--metrics", "gpu_peak_memory", "--json", path("check.json")};
  // Once more where the machine's clock or load had just changed, which check rightly distrusts.
  const auto trusted = [&](double bytes) {
    constexpr int kTries = 4, kNoValidMeasurement = 5;
    auto output = in_repository(with(with(check, once), at_work(bytes)));
    for (int i = 1; i < kTries && output.exit_code == kNoValidMeasurement; ++i) {
      output = in_repository(with(with(check, once), at_work(bytes)));
    }
    return output;
  };
  const auto more = trusted(kEightGib);
  EXPECT_EQ(more.exit_code, 1) << more.out << more.err;
  const Json metrics = json("check.json")["metrics"];
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_EQ(metrics[0]["metric"], kGpuPeakMemory);
  EXPECT_EQ(metrics[0]["verdict"], "worse");
  const auto as_before = trusted(kFourGib);
  EXPECT_EQ(as_before.exit_code, 0) << as_before.out << as_before.err;
}

/// What a training tells of itself, and what is seen of its GPUs, by the checklist that comes along.
TEST_F(GpuFigures, are_judged_by_the_training_nodes_criteria) {
  const auto accepted = [&](const std::string& throughput) {
    write("p.yaml", "run: 'echo speed " + throughput + "; " + script(kEightGib) +
                        "'\nshell: true\nmetrics:\n"
                        "  - {name: throughput, unit: samples/s, better: higher, regex: 'speed ([0-9.]+)'}\n");
    EXPECT_EQ(warpmark({"run", "--project", path("p.yaml"), "--rounds", "6", "--warmup", "0"}).exit_code, 0);
    return warpmark({"accept", "training-node", "--results", "last", "--out", path("out")});
  };
  const auto row_of = [&](std::string_view metric) {
    const Json rows = json("out/acceptance.json")["rows"];
    const auto found = std::ranges::find_if(rows, [&](const Json& row) {
      return row["subject"].get<std::string>().starts_with("command") && row["metric"] == metric;
    });
    return found == rows.end() ? Json() : *found;
  };
  (void)accepted("450");
  EXPECT_EQ(row_of("throughput")["state"], "pass") << row_of("throughput");
  EXPECT_EQ(row_of("gpu_utilization")["state"], "pass") << row_of("gpu_utilization");
  EXPECT_EQ(row_of("gpu_peak_memory")["state"], "pass");
  EXPECT_EQ(accepted("300").exit_code, 1);
  EXPECT_EQ(row_of("throughput")["state"], "fail");
}

}  // namespace
}  // namespace warpmark::apps
