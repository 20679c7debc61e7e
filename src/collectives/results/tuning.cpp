#include "collectives/results/tuning.h"

#include <cmath>

#include "base/text.h"
#include "stats/summary.h"
#include "stats/tests/rank_and_t_tests.h"

namespace warpmark::collectives {
namespace {

/// By the round and, of several reductions, which: a round that failed leaves those after it in their places.
using Times = std::map<std::pair<int, ReduceOp>, double>;

/// Seconds of one size in each round; the shorter placement's, as the buffers are the user's choice.
Times times_of(const Measured& measured, std::int64_t bytes) {
  Times times;
  for (const auto& sweep : measured.rounds) {
    for (const auto& row : sweep.rows) {
      if (row.counts.bytes != bytes) continue;
      double best = 0;
      for (const auto* place : {&row.out_of_place, &row.in_place}) {
        if (*place && (*place)->time_s > 0 && (best == 0 || (*place)->time_s < best)) best = (*place)->time_s;
      }
      if (best > 0) times[{sweep.round, row.op}] = best;
    }
  }
  return times;
}

double mean_of(const Times& times) {
  std::vector<double> values;
  for (const auto& [round, seconds] : times) values.push_back(seconds);
  return stats::geometric_mean(values).value_or(0);
}

TunedSize tune_size(const std::vector<Measured>& measured, std::int64_t bytes) {
  TunedSize tuned{.bytes = bytes};
  const auto baseline = times_of(measured.front(), bytes);
  tuned.default_s = mean_of(baseline);
  tuned.best_s = tuned.default_s;
  Times fastest = baseline;
  for (std::size_t i = 1; i < measured.size(); ++i) {
    auto times = times_of(measured[i], bytes);
    const double mean = mean_of(times);
    if (times.empty() || mean >= tuned.best_s) continue;
    tuned.best = i, tuned.best_s = mean, fastest = std::move(times);
  }
  if (tuned.best == 0) return tuned;
  tuned.gain = tuned.default_s / tuned.best_s;
  std::vector<double> logs;
  for (const auto& [round, seconds] : fastest) {
    if (const auto auxiliary = baseline.find(round); auxiliary != baseline.end())
      logs.push_back(std::log(auxiliary->second / seconds));
  }
  if (logs.size() < 2) return tuned;
  // The best of many looks better than it is: Bonferroni's correction for the number of settings.
  const double confidence = 1 - 0.05 / static_cast<double>(measured.size() - 1);
  const auto test = stats::one_sample_t(logs, confidence);
  tuned.gain_interval = Interval{std::exp(test.interval.low), std::exp(test.interval.high), confidence};
  tuned.certain = test.interval.low > 0;
  return tuned;
}

}  // namespace

Result<std::vector<Settings>> combinations(const std::vector<std::string>& sweeps) {
  std::vector<Settings> all{{}};
  for (const auto& sweep : sweeps) {
    const auto equals = sweep.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == sweep.size()) {
      return usage_error("'" + sweep + "' is no sweep of a variable", "such as --sweep NCCL_ALGO=Ring,Tree");
    }
    const std::string name = sweep.substr(0, equals);
    std::vector<Settings> more;
    for (const auto& base : all) {
      for (const auto& value : split(sweep.substr(equals + 1), ',')) {
        more.push_back(base);
        more.back().emplace_back(name, value);
      }
    }
    all = std::move(more);
    if (all.size() > 200) return usage_error("more than 200 combinations", "sweep fewer variables at a time");
  }
  if (!all.front().empty()) all.insert(all.begin(), Settings{});
  return all;
}

std::vector<std::string> tuned_variables(const std::vector<std::string>& interfaces) {
  std::vector<std::string> variables{"NCCL_ALGO=Ring,Tree", "NCCL_PROTO=LL,LL128,Simple", "NCCL_NTHREADS=128,256,512",
                                     "NCCL_MAX_NCHANNELS=8,16,32"};
  if (interfaces.size() > 1) variables.push_back("NCCL_SOCKET_IFNAME=" + join(interfaces, ","));
  return variables;
}

std::string to_text(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? "default" : text;
}

Tuning tune(std::vector<Measured> measured) {
  Tuning tuning{std::move(measured), {}};
  if (tuning.measured.empty() || tuning.measured.front().rounds.empty()) return tuning;
  for (const auto& row : tuning.measured.front().rounds.front().rows) {
    tuning.sizes.push_back(tune_size(tuning.measured, row.counts.bytes));
  }
  return tuning;
}

}  // namespace warpmark::collectives
