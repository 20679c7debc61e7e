// Experiment folders, their workbooks and their plots. The folder in tests/data is written as genai-bench writes it.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"
#include "exchange/load/experiment.h"
#include "exchange/load/plots.h"
#include "exchange/load/workbook.h"

namespace warpmark::exchange {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Removed with all in it.
class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "experimentXXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Json stats(double mean) { return {{"min", mean}, {"mean", mean}, {"p90", 2 * mean}, {"p99", 3 * mean}}; }

/// A run at a concurrency: the more users, the more throughput up to 16, and the slower each answer.
Json run(int users, double speed, double throughput) {
  return {
      {"aggregated_metrics",
       {{"scenario", "D(100,100)"},
        {"num_concurrency", users},
        {"batch_size", 1},
        {"iteration_type", "num_concurrency"},
        {"mean_output_throughput_tokens_per_s", throughput},
        {"mean_total_tokens_throughput_tokens_per_s", 2 * throughput},
        {"requests_per_second", throughput / 100},
        {"error_rate", 0.0},
        {"num_error_requests", 0},
        {"stats",
         {{"ttft", stats(100.0 * users)}, {"e2e_latency", stats(1000)}, {"output_inference_speed", stats(speed)}}}}},
      {"individual_request_metrics", {{{"ttft", 100.0}, {"error_code", nullptr}}, {{"error_code", 503}}}},
      {"_time_unit", "ms"}};
}

class LoadExperiment : public ::testing::Test {
 protected:
  LoadExperiment() {
    const auto write = [&](const std::string& name, const Json& json) {
      EXPECT_TRUE(write_file(folder_.path() / name, dump_json(json)).ok());
    };
    write("experiment_metadata.json", {{"server_gpu_type", "H100"}, {"server_engine", "vLLM"}});
    write("D100_100_text-to-text_concurrency_1_time_60s.json", run(1, 50, 100));
    write("D100_100_text-to-text_concurrency_4_time_60s.json", run(4, 30, 400));
    write("D100_100_text-to-text_concurrency_16_time_60s.json", run(16, 12, 410));
    write("D100_100_text-to-text_concurrency_64_time_60s.json", run(64, 5, 800));
  }
  Folder folder_;
};

TEST_F(LoadExperiment, is_read_in_seconds_and_by_load) {
  const auto experiment = read_experiment(folder_.path().string());
  ASSERT_TRUE(experiment.ok()) << experiment.error().what;
  ASSERT_EQ(experiment->runs.size(), 4U);
  EXPECT_EQ(experiment->runs[1].level, 4);
  EXPECT_DOUBLE_EQ(*field_of(experiment->runs[1], "stats.ttft.mean"), 0.4);
  EXPECT_DOUBLE_EQ(*field_of(experiment->runs[1], "requests_per_second"), 4);
  EXPECT_FALSE(field_of(experiment->runs[1], "stats.ttft"));
  EXPECT_FALSE(field_of(experiment->runs[1], "stats.nothing.mean"));
  EXPECT_DOUBLE_EQ(experiment->runs[0].requests[0]["ttft"].get<double>(), 0.1);
}

TEST_F(LoadExperiment, that_is_none_or_damaged_says_so) {
  Folder empty;
  EXPECT_THAT(read_experiment(empty.path().string()).error().what, HasSubstr("holds no run"));
  ASSERT_TRUE(write_file(folder_.path() / "D1_1_text-to-text_concurrency_1_time_1s.json", "{\"aggregated").ok());
  EXPECT_THAT(read_experiment(folder_.path().string()).error().what, HasSubstr("concurrency_1_time_1s.json"));
  ASSERT_TRUE(write_file(folder_.path() / "D1_1_text-to-text_concurrency_1_time_1s.json",
                         R"({"aggregated_metrics": {"num_concurrency": 1e308}})")
                  .ok());
  EXPECT_THAT(read_experiment(folder_.path().string()).error().what, HasSubstr("num_concurrency is 1e+308"));
}

TEST_F(LoadExperiment, is_usable_up_to_saturation_or_the_least_speed) {
  const auto experiment = read_experiment(folder_.path().string());
  ASSERT_TRUE(experiment.ok());
  const auto usable = usable_levels(*experiment, "mean");
  ASSERT_EQ(usable.size(), 1U);
  EXPECT_EQ(usable[0].level, 4) << "from 4 to 16 users the throughput grew by less than 5 %";
  EXPECT_DOUBLE_EQ(usable[0].tokens_per_minute, 60 * 800);
}

TEST_F(LoadExperiment, becomes_a_workbook_that_others_read) {
  const auto experiment = read_experiment(folder_.path().string());
  ASSERT_TRUE(experiment.ok());
  const std::string file = (folder_.path() / "book.xlsx").string();
  EXPECT_FALSE(write_workbook(file, *experiment, {.percentile = "p42"}).ok());
  EXPECT_FALSE(write_workbook(file, *experiment, {.time_unit = "h"}).ok());
  EXPECT_THAT(write_workbook((folder_.path() / "no" / "book.xlsx").string(), *experiment, {}).error().what,
              HasSubstr("cannot be written"));
  const Status written = write_workbook(file, *experiment, {.percentile = "p90", .time_unit = "ms"});
  ASSERT_TRUE(written.ok()) << written.error().what;
  const auto read = run_process({"/usr/bin/python3", "-c",
                                 "import openpyxl,sys\n"
                                 "b=openpyxl.load_workbook(sys.argv[1])\n"
                                 "print([s.title for s in b])\n"
                                 "print([c.value for c in b['Summary'][2]])\n"
                                 "print([c.value for c in b['Appendix'][3]])\n"
                                 "print(b['Individual Request Metrics'].max_row, len(b['Charts']._charts))\n",
                                 file},
                                {.deadline_s = 60});
  if (!read.ok() || read->err.find("No module named") != std::string::npos)
    GTEST_SKIP() << "python3-openpyxl is not there";
  EXPECT_EQ(read->out,
            "['Summary', 'Appendix', 'Experiment Metadata', 'Aggregated Metrics for Each Run', "
            "'Individual Request Metrics', 'Charts']\n"
            "['H100', 'D(100,100)', 4, 48000]\n"
            "['H100', 'D(100,100)', 4, 800, 60, 400, 2000, 4, 800, 0, None, None, None, None, None, None]\n"
            "9 6\n")
      << read->err;
}

TEST_F(LoadExperiment, is_plotted_by_every_preset) {
  const auto experiment = read_experiment(folder_.path().string());
  ASSERT_TRUE(experiment.ok());
  for (const auto& preset : plot_presets()) {
    const auto plots = make_plots({*experiment}, preset.specs(), {.leave_out_missing = true});
    EXPECT_TRUE(plots.ok()) << preset.name;
  }
  EXPECT_EQ(make_plots({*experiment}, plot_presets().front().specs(), {})->size(), 8U);
  const auto specs = plot_specs_of(Json::parse(R"({"layout": {"rows": 1, "cols": 2}, "plots": [
        {"title": "t", "x_field": "num_concurrency", "y_field": "stats.ttft.mean", "y_scale": "log"},
        {"x_field": "requests_per_second", "plot_type": "scatter",
         "y_fields": [{"field": "stats.ttft.p90", "label": "p90"}, {"field": "stats.ttft.p99"}]}]})"),
                                   "config");
  ASSERT_TRUE(specs.ok()) << specs.error().what;
  const auto drawn =
      make_plots({*experiment}, *specs, {.group_key = "server_engine", .time_scale = 1000, .time_unit = "ms"});
  ASSERT_TRUE(drawn.ok()) << drawn.error().what;
  ASSERT_EQ(drawn->size(), 2U);
  ASSERT_EQ((*drawn)[0].series.size(), 1U);
  EXPECT_EQ((*drawn)[0].series[0].name, "vLLM");
  EXPECT_THAT((*drawn)[0].series[0].points, ElementsAre(std::pair(1.0, 100.0), std::pair(4.0, 400.0),
                                                        std::pair(16.0, 1600.0), std::pair(64.0, 6400.0)));
  EXPECT_TRUE((*drawn)[0].y.logarithmic);
  EXPECT_EQ((*drawn)[0].y.title, "stats.ttft.mean (ms)");
  EXPECT_EQ((*drawn)[1].series.size(), 2U);
  EXPECT_FALSE((*drawn)[1].series[0].line);
}

