// Matrix files, the order of runs, taking up, failures, verdicts and the front, with runs that are made up.
#include "validate/matrix/matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/json.h"
#include "stats/summary.h"
#include "support/expect_refused.h"
#include "support/schema_check.h"
#include "validate/commands/command_experiment.h"
#include "validate/compare/compare_run.h"

namespace warpmark::validate {
namespace {

using testing_support::schema_errors;

const std::string kFile = R"(
command: {run: 'prog --p {precision} --b {batch}'}
axes: {precision: [f32, bf16], batch: [1, 8]}
baseline: {precision: f32, batch: 1}
)";

MatrixSpec spec_of(const std::string& yaml) {
  auto spec = parse_matrix_spec(yaml, "m.yaml");
  EXPECT_TRUE(spec.ok()) << spec.error().what << " | " << spec.error().hint;
  return spec.ok() ? *spec : MatrixSpec{};
}

Metric metric_with(const char* id, const char* unit, Better better, double value) {
  Metric result{.id = id, .unit = unit, .better = better, .samples = {value}};
  result.round_sizes = {1};
  result.summary = stats::summarize(result.samples);
  return result;
}

Run timed_run(double seconds, double p99) {
  Run run;
  run.workload = "command";
  run.outcome = Outcome::passed;
  run.metrics.push_back(metric_with("time", "s", Better::lower, seconds));
  run.metrics.push_back(metric_with("p99", "s", Better::lower, p99));
  return run;
}

/// A few per mille of noise, different for each run.
double jitter(int i) { return 1 + 0.002 * (((i * 7919) % 11) - 5) / 5; }

TEST(MatrixSpec, is_the_product_of_the_axes) {
  const auto spec = spec_of(kFile);
  ASSERT_EQ(spec.variants.size(), 4U);
  EXPECT_EQ(spec.variants[0].name, "precision=f32 batch=1");
  EXPECT_TRUE(spec.variants[0].baseline);
  EXPECT_EQ(spec.variants[3].command.run, (std::vector<std::string>{"prog", "--p", "bf16", "--b", "8"}));
  EXPECT_EQ(spec.name, "m");
}

TEST(MatrixSpec, takes_a_command_alone) {
  const auto spec = spec_of("command: prog {batch}\naxes: {batch: [1, 8]}\nbaseline: {batch: 1}\n");
  ASSERT_EQ(spec.variants.size(), 2U);
  EXPECT_EQ(spec.variants[1].command.run, (std::vector<std::string>{"prog", "8"}));
}

TEST(MatrixSpec, excludes_and_includes) {
  EXPECT_EQ(spec_of(kFile + "exclude: [{precision: bf16, batch: 1}]\n").variants.size(), 3U);
  const auto spec = spec_of(kFile + "product: false\ninclude: [{precision: bf16, batch: 8}]\n");
  ASSERT_EQ(spec.variants.size(), 2U);
  EXPECT_EQ(spec.variants[1].name, "precision=bf16 batch=8");
}

TEST(MatrixSpec, splices_lists_of_words_and_sets_variables) {
  const auto spec = spec_of(R"(
command: {run: '{launcher} prog {gpu}', env: {A: '1'}}
axes:
  launcher: [{host: []}, {box: [docker, run, 'an image']}]
  env.B: [x, y]
  gpu: [h100, l4]
baseline: {launcher: host, env.B: x, gpu: h100}
samples: 64
price_per_hour: {axis: gpu, h100: 4}
)");
  ASSERT_EQ(spec.variants.size(), 8U);
  EXPECT_EQ(spec.variants[0].command.run, (std::vector<std::string>{"prog", "h100"}));
  EXPECT_EQ(spec.variants[7].command.run, (std::vector<std::string>{"docker", "run", "an image", "prog", "l4"}));
  EXPECT_EQ(spec.variants[7].command.environment.back(), (std::pair<std::string, std::string>{"B", "y"}));
  EXPECT_EQ(spec.variants[0].samples, 64);
  EXPECT_EQ(spec.variants[0].price_per_hour, 4);
  EXPECT_EQ(spec.variants[7].price_per_hour, 0);
}

void expect_matrix_refused(const std::string& yaml, const std::string& part) {
  testing_support::expect_refused(parse_matrix_spec(yaml, "m.yaml"), part);
}

TEST(MatrixSpec, names_line_and_fix_of_what_is_wrong) {
  expect_matrix_refused("", "m.yaml line 1");
  expect_matrix_refused(kFile + "objectivs: [time]\n", "did you mean 'objectives'?");
  expect_matrix_refused(kFile + "objectives: [time, p9]\n",
                        "m.yaml line 5: the objective 'p9' is no metric of these runs");
  expect_matrix_refused(kFile + "objectives: throughput\n",
                        "metrics: time, peak_memory, gpu_energy");  // no samples, no rate
  expect_matrix_refused(kFile + "samples: 8\nobjectives: [throughput, cost]\n", "'cost' is no metric");  // no price
  expect_matrix_refused(kFile + "exclude: [{batch: 16}]\n", "one of: 1, 8");
  expect_matrix_refused(kFile + "exclude: [{bacth: 1}]\n", "did you mean 'batch'?");
  expect_matrix_refused(kFile + "exclude: [{precision: f32, batch: 1}]\n", "the baseline is excluded");
  expect_matrix_refused(kFile + "include: [{precision: bf16}]\n", "every axis");
  expect_matrix_refused(kFile + "rounds: 0\n", "m.yaml line 5");
  expect_matrix_refused(kFile + "price_per_hour: {axis: gpu}\n", "price_per_hour.axis");
  expect_matrix_refused(kFile + "samples: many\n", "samples");
  expect_matrix_refused("command: {run: prog}\naxes: {a: [1, 2]}\nbaseline: {a: 1}\n", "has no place for 'a=1'");
  expect_matrix_refused("command: {run: 'prog {a}'}\naxes: {a: [1, 1]}\nbaseline: {a: 1}\n", "twice");
  expect_matrix_refused("command: {run: 'prog {a}'}\naxes: {a: [1]}\nbaseline: {a: 1}\n",
                        "only the baseline, no variant");
  expect_matrix_refused("command: {run: 'x{a}'}\naxes: {a: [{l: [p, q]}, {m: []}]}\nbaseline: {a: l}\n", "no word {a}");
  expect_matrix_refused("command: {rum: prog}\naxes: {a: [1, 2]}\nbaseline: {a: 1}\n", "did you mean 'run'?");
}

std::string numbers_to(int end) {
  std::string text = "[0";
  for (int i = 1; i < end; ++i) text += ", " + std::to_string(i);
  return text + "]";
}

TEST(MatrixSpec, refuses_more_than_can_be_measured_before_it_makes_it) {
  const auto refused = [](const std::string& yaml, const std::string& part) {
    testing_support::expect_refused(parse_matrix_spec(yaml, "m.yaml"), part);
  };
  const std::string metrics = [] {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "{name: m" + std::to_string(i) + ", regex: x}, ";
    return "metrics: [" + text + "]";
  }();
  const std::string square =
      "\nbaseline: {a: 0, b: 0}\naxes: {a: " + numbers_to(300) + ", b: " + numbers_to(300) + "}\n";
  refused("command: {run: 'x {a} {b}', " + metrics + "}" + square, "more than 1000 variants are too many");
  refused("command: {run: 'x {a} {b}'}\nbaseline: {a: 0, b: 0}\naxes: {a: " + numbers_to(400) +
              ", b: " + numbers_to(400) + "}\n",
          "the axes have more than 100000 combinations");
  const std::string few = "\nbaseline: {a: 0, b: 0}\naxes: {a: " + numbers_to(30) + ", b: " + numbers_to(30) + "}\n";
  refused("command: {run: 'x {a} {b} " + std::string(100'000, 'x') + "'}" + few,
          "the commands of all variants take more than 67108864 bytes");
  std::string axes, words, baseline;
  for (int i = 0; i < 21; ++i) {
    const std::string name = "a" + std::to_string(i);
    axes += name + ": [1], ";
    baseline += name + ": 1, ";
    words += " {" + name + "}";
  }
  refused("command: {run: 'x" + words + "'}\naxes: {" + axes + "}\nbaseline: {" + baseline + "}\n",
          "21 axes are too many");
  std::string places;
  for (int i = 0; i < 20'000; ++i) places += "{a}";
  refused("command: {run: 'x " + places + "'}\naxes: {a: [0, " + std::string(1000, 'z') + "]}\nbaseline: {a: 0}\n",
          "with 'a' filled in the command is longer than 2097152 bytes");
}

TEST(MetricPercentile, is_taken_from_lists_and_from_all_lines_that_match) {
  ProcessOutput output;
  output.out = "took 3 ms\ntook 1 ms\nother 9\ntook 2 ms\n{}\n";
  MetricSpec metric{.name = "p50", .source = MetricSource::regex, .expression = "took ([0-9]+)", .percentile = 0.5};
  EXPECT_EQ(*read_metric(metric, output, ""), 2);
  metric.percentile = 0;  // without it the last line counts
  metric.expression = "(?:took|other) ([0-9]+)";
  EXPECT_EQ(*read_metric(metric, output, ""), 2);
  output.out = R"({"latencies": [5, 1, 2, 3, 4]})";
  metric = {.name = "p75", .source = MetricSource::json, .expression = "latencies", .percentile = 0.75};
  EXPECT_EQ(*read_metric(metric, output, ""), 4);

  expect_matrix_refused(
      "command: {run: 'p {a}', metrics: [{name: time, percentile: 99}]}\naxes: {a: [1, 2]}\nbaseline: {a: 1}\n",
      "percentile needs regex or json");
  expect_matrix_refused(
      "command: {run: 'p {a}', metrics: [{name: x, json: y, percentile: 100}]}\naxes: {a: [1, 2]}\nbaseline: {a: 1}\n",
      "between 0 and 100");
}

/// Runs variants of a matrix without any process.
struct World {
  std::vector<int> order;
  std::map<int, int> failing;  ///< variant -> how often it fails
  std::function<Result<Run>(std::size_t)> run = [this](std::size_t variant) -> Result<Run> {
    const int number = static_cast<int>(variant);
    order.push_back(number);
    if (failing[number]-- > 0) return data_error("exit code 7", "it said: no");
    const double seconds = (number + 1) * jitter(static_cast<int>(order.size()));
    return timed_run(seconds, seconds / 10);
  };
};

MatrixRuns ran(World& world, std::size_t variants, const MatrixOptions& options, std::vector<AbSample> known = {},
               const MatrixEvents& events = {}) {
  auto runs = run_matrix(variants, world.run, options, std::move(known), events);
  EXPECT_TRUE(runs.ok()) << runs.error().what;
  return runs.ok() ? std::move(*runs) : MatrixRuns{};
}

TEST(RunMatrix, runs_every_variant_once_a_round_in_changing_order) {
  World world;
  const auto runs = ran(world, 4, {.rounds = 6, .warmup_runs = 0});
  ASSERT_EQ(world.order.size(), 24U);
  std::set<std::vector<int>> orders;
  for (std::size_t round = 0; round < 6; ++round) {
    const std::vector<int> order(world.order.begin() + static_cast<std::ptrdiff_t>(4 * round),
                                 world.order.begin() + static_cast<std::ptrdiff_t>(4 * round + 4));
    EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 4U);
    orders.insert(order);
  }
  EXPECT_GE(orders.size(), 3U);
  EXPECT_TRUE(runs.complete);
}

TEST(RunMatrix, discards_warm_up_runs) {
  World world;
  EXPECT_EQ(ran(world, 3, {.rounds = 2, .warmup_runs = 1}).samples.size(), 6U);
  EXPECT_EQ(world.order.size(), 9U);
}

TEST(RunMatrix, gives_up_a_variant_that_failed_twice_and_goes_on) {
  World world;
  world.failing[1] = 100;
  const auto runs = ran(world, 3, {.rounds = 5, .warmup_runs = 0});
  EXPECT_EQ(std::count(world.order.begin(), world.order.end(), 1), kMostFailures);
  EXPECT_EQ(std::count(world.order.begin(), world.order.end(), 2), 5);
  EXPECT_TRUE(runs.complete);
}

TEST(RunMatrix, goes_on_after_any_number_of_known_runs_as_if_it_had_not_stopped) {
  World whole;
  whole.failing[2] = 100;
  const auto all = ran(whole, 4, {.rounds = 4, .warmup_runs = 0});
  for (std::size_t cut = 0; cut <= all.samples.size(); ++cut) {
    World rest;
    rest.failing[2] = 100;
    std::vector<AbSample> known(all.samples.begin(), all.samples.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto resumed = ran(rest, 4, {.rounds = 4, .warmup_runs = 0}, known);
    ASSERT_EQ(resumed.samples.size(), all.samples.size()) << cut;
    EXPECT_EQ(rest.order, std::vector<int>(whole.order.begin() + static_cast<std::ptrdiff_t>(cut), whole.order.end()));
    for (std::size_t i = 0; i < all.samples.size(); ++i) {
      EXPECT_EQ(resumed.samples[i].slot.variant, all.samples[i].slot.variant);
      EXPECT_EQ(resumed.samples[i].slot.round, all.samples[i].slot.round);
    }
  }
}

TEST(RunMatrix, refuses_runs_of_another_plan) {
  World world;
  auto all = ran(world, 3, {.rounds = 2, .warmup_runs = 0}).samples;
  all[0].slot.variant = (all[0].slot.variant + 1) % 3;
  EXPECT_FALSE(run_matrix(3, world.run, {.rounds = 2, .warmup_runs = 0}, all, {}).ok());
}

TEST(RunMatrix, ends_between_rounds_when_the_budget_is_used_up) {
  World world;
  double now = 0;
  const auto runs = ran(world, 3, {.rounds = 10, .warmup_runs = 0, .budget_s = 5}, {},
                        {.sample_done = {}, .progress = {}, .clock_s = [&] { return now += 1; }});
  EXPECT_FALSE(runs.complete);
  EXPECT_EQ(runs.samples.size() % 3, 0U);
  EXPECT_NE(runs.stopped_because.find("budget"), std::string::npos);
}

Matrix judged(const std::string& more, World& world, std::int64_t rounds = 8) {
  const auto spec = spec_of(kFile + more);
  const MatrixOptions options{.rounds = rounds, .warmup_runs = 0, .effect = spec.effect};
  const auto runs = ran(world, spec.variants.size(), options);
  auto matrix = judge_matrix(spec, runs.samples, options);
  EXPECT_TRUE(matrix.ok()) << matrix.error().what;
  if (!matrix.ok()) return {};
  matrix->stopped_because = runs.stopped_because;
  matrix->build.version = "0.1.0";
  EXPECT_EQ(schema_errors(to_json(*matrix), "matrix.schema.json"), "");
  return *matrix;
}

const MatrixCell* cell(const Matrix& matrix, std::size_t variant, const std::string& id) {
  for (std::size_t m = 0; m < matrix.metrics.size(); ++m) {
    if (matrix.metrics[m].id == id) return cell_of(matrix.variants[variant], m);
  }
  return nullptr;
}

TEST(JudgeMatrix, derives_throughput_and_cost_per_thousand_samples) {
  World world;
  const auto matrix = judged("samples: 100\nprice_per_hour: 3.6\ncurrency: EUR\n", world);
  // The baseline takes 1 s for 100 samples: 100 a second, and 1000 take 10 s at 0.001 EUR a second.
  EXPECT_NEAR(cell(matrix, 0, "throughput")->median, 100, 0.5);
  EXPECT_NEAR(cell(matrix, 0, "cost")->median, 0.01, 1e-4);
  EXPECT_NEAR(cell(matrix, 3, "throughput")->median, 25, 0.5);
  EXPECT_EQ(cell(matrix, 0, "energy"), nullptr);
}

TEST(JudgeMatrix, judges_each_variant_against_the_baseline) {
  World world;
  const auto matrix = judged("", world);
  EXPECT_FALSE(cell(matrix, 0, "time")->verdict.has_value());
  ASSERT_TRUE(cell(matrix, 1, "time")->verdict.has_value());
  EXPECT_EQ(cell(matrix, 1, "time")->verdict->verdict, Verdict::worse);
  EXPECT_NEAR(*cell(matrix, 1, "time")->verdict->ratio, 2, 0.01);
  EXPECT_GE(*cell(matrix, 1, "time")->verdict->adjusted_p, *cell(matrix, 1, "time")->verdict->p);
}

TEST(JudgeMatrix, reports_failures_and_compares_the_rounds_that_both_have) {
  World world;
  world.failing[1] = 1;
  world.failing[2] = 100;
  const auto matrix = judged("", world);
  EXPECT_EQ(matrix.variants[1].failures, 1);
  EXPECT_EQ(matrix.variants[1].runs, 7);
  EXPECT_EQ(cell(matrix, 1, "time")->verdict->a.size(), 7U);
  EXPECT_TRUE(matrix.variants[2].stopped_early);
  EXPECT_EQ(matrix.variants[2].reason, "exit code 7");
  EXPECT_TRUE(matrix.variants[2].cells.empty());
  EXPECT_FALSE(matrix.variants[2].on_front);
}

TEST(JudgeMatrix, refuses_an_objective_that_is_no_metric) {
  World world;
  auto spec = spec_of(kFile);
  spec.objectives = {"p9"};
  const MatrixOptions options{.rounds = 2, .warmup_runs = 0};
  const auto matrix = judge_matrix(spec, ran(world, 4, options).samples, options);
  ASSERT_FALSE(matrix.ok());
  EXPECT_NE(matrix.error().hint.find("did you mean 'p99'?"), std::string::npos);
}

TEST(ParetoFront, holds_what_no_other_beats) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(pareto_front({{1, 5}, {2, 3}, {3, 3}, {4, 1}, {nan, 0}}),
            (std::vector<bool>{true, true, false, true, false}));
  EXPECT_EQ(pareto_front({{1, 1}, {1, 1}}), (std::vector<bool>{true, true}));
}

TEST(Shuffled, is_a_permutation_that_depends_on_the_round_only) {
  const auto order = shuffled(10, 3, 7);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 10U);
  EXPECT_EQ(order, shuffled(10, 3, 7));
  EXPECT_NE(order, shuffled(10, 3, 8));
  EXPECT_EQ(shuffled(1, 3, 7), std::vector<int>{0});
}

}  // namespace
}  // namespace warpmark::validate
