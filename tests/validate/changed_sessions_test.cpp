// Looking through many sessions without checking each: what a check calls different is never left out.
#include "validate/guard/sessions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/json/json.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "support/memory_store.h"

namespace warpmark::validate {
namespace {

/// Values of a case in a session: the second case gets slower from session 20 on, the third is noisy.
double value_of(int number, int index) {
  const double random =
      static_cast<double>(stats::random_bits(7, static_cast<std::uint64_t>(number * 10 + index)) % 1000) / 1000;
  const double level = index == 1 && number >= 20 ? 1.2 : 1;
  return level * (1 + (index == 2 ? 0.4 : 0.005) * random);
}

Session session_of(int number, const std::string& branch = "main") {
  Session session;
  session.id = fmt::format("s{:03}{}", number, branch == "main" ? "" : branch);
  session.started = fmt::format("2026-01-{:02}T{:02}:00:00Z", 1 + number / 24, number % 24);
  session.branch = branch;
  session.commit = number % 7 == 3 ? "measured again" : session.id;
  session.dirty = number % 11 == 5;
  session.complete = true;
  session.machine = {
      .hostname = "node", .kernel = "6.1", .cpu = "Xeon", .fingerprint = number % 2 == 0 ? "even" : "odd"};
  session.machine.devices.push_back({.id = "cpu", .backend = "cpu", .name = "Xeon", .compute_units = 8});
  for (int index = 0; index < 3; ++index) {
    if (index == 0 && number % 9 == 4) continue;
    Run run;
    run.index = index;
    run.id = fmt::format("{}.{}", session.id, index);
    run.workload = fmt::format("case{}", index);
    run.device = "cpu";
    run.outcome = number == 30 && index == 0 ? Outcome::failed : Outcome::passed;
    run.environment.readings = {{"other_load", "1", std::nullopt, number == 41 ? 0.9 : 0.01}};
    Metric time{.id = "time", .unit = "s", .better = Better::lower};
    time.samples.assign(5, value_of(number, index));
    time.round_sizes.assign(5, 1);
    time.summary = stats::summarize(time.samples);
    Metric rate = time;
    rate.id = "rate";
    rate.better = Better::higher;
    for (double& sample : rate.samples) sample = 1 / sample;
    rate.summary = stats::summarize(rate.samples);
    run.metrics = {time, rate};
    session.runs.push_back(std::move(run));
  }
  return session;
}

class ManySessions : public testing::Test {
 protected:
  void SetUp() override {
    for (int number = 0; number < 60; ++number) keep(session_of(number));
    keep(session_of(45, "feature"));
    kept_ = KeptPoints::read(*store_, 1'000'000).value();
  }
  void keep(const Session& session) {
    ASSERT_TRUE(store_->begin(session).ok());
    ASSERT_TRUE(store_->append_runs(session.id, session.runs).ok());
    ASSERT_TRUE(store_->finish(session.id, {}).ok());
    ids_.insert(session.id);
  }
  [[nodiscard]] Result<Check> check(const std::string& id, const CheckRequest& request) const {
    return validate::check(request, *store_, {store_->load(id)->session});
  }

  std::unique_ptr<store::Store> store_ = store::make_memory_store();
  std::set<std::string> ids_;
  KeptPoints kept_;
};

TEST_F(ManySessions, are_left_out_where_a_check_finds_no_difference) {
  for (const char* metrics : {"", "time"}) {
    const CheckRequest request{.metrics = metrics, .kept = &kept_};
    const auto found = changed_sessions(ids_, request);
    std::set<std::string> different;
    for (const auto& id : ids_) {
      const auto checked = check(id, request);
      if (!checked.ok()) {  // the first of its machine
        EXPECT_FALSE(found.contains(id)) << checked.error().what;
        continue;
      }
      for (const auto& metric : checked->metrics) {
        if (metric.verdict == Verdict::worse || metric.verdict == Verdict::better) different.insert(id);
      }
    }
    EXPECT_TRUE(different.contains("s020") && different.contains("s021")) << "one of each machine";
    EXPECT_TRUE(std::includes(found.begin(), found.end(), different.begin(), different.end()));
    EXPECT_LE(found.size(), different.size() + 2) << "few are checked in vain";
  }
}

TEST_F(ManySessions, are_checked_alike_from_points_that_were_read_before) {
  for (const auto& id : ids_) {
    const auto from_kept = check(id, {.kept = &kept_}), from_store = check(id, {});
    ASSERT_EQ(from_kept.ok(), from_store.ok()) << id;
    if (!from_kept.ok()) continue;
    ASSERT_EQ(from_kept->metrics.size(), from_store->metrics.size()) << id;
    for (std::size_t i = 0; i < from_kept->metrics.size(); ++i) {
      const auto &one = from_kept->metrics[i], &other = from_store->metrics[i];
      EXPECT_EQ(one.baseline.size(), other.baseline.size()) << id << one.label;
      EXPECT_EQ(one.ratio, other.ratio) << id << one.label;
      EXPECT_EQ(one.p, other.p) << id << one.label;
      const bool environment = other.verdict == Verdict::unreliable;  // looked at for differences only
      if (!environment) {
        EXPECT_EQ(one.verdict, other.verdict) << id << one.label;
      }
    }
  }
}

}  // namespace
}  // namespace warpmark::validate
