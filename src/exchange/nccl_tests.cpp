// Output of nccl-tests (all_reduce_perf and its siblings), read by the same reader as profiles are. Every row is a run
// or two: out of place and in place. Its bandwidths are in 1e9 B/s, its times in microseconds.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "exchange/exported.h"
#include "exchange/format.h"
#include "exchange/imported.h"
#include "model/run_query.h"
#include "profile/catalog.h"
#include "profile/readers/logs/nccl_tests.h"
#include "report/results/build_parts.h"

namespace warpmark::exchange {
namespace {

constexpr Quantity kAlgorithmBandwidth{"algorithm_bandwidth", "B/s", Better::higher};
constexpr Quantity kBusBandwidth{"bus_bandwidth", "B/s", Better::higher};

constexpr const char* kNorm = "elements that differ";
constexpr std::int64_t kMostRanks = 4096;

bool detect_nccl_tests(const Document& document) {
  return !document.json && profile::kNcclTestsReader.sniff(document.text.substr(0, profile::kSniffBytes)).score >= 80;
}

Status add_result(const CollectiveResult& result, Session& session) {
  Run& run = add_run(session, result.collective, "cuda");
  run.timing.method = "nccl-tests";
  run.params.set("bytes", result.bytes);
  run.params.set("dtype", clean_text(result.data_type));
  if (!result.operation.empty()) run.params.set("op", clean_text(result.operation));
  run.params.set("ranks", std::int64_t{result.ranks});
  run.params.set("in_place", std::int64_t{result.in_place});
  WM_TRY(add_metric(run, kTime, {result.seconds}));
  WM_TRY(add_metric(run, kAlgorithmBandwidth, {result.algorithm_bandwidth}));
  WM_TRY(add_metric(run, kBusBandwidth, {result.bus_bandwidth}));
  if (result.wrong)
    run.error = ErrorCheck{static_cast<double>(*result.wrong), 0, kNorm, "the sum that nccl-tests expects"};
  if (result.wrong.value_or(0) == 0) return {};
  run.outcome = Outcome::failed;
  run.reason = fmt::format("{} elements are wrong", *result.wrong);
  return {};
}

Result<std::vector<Session>> read_nccl_tests(const Document& document) {
  const auto source = profile::memory_source(document.text);
  ProfileSession profile;
  WM_TRY(profile::kNcclTestsReader.read(*source, {}, profile));
  Session session = foreign_session("nccl-tests");
  ResultLimit limit(document.text);
  for (const auto& result : profile.collectives) {
    WM_TRY(add_result(result, session));
    WM_TRY(limit.add(session.runs.back()));
  }
  return std::vector<Session>{std::move(session)};
}

std::string text_of(const Run& run, const char* name, const char* otherwise) {
  for (const auto& [key, value] : run.params.items()) {
    if (key == name) return to_text(value);
  }
  return otherwise;
}

double median_of(const Run& run, const char* metric) {
  const Metric* found = metric_of(run, metric);
  return found == nullptr ? 0 : found->summary.median;
}

bool is_collective(const Run& run) {
  return report::shows_speed(run) && run.params.has("bytes") && metric_of(run, "time") != nullptr &&
         metric_of(run, "bus_bandwidth") != nullptr;
}

/// As src/common.cu prints it; the half that a row does not have reads as it does there, "N/A".
std::string row_of(const Run& run) {
  const std::string wrong = run.error && run.error->norm == kNorm ? fmt::format("{:.0f}", run.error->value) : "N/A";
  const std::string values =
      fmt::format("{:>8.2f} {:>7.2f} {:>7.2f} {:>6}", median_of(run, "time") * 1e6,
                  median_of(run, "algorithm_bandwidth") / 1e9, median_of(run, "bus_bandwidth") / 1e9, wrong);
  const std::string nothing = fmt::format("{:>8} {:>7} {:>7} {:>6}", "N/A", "N/A", "N/A", "N/A");
  const bool in_place = text_of(run, "in_place", "0") == "1";
  return fmt::format("{:>12} {:>13} {:>9} {:>7} {:>6} {} {}\n", text_of(run, "bytes", "0"), 0,
                     text_of(run, "dtype", "float"), text_of(run, "op", "none"), -1, in_place ? nothing : values,
                     in_place ? values : nothing);
}

std::string table_header_of(const Run& run, const std::string& hostname) {
  std::string text = "# Collective test starting: " + run.workload + "_perf\n";
  const auto typed = parse_integer(text_of(run, "ranks", "0"));
  const std::int64_t ranks = typed.ok() ? std::min(*typed, kMostRanks) : 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) text += fmt::format("#  Rank {:2} on {:>10}\n", rank, hostname);
  return text + fmt::format("# {:>10} {:>13} {:>9} {:>7} {:>6} {:>8} {:>7} {:>7} {:>6} {:>8} {:>7} {:>7} {:>6}\n",
                            "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
                            "algbw", "busbw", "#wrong");
}

Result<Exported> write_nccl_tests(const Session& session) {
  std::string text, collective;
  std::size_t written = 0;
  for (const Run& run : session.runs) {
    if (!is_collective(run)) continue;
    if (run.workload != collective) text += table_header_of(run, session.machine.hostname);
    collective = run.workload;
    text += row_of(run);
    ++written;
  }
  return exported(std::move(text), written, session.runs.size() - written, "the bandwidths of a collective");
}

}  // namespace

extern const Format kNcclTests{"nccl-tests", "text that nccl-tests prints", detect_nccl_tests, read_nccl_tests,
                               write_nccl_tests};

}  // namespace warpmark::exchange
