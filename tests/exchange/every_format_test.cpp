// Import, export, import: for every format, what the second import has is what the first had.
// `tests/data/exchange/full` has one file of each format that is read, with every kind of field that its tool writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/json.h"
#include "model/json/json.h"
#include "read_files.h"
#include "report/results/labels.h"

namespace warpmark::exchange {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two formats look alike, so that their files name them.
ImportOptions options_for(const std::string& format) {
  const bool alike = format.starts_with("custom");
  return {.format = alike ? format : "", .fallback_started = "2026-03-01T00:00:00Z"};
}

/// By format.
std::map<std::string, std::string> full_files() {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kData + "full")) {
    files[entry.path().stem()] = bytes_of("full/" + entry.path().filename().string());
  }
  files["customBiggerIsBetter"] = files["customSmallerIsBetter"];
  files["warpmark"] = written("warpmark", read_one(files["google-benchmark"])).text;
  return files;
}

std::vector<Session> imported(const std::string& text, const std::string& format) {
  const auto sessions = read_text(text, options_for(format));
  EXPECT_TRUE(sessions.ok()) << format << ": " << (sessions.ok() ? "" : sessions.error().what);
  return sessions.ok() ? *sessions : std::vector<Session>{};
}

/// Everything but what follows from which tool's file it was.
Json facts_of(const Session& session) {
  Json json = to_json(session);
  for (const char* key : {"id", "command", "build"}) json.erase(key);
  json["machine"].erase("fingerprint");
  for (Json& run : json["runs"]) {
    run.erase("id");
    std::erase_if(run["notes"].get_ref<Json::array_t&>(),
                  [](const Json& note) { return note["name"] == "measured by"; });
    std::sort(run["notes"].begin(), run["notes"].end());
    for (Json& metric : run["metrics"]) metric.erase("summary");  // of the samples
  }
  return json;
}

/// Equal, numbers to a few of their last bits, as units are converted to and fro.
void expect_equal(const Json& first, const Json& again, const std::string& where) {
  ASSERT_EQ(first.is_number(), again.is_number()) << where << ": " << first << " and " << again;
  if (first.is_number()) {
    EXPECT_NEAR(first.get<double>(), again.get<double>(), std::abs(first.get<double>()) * 1e-12) << where;
  } else if (first.is_object() && again.is_object()) {
    std::set<std::string> keys;
    for (const auto& [key, value] : first.items()) keys.insert(key);
    for (const auto& [key, value] : again.items()) keys.insert(key);
    for (const auto& key : keys) {
      expect_equal(first.value(key, Json()), again.value(key, Json()), where + "." + key);
    }
  } else if (first.is_array() && again.is_array()) {
    ASSERT_EQ(first.size(), again.size()) << where << ": " << first << " and " << again;
    for (std::size_t i = 0; i < first.size(); ++i) {
      expect_equal(first[i], again[i], where + "[" + std::to_string(i) + "]");
    }
  } else {
    EXPECT_EQ(first, again) << where;
  }
}

void expect_equal_after(const std::string& format, const Session& first, const std::string& what) {
  const Exported out = written(format, first);
  EXPECT_THAT(out.left_out, IsEmpty()) << what;
  const auto again = imported(out.text, format);
  ASSERT_EQ(again.size(), 1U) << what;
  expect_equal(facts_of(first), facts_of(again[0]), what);
}

TEST(EveryFormat, has_a_file_that_is_known_by_its_content) {
  const auto files = full_files();
  for (const auto& format : readable_formats()) {
    ASSERT_TRUE(files.contains(format)) << format;
    for (const Session& session : imported(files.at(format), format)) {
      if (format != "warpmark") {
        EXPECT_EQ(session.id.substr(0, session.id.rfind('-')), format);
      }
      for (const auto& run : session.runs) {
        EXPECT_TRUE(!run.metrics.empty() || run.outcome != Outcome::passed) << format << ": " << run.workload;
      }
    }
  }
}

