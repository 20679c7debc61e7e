#include "workloads/plan.h"

#include <gtest/gtest.h>

namespace warpmark::workloads {
namespace {

using measure::Workload;

constexpr ParamSpec kParams[] = {{"n", ParamKind::integer, "4", "count"},
                                 {"dtype", ParamKind::text, "f32", "type", "f32|f64"}};

Result<Cost> cost(const Workload&, const Params& params) {
  if (params.integer("n") == 0) return usage_error("n is 0", "give n of at least 1");
  Cost cost;
  cost.flops = 1;
  cost.flop_type = params.has("dtype") ? params.text("dtype") : "f32";
  return cost;
}
device::Support supports(const Workload&, const DeviceInfo&, const Params&) { return device::Support::yes(); }
Result<std::unique_ptr<measure::Prepared>> prepare(const Workload&, const measure::PrepareOptions&) {
  return internal_error("not part of these tests");
}
std::vector<Overrides> cases(const Workload&, const DeviceInfo& device) {
  if (device.backend == "cuda") return {};
  return {{{"n", "1"}}, {{"n", "2"}}};
}

constexpr Workload kAdd{.id = "add",
                        .summary = "",
                        .params = kParams,
                        .cost = cost,
                        .supports = supports,
                        .prepare = prepare,
                        .cases = cases,
                        .default_mode = Mode::hot};
constexpr Workload kAdder{.id = "adder",
                          .summary = "",
                          .params = std::span(kParams).first(1),
                          .cost = cost,
                          .supports = supports,
                          .prepare = prepare,
                          .cases = cases,
                          .default_mode = Mode::cold};
constexpr const Workload* kCatalog[] = {&kAdd, &kAdder};

std::vector<DeviceInfo> devices() {
  DeviceInfo cpu, gpu;
  cpu.id = cpu.backend = "cpu";
  gpu.id = "cuda:0";
  gpu.backend = "cuda";
  return {cpu, gpu};
}

SuiteEntry entry(std::string workload, Overrides set = {}, Sweep sweep = {}) {
  SuiteEntry made;
  made.workload = std::move(workload);
  made.set = std::move(set);
  made.sweep = std::move(sweep);
  return made;
}

std::vector<std::string> described(const std::vector<PlannedCase>& plan) {
  std::vector<std::string> lines;
  for (const auto& planned : plan) {
    lines.push_back(planned.what.device + " " + planned.what.workload->id + " " + to_text(planned.what.params));
  }
  return lines;
}

TEST(Plan, takes_default_cases_and_leaves_out_parameters_that_a_workload_lacks) {
  const auto plan = make_plan(kCatalog, {entry("add*", {{"dtype", "f64"}})}, devices());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(described(*plan), (std::vector<std::string>{"cpu add n=1 dtype=f64", "cpu add n=2 dtype=f64",
                                                        "cpu adder n=1", "cpu adder n=2"}));
}

TEST(Plan, applies_overrides_and_drops_equal_cases) {
  const auto plan = make_plan(kCatalog, {entry("add", {{"n", "7"}})}, {devices()[0]});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(described(*plan), (std::vector<std::string>{"cpu add n=7 dtype=f32"}));
  EXPECT_EQ(plan->at(0).what.mode, Mode::hot);
}

TEST(Plan, multiplies_sweeps_the_last_fastest) {
  const auto plan =
      make_plan(kCatalog, {entry("add", {}, {{"n", {"1", "2"}}, {"dtype", {"f32", "f64"}}})}, {devices()[0]});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(described(*plan), (std::vector<std::string>{"cpu add n=1 dtype=f32", "cpu add n=1 dtype=f64",
                                                        "cpu add n=2 dtype=f32", "cpu add n=2 dtype=f64"}));
}

TEST(Plan, doubles_a_batch_until_memory_is_used_up) {
  static constexpr ParamSpec kBatch[] = {{"batch", ParamKind::integer, "4", "samples"}};
  constexpr Workload kModel{
      .id = "model",
      .summary = "",
      .params = kBatch,
      .cost = [](const Workload&, const Params&) -> Result<Cost> { return Cost{}; },
      .supports = supports,
      .prepare = nullptr,
      .cases = [](const Workload&, const DeviceInfo&) { return std::vector<Overrides>{{}}; },
      .default_mode = Mode::hot,
      .measure = [](const measure::Case&, device::Device&, const measure::RoundOptions&, warpmark::Run&) -> Status {
        return internal_error("not part of these tests");
      }};
  const Workload* catalog[] = {&kModel};
  const auto plan = make_plan(catalog, {entry("model", {}, {{"batch", {"auto"}}})}, {devices().front()});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->size(), 21U);
  for (std::size_t i = 0; i < plan->size(); ++i) {
    EXPECT_EQ((*plan)[i].what.params.integer("batch"), std::int64_t{1} << i);
    EXPECT_TRUE((*plan)[i].until_memory);
  }
}

TEST(Plan, measures_the_link_where_lookups_cross_it) {
  static constexpr ParamSpec kSize[] = {{"size", ParamKind::bytes, "1MiB", "bytes"}};
  const auto named = [](const char* id) {
    Workload workload = kAdd;
    workload.id = id;
    workload.params = kSize;
    workload.cost = [](const Workload&, const Params&) -> Result<Cost> { return Cost{}; };
    return workload;
  };
  const Workload transfer = named("transfer"), lookups = named("embedding_cache");
  const Workload* catalog[] = {&transfer, &lookups};
  auto plan = make_plan(catalog, {entry("embedding_cache")}, devices());
  ASSERT_TRUE(plan.ok());
  add_ceiling_cases(*plan, catalog, {devices()[1]});
  ASSERT_FALSE(plan->empty());
  EXPECT_EQ(described(*plan).front(), "cuda:0 transfer size=268435456");
  EXPECT_TRUE(plan->front().for_ceiling);
  const auto cases_before = plan->size();
  add_ceiling_cases(*plan, catalog, devices());  // it is there, and a CPU has no link
  EXPECT_EQ(plan->size(), cases_before);
}

TEST(Plan, keeps_a_case_that_makes_no_sense_with_its_reason) {
  const auto plan = make_plan(kCatalog, {entry("add", {}, {{"n", {"0", "3", "x"}}})}, {devices()[0]});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->size(), 3U);
  EXPECT_EQ(plan->at(0).invalid->what, "n is 0");
  EXPECT_FALSE(plan->at(1).invalid.has_value());
  EXPECT_EQ(plan->at(2).invalid->what, "n: 'x' is not a whole number");
}

TEST(Plan, shows_why_a_named_workload_does_not_run_on_a_device_but_not_a_globbed_one) {
  EXPECT_EQ(make_plan(kCatalog, {entry("add")}, {devices()[1]})->size(), 1U);
  EXPECT_EQ(make_plan(kCatalog, {entry("add?*", {{"n", "1"}})}, {devices()[1]})->size(), 0U);
}

TEST(Plan, refuses_unknown_workloads_and_parameters_with_a_suggestion) {
  const auto workload = make_plan(kCatalog, {entry("ad")}, devices());
  ASSERT_FALSE(workload.ok());
  EXPECT_NE(workload.error().hint.find("did you mean 'add'?"), std::string::npos);
  const auto parameter = make_plan(kCatalog, {entry("add", {{"dtyp", "f32"}})}, devices());
  ASSERT_FALSE(parameter.ok());
  EXPECT_EQ(parameter.error().what, "add has no parameter 'dtyp'");
}

}  // namespace
}  // namespace warpmark::workloads