TEST_F(LoadExperiment, is_not_plotted_by_settings_that_are_wrong) {
  const auto experiment = read_experiment(folder_.path().string());
  ASSERT_TRUE(experiment.ok());
  const auto problem = [&](const char* config) {
    const auto specs = plot_specs_of(Json::parse(config), "config");
    if (!specs.ok()) return specs.error().what;
    const auto plots = make_plots({*experiment}, *specs, {});
    return plots.ok() ? std::string() : plots.error().what + " " + plots.error().hint;
  };
  EXPECT_THAT(problem("{}"), HasSubstr("no list \"plots\""));
  EXPECT_THAT(problem(R"({"plots": [{"y_field": "a"}]})"), HasSubstr("x_field"));
  EXPECT_THAT(problem(R"({"plots": [{"x_field": "a", "y_feild": "a"}]})"), HasSubstr("did you mean \"y_field\""));
  EXPECT_THAT(problem(R"({"plots": [{"x_field": "num_concurency", "y_field": "error_rate"}]})"),
              HasSubstr("did you mean 'num_concurrency'"));
  const auto filtered =
      make_plots({*experiment}, plot_presets()[1].specs(), {.filter = Json::parse(R"({"server_engine": "SGLang"})")});
  EXPECT_FALSE(filtered.ok());
  const auto grouped = make_plots({*experiment}, plot_presets()[1].specs(), {.group_key = "color"});
  EXPECT_THAT(grouped.error().what, HasSubstr("'color'"));
}

}  // namespace
}  // namespace warpmark::exchange