TEST(EveryFormat, is_the_same_after_export_to_itself) {
  const auto files = full_files();
  for (const auto& format : writable_formats()) {
    if (format == "junit") continue;  // for CI systems, and not read
    for (const Session& first : imported(files.at(format), format)) expect_equal_after(format, first, format);
  }
}

TEST(EveryFormat, is_the_same_after_export_as_warpmark) {
  for (const auto& [format, text] : full_files()) {
    for (const Session& first : imported(text, format)) expect_equal_after("warpmark", first, format + " as warpmark");
  }
}

auto sorted_notes(const warpmark::Run& run) {
  auto notes = run.notes;
  std::erase_if(notes, [](const auto& note) { return note.first == "measured by"; });
  std::ranges::sort(notes);
  return notes;
}

TEST(EveryFormat, keeps_every_field_but_the_machines_as_csv) {
  for (const auto& [format, text] : full_files()) {
    for (const Session& first : imported(text, format)) {
      const Session again = read_one(written("csv", first).text, options_for("csv"));
      std::vector<warpmark::Run> measured;
      for (const auto& run : first.runs) {
        if (!run.metrics.empty()) measured.push_back(run);
      }
      ASSERT_EQ(measured.size(), again.runs.size()) << format;
      EXPECT_EQ(first.machine.hostname, again.machine.hostname) << format;
      EXPECT_EQ(first.commit, again.commit) << format;
      EXPECT_EQ(first.branch, again.branch) << format;
      EXPECT_EQ(first.started, again.started) << format;
      for (std::size_t i = 0; i < measured.size(); ++i) {
        EXPECT_EQ(measured[i].workload, again.runs[i].workload) << format;
        EXPECT_EQ(measured[i].params, again.runs[i].params) << format;
        EXPECT_EQ(measured[i].outcome, again.runs[i].outcome) << format;
        EXPECT_EQ(measured[i].reason, again.runs[i].reason) << format;
        EXPECT_EQ(measured[i].device, again.runs[i].device) << format;
        EXPECT_EQ(measured[i].mode, again.runs[i].mode) << format;
        EXPECT_EQ(sorted_notes(measured[i]), sorted_notes(again.runs[i])) << format << ": " << measured[i].workload;
        EXPECT_EQ(measured[i].metrics, again.runs[i].metrics) << format << ": " << measured[i].workload;
      }
    }
  }
}

TEST(EveryFormat, is_the_same_after_export_of_files_that_people_have) {
  for (const auto& [format, file] : {std::pair{"google-benchmark", "google_benchmark.json"},
                                     {"google-benchmark", "google_benchmark_aggregates.json"},
                                     {"google-benchmark", "field/gbench_cpu_time_roundtrip.json"},
                                     {"google-benchmark", "field/gbench_1.4_aggregates.json"},
                                     {"google-benchmark", "field/gbench_nan.json"},
                                     {"pytest-benchmark", "pytest_benchmark.json"},
                                     {"hyperfine", "hyperfine.json"},
                                     {"hyperfine", "hyperfine_fails.json"},
                                     {"hyperfine", "field/hyperfine_dup_a.json"},
                                     {"nvbench", "nvbench_old.json"},
                                     {"nccl-tests", "field/nccl_2.19_I1.txt"},
                                     {"nccl-tests", "field/nccl_N5_cycles.txt"},
                                     {"nccl-tests", "field/nccl_info_interleaved.txt"},
                                     {"nccl-tests", "field/nccl_J.json"}}) {
    expect_equal_after(format, read_data(file, options_for(format)), file);
  }
}

TEST(EveryFormat, says_which_metrics_it_has_no_place_for) {
  Session session = read_data("pytest_benchmark.json");
  Metric more = session.runs[0].metrics[0];
  more.id = "energy";
  more.unit = "J";
  more.better = Better::higher;  // no name says so
  session.runs[0].metrics.push_back(more);
  for (const char* format : {"hyperfine", "pytest-benchmark"}) {
    EXPECT_THAT(written(format, session).left_out, Contains(HasSubstr("energy"))) << format;
  }
}

}  // namespace
}  // namespace warpmark::exchange
