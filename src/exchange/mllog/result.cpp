#include "exchange/mllog/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>
#include <utility>

#include "base/lines/line_file.h"
#include "base/result.h"
#include "base/text.h"
#include "exchange/mllog/rulesets.h"
#include "generated/published.h"

namespace warpmark::exchange {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

void judge_by(std::string_view round, MlLogResult& result) {
  result.round = round;
  result.rejected = 0;
  for (auto& log : result.logs) {
    log.training = judge_mllog(log.events, round);
    if (!log.unreadable.empty()) log.training.faults = {{0, log.unreadable}};
    result.rejected += log.training.faults.empty() ? 0 : 1;
  }
}

bool is_known_in_any_round(const MlLogTraining& training) {
  const auto rounds = mlperf_rounds();
  return std::any_of(rounds.begin(), rounds.end(), [&](std::string_view round) {
    return benchmark_rules(round, training.division, training.benchmark) != nullptr;
  });
}

void judge_by_newest_that_fits(MlLogResult& result) {
  judge_by("", result);
  const auto& first = result.first();
  if (first.division == "open" && !is_known_in_any_round(first)) return;
  std::tuple<int, bool, std::size_t> best{std::numeric_limits<int>::max(), true, 0};
  std::string_view chosen;
  for (const auto round : mlperf_rounds()) {
    judge_by(round, result);
    std::size_t faults = 0;
    for (const auto& log : result.logs) faults += log.training.faults.size();
    const bool unknown = benchmark_rules(round, result.first().division, result.first().benchmark) == nullptr;
    if (const std::tuple now{result.rejected, unknown, faults}; now < best) {
      best = now;
      chosen = round;
    }
  }
  judge_by(chosen, result);
}

/// Logs of one result are of one benchmark, division and batch.
void require_same(MlLogResult& result) {
  const auto& first = result.first();
  for (const auto& log : result.logs) {
    const auto& other = log.training;
    const bool same =
        other.benchmark == first.benchmark && other.division == first.division && other.batch == first.batch;
    if (same || !log.unreadable.empty()) continue;
    result.faults.push_back(log.file + " is of another benchmark, division or batch than " + result.logs.front().file);
  }
}

/// The mean without the extremes; logs that break the rules are the slowest.
void score(MlLogResult& result) {
  const auto runs = static_cast<int>(result.logs.size());
  const bool too_few = runs <= 2 * result.dropped;  // none would be left without the extremes
  const int may = too_few || runs != result.runs ? 0 : result.dropped;
  if (result.rejected > may) {
    result.faults.push_back(fmt::format("{} of {} logs break the rules, {} may", result.rejected, runs, may));
  }
  if (result.runs == 0) return;
  if (runs == 1 && result.runs > 1) return;  // checked alone
  if (runs != result.runs) {
    result.faults.push_back(fmt::format("a result has {} runs, these are {}", result.runs, runs));
    return;
  }
  if (result.rejected > may || too_few) return;
  std::vector<double> seconds;
  for (const auto& log : result.logs) {
    seconds.push_back(log.training.faults.empty() ? log.training.seconds.value_or(kNever) : kNever);
  }
  if (const auto mean = olympic_mean(std::move(seconds), result.dropped); mean.ok()) result.score_s = *mean;
}

std::string_view take_cell(std::string_view& line) {
  const auto end = std::min(line.find(','), line.size());
  const std::string_view cell = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return cell;
}

template <typename T>
T number_of_cell(std::string_view cell) {
  T value{};
  const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  WM_CHECK(read.ec == std::errc());
  return value;
}

}  // namespace

const MlLogTraining& MlLogResult::first() const {
  const auto found = std::find_if(logs.begin(), logs.end(), [](const MlLog& log) { return log.unreadable.empty(); });
  return (found == logs.end() ? logs.front() : *found).training;
}

Result<MlLogResult> judge_result(std::vector<MlLog> logs, const std::string& round, std::optional<int> runs) {
  MlLogResult result;
  result.logs = std::move(logs);
  if (round.empty()) {
    judge_by_newest_that_fits(result);
  } else {
    const auto rounds = mlperf_rounds();
    const auto known = std::find_if(rounds.begin(), rounds.end(), [&](std::string_view one) {
      return one == round || std::string(one) + ".0" == round;
    });
    if (known == rounds.end()) {
      return usage_error("no rules of round " + round + " are known",
                         "--ruleset " + join(std::vector<std::string>(rounds.begin(), rounds.end()), " or "));
    }
    judge_by(*known, result);
  }
  if (const auto* benchmark = mlperf_benchmark(result.first().benchmark); benchmark != nullptr) {
    result.runs = benchmark->runs;
    result.dropped = benchmark->dropped;
  }
  result.runs = runs.value_or(result.runs);
  require_same(result);
  score(result);
  return result;
}

std::vector<double> needed_to_converge(const MlLogResult& result) {
  std::vector<double> needed;
  for (const auto& log : result.logs) {
    needed.push_back(log.training.converged ? log.training.to_converge.value_or(kNever) : kNever);
  }
  return needed;
}

std::vector<PublishedResult> published_results(std::string_view benchmark) {
  std::vector<PublishedResult> results;
  std::string_view text = generated::kPublished.front().text;
  bool header = true;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.empty() || line.front() == '#') continue;
    if (std::exchange(header, false)) continue;
    PublishedResult result{.round = take_cell(line), .benchmark = take_cell(line), .accelerator = take_cell(line)};
    result.accelerators = number_of_cell<int>(take_cell(line));
    result.minutes = number_of_cell<double>(take_cell(line));
    result.submitter = line;
    if (result.benchmark != benchmark) continue;
    if (!results.empty() && results.back().round != result.round) results.clear();  // rounds are in order
    results.push_back(result);
  }
  return results;
}

}  // namespace warpmark::exchange
