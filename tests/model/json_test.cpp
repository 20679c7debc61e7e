#include "model/json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json.h"
#include "support/schema_check.h"

namespace warpmark {
namespace {

using testing_support::schema_errors;

Metric full_metric() {
  Metric metric{"time", "s", Better::lower, {0.1, 0.2, 1.0 / 3, 5e-324, 1.7976931348623157e308}, {2, 3}, {}};
  Summary& summary = metric.summary;
  summary.n = 5;
  summary.min = 5e-324;
  summary.max = 1.7976931348623157e308;
  summary.median = 0.2;
  summary.median_interval = Interval{0.1, 1.0 / 3, 0.9375};
  summary.mean = 0.1 + 0.2;
  summary.stdev = 1e-17;
  summary.mad = 0.1;
  summary.cv = 0.7;
  summary.autocorrelation = -0.25;
  summary.percentiles = {{0.9, 0.3, Interval{0.2, 0.4, 0.95}, ""}, {0.99, {}, {}, "needs 473 samples, there are 5"}};
  summary.outliers = {4};
  return metric;
}

Run full_run() {
  Run run;
  run.id = "s.0";
  run.index = 3;
  run.workload = "gemm";
  run.params.set("m", std::int64_t{9007199254740993});  // 2^53 + 1 is no double
  run.params.set("alpha", 2.0);
  run.params.set("dtype", std::string("bf16"));
  run.device = "cuda:0";
  run.mode = Mode::graph;
  run.outcome = Outcome::unreliable;
  run.reason = "the GPU was throttled";
  run.hint = "let it cool down";
  run.metrics = {full_metric()};
  run.cost = {2e9, 3e6, 123456789012345, "bf16", "h2d"};
  run.peak = Peak{Bound::compute, 0.873, 6.5e14, 2.4e11, 2730, "flop_rate bf16", ""};
  run.error = ErrorCheck{2.1e-7, 1e-5, "relative Frobenius norm", "fp64"};
  run.environment.readings = {{"temperature", "°C", 41, {}}, {"power", "W", {}, {}}};
  run.environment.disturbances = {{"throttle", "hw_slowdown", true}, {"other_load", "12 %", false}};
  run.warmup = {12, 0.25, true, "settled"};
  run.timing = {"cuda_event", 5e-7, 1.2e-6, 64, 4};
  run.stopped_because = "converged";
  run.converged = true;
  run.rounds = 2;
  run.seed = std::numeric_limits<std::uint64_t>::max();
  run.notes = {{"algorithm", "a"}, {"algorithm", "b"}};
  run.started = "2026-03-01T00:00:00Z";
  run.repro = "warpmark run gemm --set m=4";
  return run;
}

Session full_session() {
  Session session;
  session.id = "s";
  session.started = "2026-03-01T00:00:00Z";
  session.command = "warpmark run";
  session.commit = "abc";
  session.branch = "main";
  session.dirty = true;
  session.complete = true;
  DeviceInfo device{"cuda:0", "cuda", "H100",  "GPU-1",        80LL << 30, 50 << 20, {{2, "unified", 50 << 20, 132}},
                    132,      1.98e9, "sm_90", {{"ECC", "on"}}};
  session.machine = {"host", "Debian", "6.1", "Xeon", "kvm", 64LL << 30, {device}, {{"driver", "580"}}, "0123"};
  session.build = {"0.1.0", "abc", true, "GCC 12", "Release", {"cuda 13.0"}};
  session.ceilings = {{"bandwidth", "cuda:0", "memory", 3.1e12, "B/s", "copy"},
                      {"launch", "cuda:0", "", 2e-6, "s", ""}};
  session.runs = {full_run()};
  return session;
}

/// What reading and writing again gives.
std::string rewritten(const Session& session) {
  const auto again = session_from_json(parse_json(dump_json(to_json(session)), "test").value());
  EXPECT_TRUE(again.ok()) << again.error().what;
  return again.ok() ? dump_json(to_json(*again)) : "";
}

std::string error_of(const Json& json) {
  const auto session = session_from_json(json);
  return session.ok() ? "" : session.error().what;
}

TEST(SessionJson, comes_back_exactly) {
  const Session session = full_session();
  EXPECT_EQ(rewritten(session), dump_json(to_json(session)));
}

TEST(SessionJson, keeps_every_bit_of_numbers) {
  const auto run = run_from_json(parse_json(dump_json(to_json(full_run())), "test").value());
  ASSERT_TRUE(run.ok()) << run.error().what;
  EXPECT_EQ(run->metrics, std::vector<Metric>{full_metric()});
  EXPECT_EQ(run->params, full_run().params);
  EXPECT_EQ(run->seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(run->peak->share, 0.873);
  EXPECT_EQ(run->notes, full_run().notes);
  EXPECT_EQ(run->environment.readings[1].before, std::nullopt);
  EXPECT_EQ(run->timing.launches_per_sample, 64);
}

TEST(SessionJson, fits_its_schema) {
  EXPECT_EQ(schema_errors(to_json(full_session()), "results.schema.json"), "");
  Session empty;
  empty.id = "s";
  empty.started = "2026-03-01T00:00:00Z";
  empty.build.version = "0.1.0";
  EXPECT_EQ(schema_errors(to_json(empty), "results.schema.json"), "");
}

TEST(SessionJson, schema_refuses_what_is_wrong) {
  WM_NEEDS_SCHEMAS();
  const Json good = to_json(full_session());
  Json json = good;
  json["runs"][0]["metrics"][0].erase("unit");
  EXPECT_NE(schema_errors(json, "results.schema.json"), "");
  json = good;
  json["runs"][0]["outcome"] = "fine";
  EXPECT_NE(schema_errors(json, "results.schema.json"), "");
  json = good;
  json["runs"][0]["speed"] = 3;
  EXPECT_NE(schema_errors(json, "results.schema.json"), "");
  json = good;
  json["runs"][0].erase("reason");  // unreliable without a cause
  EXPECT_NE(schema_errors(json, "results.schema.json"), "");
  json = good;
  json["runs"][0]["metrics"][0].erase("ci_high");
  EXPECT_NE(schema_errors(json, "results.schema.json"), "");
}

TEST(RunJson, shows_no_speed_of_a_wrong_result) {
  warpmark::Run run = full_run();
  run.outcome = Outcome::failed;
  const Json json = to_json(run);
  EXPECT_TRUE(json["metrics"].empty());
  EXPECT_FALSE(json.contains("peak"));
  EXPECT_EQ(json["error"]["value"], 2.1e-7);
}

TEST(RunJson, leaves_out_what_is_absent) {
  warpmark::Run run;
  run.id = "s.0";
  run.workload = "copy";
  run.device = "cpu";
  run.outcome = Outcome::unsupported;
  run.reason = "no such library";
  const Json json = to_json(run);
  for (const char* key : {"hint", "cost", "peak", "error", "warmup", "timing", "stopped_because", "notes", "repro"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
  run.peak = Peak{Bound::unknown, 0, 0, 1e9, 0, "", "no ceiling was measured"};
  EXPECT_FALSE(to_json(run)["peak"].contains("percent"));
  EXPECT_FALSE(to_json(run)["peak"].contains("intensity"));
}

TEST(RunJson, reads_files_with_the_names_of_before) {
  warpmark::Run run = full_run();
  run.peak = Peak{Bound::memory, 0.5, 0, 1e9, 0, "L1 of 2 B/s", ""};
  Json json = to_json(run);
  json["outcome"] = "mistrusted";
  json["roof"] = json["peak"];
  json["roof"]["mistrusted"] = true;
  json.erase("peak");
  const auto read = run_from_json(json);
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(read->outcome, Outcome::unreliable);
  ASSERT_TRUE(read->peak.has_value());
  EXPECT_EQ(read->peak->share, 0.5);
  EXPECT_TRUE(read->peak->unreliable);
}

TEST(RunJson, writes_an_error_that_is_not_a_number_as_a_huge_one) {
  warpmark::Run run = full_run();
  run.error->value = std::nan("");
  EXPECT_EQ(to_json(run)["error"]["value"], 1e300);
}

TEST(RunJsonDeathTest, stops_at_a_sample_that_is_not_finite) {
  warpmark::Run run = full_run();
  run.metrics[0].samples[1] = std::numeric_limits<double>::infinity();
  EXPECT_DEATH((void)to_json(run), "isfinite");
}

TEST(SessionFromJson, names_the_place_of_an_error) {
  const Json good = to_json(full_session());
  Json json = good;
  json["runs"].push_back(good["runs"][0]);
  json["runs"][1]["metrics"][0].erase("unit");
  EXPECT_EQ(error_of(json), "runs[1].metrics[0].unit is missing");
  json = good;
  json["machine"]["devices"][0]["caches"][0]["bytes"] = "many";
  EXPECT_EQ(error_of(json), "machine.devices[0].caches[0].bytes must be a whole number that fits, not string \"many\"");
  json = good;
  json["runs"][0]["metrics"][0]["samples"][2] = nullptr;
  EXPECT_EQ(error_of(json), "runs[0].metrics[0].samples[2] must be a number");
  json = good;
  json["runs"][0]["mode"] = "warm";
  EXPECT_EQ(error_of(json), "runs[0].mode cannot be 'warm'");
  json = good;
  json["runs"][0]["seed"] = "12x";
  EXPECT_EQ(error_of(json), "runs[0].seed must be a 64-bit number as decimal text, not '12x'");
  json = good;
  json["runs"] = 3;
  EXPECT_EQ(error_of(json), "runs must be an array, not number");
  json = good;
  json["build"] = Json::array();
  EXPECT_EQ(error_of(json), "build must be an object, not array");
  EXPECT_EQ(error_of(Json(7)), "the document must be an object, not number");
}

TEST(SessionFromJson, refuses_another_schema) {
  Json json = to_json(full_session());
  json["schema"] = "warpmark.results/9";
  EXPECT_EQ(error_of(json), "the schema is 'warpmark.results/9', but this version reads warpmark.results/1");
}

TEST(SessionFromJson, ignores_unknown_keys_and_nulls) {
  Json json = to_json(full_session());
  json["runs"][0]["later"] = {{"a", 1}};
  json["runs"][0]["hint"] = nullptr;
  const auto session = session_from_json(json);
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_EQ(session->runs[0].hint, "");
}

TEST(SessionFromJson, never_crashes_on_a_changed_document) {
  // Every value of the document in turn replaced by values of other types: an error or a session, nothing else.
  const Json good = to_json(full_session());
  const Json flat = good.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& other :
         {Json(nullptr), Json(-1), Json(1e300), Json("x"), Json(true), Json::array({1}), Json{{"a", 1}}}) {
      Json json = good;
      json[Json::json_pointer(pointer)] = other;
      const auto session = session_from_json(json);
      EXPECT_TRUE(session.ok() || !session.error().what.empty()) << pointer;
    }
  }
}

TEST(DoctorJson, fits_its_schema) {
  const HealthCheck checks[] = {
      {"cpu_governor", "CPU frequency governor", HealthState::warning, "powersave on 8 of 8 CPUs", "clocks rise late",
       "cpupower frequency-set -g performance"},
      {"swap", "Swap", HealthState::good, "none in use", "", ""}};
  const Json json = doctor_json(full_session().machine, checks);
  EXPECT_EQ(schema_errors(json, "doctor.schema.json"), "");
  EXPECT_EQ(json["checks"][0]["state"], "warning");
  EXPECT_FALSE(json["checks"][1].contains("fix"));
  WM_NEEDS_SCHEMAS();
  Json wrong = json;
  wrong["checks"][0]["state"] = "meh";
  EXPECT_NE(schema_errors(wrong, "doctor.schema.json"), "");
}

}  // namespace
}  // namespace warpmark
