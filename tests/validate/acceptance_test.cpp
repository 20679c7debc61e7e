// Criteria files, and what they make of results that are made up here.
#include "validate/accept/acceptance.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "stats/summary.h"
#include "support/expect_refused.h"
#include "support/schema_check.h"

namespace warpmark::validate {
namespace {

using testing_support::schema_errors;

Metric metric(const char* id, const char* unit, std::vector<double> samples, int rounds = 1) {
  Metric result{.id = id, .unit = unit, .better = Better::higher, .samples = std::move(samples)};
  const auto each = static_cast<std::int64_t>(result.samples.size()) / rounds;
  result.round_sizes.assign(static_cast<std::size_t>(rounds), each);
  result.summary = stats::summarize(result.samples);
  return result;
}

/// Around the value, a per mille apart.
std::vector<double> around(double value, int n = 40) {
  std::vector<double> samples;
  for (int i = 0; i < n; ++i) samples.push_back(value * (1 + 0.001 * ((i % 9) - 4)));
  return samples;
}

Run copy_run(double bandwidth) {
  Run run;
  run.workload = "copy";
  run.params.set("size", std::int64_t{67108864});
  run.device = "cuda:0";
  run.mode = Mode::cold;
  run.outcome = Outcome::passed;
  run.metrics.push_back(metric("time", "s", around(1 / bandwidth)));
  run.metrics.push_back(metric("bandwidth", "B/s", around(bandwidth)));
  run.repro = "warpmark run copy";
  return run;
}

Session session_with(std::vector<Run> runs) {
  Session session;
  session.id = "20260301-000000-0000";
  session.complete = true;
  session.machine.hostname = "node1";
  session.machine.fingerprint = "0123456789abcdef";
  session.machine.kernel = "6.1.0-18-amd64";
  session.machine.software = {{"NVIDIA driver", "550.54.15"}};
  session.machine.memory_bytes = std::int64_t{64} << 30;
  DeviceInfo gpu;
  gpu.id = "cuda:0";
  gpu.backend = "cuda";
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.uuid = "GPU-1";
  gpu.memory_bytes = 85'000'000'000;
  session.machine.devices.push_back(gpu);
  session.runs = std::move(runs);
  return session;
}

Acceptance judged(const std::string& rows, const Session& session, std::vector<Fact> more = {}) {
  const auto criteria = parse_criteria("criteria:\n" + rows, "c.yaml");
  EXPECT_TRUE(criteria.ok()) << criteria.error().what;
  const auto sheets = device::built_in_datasheets();
  AcceptanceInput input{.session = &session,
                        .no_session = {},
                        .machine = session.machine,
                        .facts = facts_of(session.machine),
                        .no_facts = {},
                        .datasheets = sheets};
  for (auto& fact : more) input.facts.push_back(std::move(fact));
  auto result = judge_acceptance(*criteria, input);
  EXPECT_TRUE(result.ok()) << result.error().what;
  result->criteria_sha256 = std::string(64, '0');
  result->build.version = "0.1.0";
  EXPECT_EQ(schema_errors(to_json(*result), "acceptance.schema.json"), "");
  return *result;
}

AcceptanceRow only_row(const Acceptance& acceptance) {
  EXPECT_EQ(acceptance.rows.size(), 1U);
  return acceptance.rows.empty() ? AcceptanceRow{} : acceptance.rows.front();
}

std::string bandwidth_row(const std::string& limit) {
  return "  - {workload: copy, device: cuda, set: {size: 64MiB, mode: cold}, metric: bandwidth, " + limit + "}\n";
}

TEST(Decide, needs_the_whole_interval_on_one_side) {
  const Interval narrow{9, 11, 0.95};
  const double eight = 8, ten = 10, twelve = 12;
  EXPECT_EQ(decide(10, narrow, Comparator::at_least, {&eight, 1}), RowState::pass);
  EXPECT_EQ(decide(10, narrow, Comparator::at_least, {&ten, 1}), RowState::undecided);
  EXPECT_EQ(decide(10, narrow, Comparator::at_least, {&twelve, 1}), RowState::fail);
  EXPECT_EQ(decide(10, narrow, Comparator::at_most, {&eight, 1}), RowState::fail);
  EXPECT_EQ(decide(10, narrow, Comparator::at_most, {&twelve, 1}), RowState::pass);
  const double between[] = {9, 11}, inside[] = {9.5, 10.5}, auxiliary[] = {11.5, 12};
  EXPECT_EQ(decide(10, narrow, Comparator::between, between), RowState::pass);
  EXPECT_EQ(decide(10, narrow, Comparator::between, inside), RowState::undecided);
  EXPECT_EQ(decide(10, narrow, Comparator::between, auxiliary), RowState::fail);
  EXPECT_EQ(decide(10, std::nullopt, Comparator::at_least, {&eight, 1}), RowState::undecided);
}

TEST(Acceptance, compares_a_metric_with_an_absolute_limit) {
  const auto session = session_with({copy_run(3e12)});
  EXPECT_EQ(only_row(judged(bandwidth_row("operator: '>=', value: 2.9 TB/s"), session)).state, RowState::pass);
  EXPECT_EQ(only_row(judged(bandwidth_row("operator: '>=', value: 3.1 TB/s"), session)).state, RowState::fail);
  const auto row = only_row(judged(bandwidth_row("operator: '>=', value: 3 TB/s"), session));
  EXPECT_EQ(row.state, RowState::undecided);
  EXPECT_NE(row.reason.find("both sides"), std::string::npos);
}

TEST(Acceptance, takes_a_share_of_the_datasheet_that_fits_the_device) {
  const auto session = session_with({copy_run(3e12)});
  const auto result = judged(bandwidth_row("operator: '>=', value: 85%, of: datasheet"), session);
  const auto row = only_row(result);
  EXPECT_EQ(row.state, RowState::pass);
  EXPECT_DOUBLE_EQ(row.limits.at(0), 0.85 * 3350e9);
  ASSERT_EQ(result.datasheets.size(), 1U);
  EXPECT_EQ(result.datasheets[0].id, "h100-sxm");
  EXPECT_FALSE(result.datasheets[0].sources.empty());
  EXPECT_EQ(only_row(judged(bandwidth_row("operator: '>=', value: 95%, of: datasheet"), session)).state,
            RowState::fail);
}

TEST(Acceptance, says_so_where_no_datasheet_fits) {
  auto session = session_with({copy_run(3e12)});
  session.machine.devices[0].name = "Some Other GPU";
  const auto row = only_row(judged(bandwidth_row("operator: '>=', value: 85%, of: datasheet"), session));
  EXPECT_EQ(row.state, RowState::not_measurable);
  EXPECT_NE(row.reason.find("Some Other GPU"), std::string::npos);
}

TEST(Acceptance, takes_a_share_of_the_measured_peak) {
  auto run = copy_run(3e12);
  run.peak = Peak{.bound = Bound::memory, .share = 0.8, .ceiling = "memory bandwidth of 3.75e12 B/s (read)"};
  const std::string row = "  - {workload: copy, operator: '>=', value: 70%, of: peak}\n";
  EXPECT_EQ(only_row(judged(row, session_with({run}))).state, RowState::pass);
  const std::string strict = "  - {workload: copy, operator: '>=', value: 90%, of: peak}\n";
  EXPECT_EQ(only_row(judged(strict, session_with({run}))).state, RowState::fail);
  // With an unknown limit the share is a lower bound: it cannot fail, only pass.
  run.peak->reason = "no flop_rate of f32 was measured in this session";
  EXPECT_EQ(only_row(judged(row, session_with({run}))).state, RowState::pass);
  EXPECT_EQ(only_row(judged(strict, session_with({run}))).state, RowState::not_measurable);
}

TEST(Acceptance, does_not_pass_what_is_unreliable_wrong_or_missing) {
  auto disturbed = copy_run(3e12);
  disturbed.outcome = Outcome::unreliable;
  disturbed.reason = "others used 40 % of the CPUs";
  const std::string row = bandwidth_row("operator: '>=', value: 1 TB/s");
  EXPECT_EQ(overall(judged(row, session_with({disturbed}))), RowState::unreliable);

  auto without_peak = disturbed;
  without_peak.peak.reset();
  EXPECT_EQ(
      overall(judged("  - {workload: copy, operator: '>=', value: 70%, of: peak}\n", session_with({without_peak}))),
      RowState::unreliable)
      << "of a session that was disturbed throughout no peak is known";

  auto wrong = copy_run(3e12);
  wrong.outcome = Outcome::failed;
  wrong.reason = "wrong output";
  wrong.metrics.clear();
  EXPECT_EQ(overall(judged(row, session_with({wrong}))), RowState::fail);

  const auto none = judged(row, session_with({}));
  EXPECT_EQ(overall(none), RowState::not_measurable);
  EXPECT_FALSE(only_row(none).reason.empty());
}

TEST(Acceptance, selects_by_parameters_mode_and_device) {
  auto hot = copy_run(9e12);
  hot.mode = Mode::hot;
  auto small = copy_run(8e12);
  small.params = {};
  small.params.set("size", std::int64_t{4096});
  auto other = copy_run(2e12);
  other.device = "cpu";
  const auto result =
      judged(bandwidth_row("operator: '>=', value: 1 TB/s"), session_with({hot, small, other, copy_run(3e12)}));
  EXPECT_NEAR(*only_row(result).value, 3e12, 1e10);
}

TEST(Acceptance, judges_every_device_that_was_measured) {
  auto second = copy_run(1e12);
  second.device = "cuda:1";
  const auto result = judged(bandwidth_row("operator: '>=', value: 2 TB/s"), session_with({copy_run(3e12), second}));
  ASSERT_EQ(result.rows.size(), 2U);
  EXPECT_EQ(result.rows[0].state, RowState::pass);
  EXPECT_EQ(result.rows[1].state, RowState::fail);
  EXPECT_EQ(result.rows[1].device, "cuda:1");
}

TEST(Acceptance, lets_optional_rows_decide_nothing) {
  const auto session = session_with({});
  const std::string pass = "  - {fact: host_memory, operator: '>=', value: 1 GiB}\n";
  EXPECT_EQ(overall(judged(pass + "  - {fact: ecc, operator: '==', value: 'on', required: false}\n", session)),
            RowState::pass);
  EXPECT_EQ(overall(judged(pass + "  - {fact: ecc, operator: '==', value: 'on'}\n", session)),
            RowState::not_measurable);
  EXPECT_EQ(overall(judged(pass + "  - {fact: ecc, operator: '==', value: 'on', required: false}\n", session,
                           {{.id = "ecc", .device = "cuda:0", .number = {}, .text = "off", .reason = {}}})),
            RowState::pass);
  EXPECT_EQ(overall(judged(pass + "  - {fact: ecc, operator: '==', value: 'on'}\n", session,
                           {{.id = "ecc", .device = "cuda:0", .number = {}, .text = "off", .reason = {}}})),
            RowState::fail);
  EXPECT_EQ(overall(judged("  - {fact: host_memory, operator: '>=', value: 1 GiB, required: false}\n", session)),
            RowState::not_measurable);
}

TEST(Acceptance, compares_versions_part_by_part) {
  const auto session = session_with({});
  const auto state = [&](const char* op, const char* version) {
    return overall(
        judged(std::string("  - {fact: driver_version, operator: '") + op + "', value: '" + version + "'}\n", session));
  };
  EXPECT_EQ(state(">=", "535.161"), RowState::pass);
  EXPECT_EQ(state(">=", "550.54.2"), RowState::pass);
  EXPECT_EQ(state(">=", "550.100"), RowState::fail);
  EXPECT_EQ(state("<=", "550.54.15"), RowState::pass);
  EXPECT_EQ(compare_versions("6.1.0-18-amd64", "6.1"), 0);
  EXPECT_EQ(compare_versions("10", "9.9"), 1);
}

TEST(Acceptance, widens_the_interval_by_what_rounds_differ) {
  std::vector<double> samples;
  for (const double level : {100.0, 104.0, 108.0}) {
    for (const double value : around(level, 20)) samples.push_back(value);
  }
  const auto of_rounds = metric("bandwidth", "B/s", samples, 3);
  const auto interval = interval_over_rounds(of_rounds);
  ASSERT_TRUE(interval.has_value());
  // Three rounds 4 % apart: t(2 df) 4.303 * 3.85 % / sqrt(3) is 9.6 % to each side.
  EXPECT_LT(interval->low, 95.5);
  EXPECT_GT(interval->high, 113);
  EXPECT_EQ(interval_over_rounds(metric("bandwidth", "B/s", samples, 1)), of_rounds.summary.median_interval);
}

TEST(Facts, of_a_gpu_carry_the_name_that_cuda_gives_it) {
  const auto machine = session_with({}).machine;
  device::HealthFacts health;
  device::GpuHealth gpu;
  gpu.facts.index = 3;
  gpu.facts.uuid = "GPU-1";
  gpu.facts.ecc_enabled = true;
  gpu.facts.pcie_width = 8;
  gpu.facts.power_limit_w = 500;
  gpu.now.sensors.push_back({"ecc_uncorrected", "1", 2});
  health.gpus.push_back(gpu);
  gpu.facts.uuid = "GPU-unknown-to-cuda";
  health.gpus.push_back(gpu);
  health.gpu_links.push_back({.a = 0, .b = 1, .nvlink = true, .path = "NVLink"});
  const auto facts = facts_of(health, machine);
  const auto find = [&](const std::string& id, const std::string& device) {
    const auto found = std::find_if(facts.begin(), facts.end(),
                                    [&](const Fact& fact) { return fact.id == id && fact.device == device; });
    return found == facts.end() ? Fact{} : *found;
  };
  EXPECT_EQ(find("ecc", "cuda:0").text, "on");
  EXPECT_EQ(find("pcie_width", "cuda:0").number, 8);
  EXPECT_EQ(find("ecc_uncorrected", "cuda:0").number, 2);
  EXPECT_EQ(find("ecc", "gpu3").text, "on");
  EXPECT_FALSE(find("persistence", "cuda:0").reason.empty());
  EXPECT_EQ(find("nvlink_pairs", "").number, 1);
  for (const auto& fact : facts) EXPECT_NE(find_fact_kind(fact.id), nullptr) << fact.id;

  const auto result = judged(
      "  - {fact: pcie_width, device: cuda, operator: '>=', value: 16}\n"
      "  - {fact: power_limit, device: 'cuda:0', operator: '>=', value: 98%, of: datasheet}\n",
      session_with({}), facts);
  ASSERT_EQ(result.rows.size(), 3U);  // two GPUs, and the one with a datasheet
  EXPECT_EQ(result.rows[0].state, RowState::fail);
  EXPECT_EQ(result.rows[2].state, RowState::fail);
  EXPECT_DOUBLE_EQ(result.rows[2].limits.at(0), 0.98 * 700);
}

TEST(Criteria, that_come_along_are_valid) {
  for (const auto& name : built_in_criteria_names()) {
    const auto file = load_criteria(name);
    ASSERT_TRUE(file.ok());
    const auto criteria = parse_criteria(file->text, file->name);
    ASSERT_TRUE(criteria.ok()) << criteria.error().what;
    EXPECT_EQ(criteria->name, name);
    EXPECT_FALSE(!criteria->datasheet.empty() &&
                 device::find_datasheet(device::built_in_datasheets(), criteria->datasheet) == nullptr);
  }
}

TEST(Datasheets, are_complete_and_have_sources) {
  const auto sheets = device::built_in_datasheets();
  EXPECT_GE(sheets.size(), 15U);
  for (const auto& sheet : sheets) {
    EXPECT_FALSE(sheet.sources.empty()) << sheet.id;
    EXPECT_TRUE(sheet.pcie_bandwidth > 0 || sheet.id.starts_with("gb")) << sheet.id;  // which have NVLink-C2C instead
    // Dense rates: tensor cores do f16 at twice the rate of tf32, and no table mixes in sparse figures.
    if (sheet.peak_rate.contains("tf32") && sheet.peak_rate.contains("f16")) {
      EXPECT_NEAR(sheet.peak_rate.at("f16") / sheet.peak_rate.at("tf32"), 2, 0.03) << sheet.id;
    }
    for (const auto& device : sheet.devices) EXPECT_EQ(device::datasheet_of_device(sheets, device)->id, sheet.id);
  }
}

void expect_refused(const std::string& yaml, const std::string& part) {
  testing_support::expect_refused(parse_criteria(yaml, "c.yaml"), part);
}

TEST(Criteria, names_line_and_fix_of_what_is_wrong) {
  const std::string head = "criteria:\n  - ";
  expect_refused("", "c.yaml line 1");
  expect_refused("criteria: []\n", "list of criteria");
  expect_refused(head + "{fact: ecc, operator: '==', valeu: on}\n", "did you mean 'value'?");
  expect_refused(head + "{fact: eec, operator: '==', value: on}\n", "did you mean 'ecc'?");
  expect_refused(head + "{fact: ecc, operator: '>=', value: on}\n", "operator: '=='");
  expect_refused(head + "{fact: host_memory, operator: '>=', value: 3 GB/s}\n", "c.yaml line 2: value");
  expect_refused(head + "{workload: copy, metric: bandwith, operator: '>=', value: 3 GB/s}\n", "'bandwidth'");
  expect_refused(head + "{workload: copy, metric: bandwidth, operator: '>=', value: 3}\n", "has no unit");
  expect_refused(head + "{workload: copy, metric: bandwidth, operator: '==', value: 3 GB/s}\n", "use between");
  expect_refused(head + "{workload: copy, metric: bandwidth, operator: between, value: 3 GB/s}\n", "two values");
  expect_refused(head + "{workload: copy, metric: bandwidth, operator: between, value: [3 GB/s, 2 GB/s]}\n", "above");
  expect_refused(head + "{workload: copy, metric: time, operator: '<=', value: 50%, of: peak}\n", "leave out metric");
  expect_refused(head + "{operator: '<=', value: 3}\n", "a workload or a fact");
  expect_refused("schema: warpmark.criteria/9\n" + head + "{}\n", "warpmark.criteria/1");
  expect_refused("criteria: [\n", "c.yaml line");
}

}  // namespace
}  // namespace warpmark::validate
