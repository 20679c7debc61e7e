#include "exchange/mllog/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "exchange/mllog/rulesets.h"

namespace warpmark::exchange {
namespace {

constexpr double kMinuteMs = 60e3;

/// Of these pairs one key must be logged.
constexpr std::pair<const char*, const char*> kAlternatives[] = {{"epoch_start", "block_start"},
                                                                 {"epoch_stop", "block_stop"},
                                                                 {"eval_start", "block_start"},
                                                                 {"eval_stop", "block_stop"}};

std::optional<double> number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::optional<double> number(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? number(*found) : std::nullopt;
}

bool is_integer(double value) { return std::abs(std::round(value) - value) < 1e-5; }

/// What later lines are checked with.
struct Seen {
  std::optional<double> batch;
  std::optional<double> warmup;         ///< steps
  std::optional<double> scaled_warmup;  ///< 8000 steps at a batch of 1152, at the batch of the log
};

bool is_one_of(const Json& value, std::string_view values) {
  for (const auto& item : split(values, '|')) {
    const auto allowed = parse_number(item);
    if (value.is_string() ? value.get<std::string>() == item
                          : number(value) && allowed.ok() && *number(value) == *allowed)
      return true;
  }
  return false;
}

bool holds(const KeyRule& rule, const Json& value, const Seen& seen) {
  if (rule.rule == ValueRule::any) return true;
  if (rule.rule == ValueRule::not_empty) return value != "";
  if (rule.rule == ValueRule::one_of) return is_one_of(value, rule.values);
  const auto x = number(value);
  if (!x) return false;
  constexpr double kBatch = 1152;
  switch (rule.rule) {
    case ValueRule::above: return *x > rule.bound;
    case ValueRule::at_least: return *x >= rule.bound;
    case ValueRule::multiple: return is_integer(*x / rule.bound);
    case ValueRule::power_of_two: return *x > 0 && is_integer(std::log2(*x / rule.bound));
    case ValueRule::scaled: return seen.batch && *x * kBatch == *seen.batch * rule.bound;
    case ValueRule::scaled_root: return seen.batch && std::abs(*x - rule.bound * std::sqrt(*seen.batch / 16384)) < 1e-9;
    case ValueRule::minus_warmup: return seen.warmup && *x == rule.bound - *seen.warmup;
    default:
      return seen.batch && seen.scaled_warmup &&
             *x == std::ceil(rule.bound * kBatch / *seen.batch) - *seen.scaled_warmup;
  }
}

class LogJudge {
 public:
  LogJudge(std::span<const MlLogEvent> events, std::string_view round) : events_(events), round_(round) {
    for (const auto& event : events_) {
      if (event.key == "submission_division") first_text(event, training_.division);
      if (event.key == "submission_benchmark") first_text(event, training_.benchmark);
      if (event.key == "opt_name") first_text(event, optimizer_);
    }
    benchmark_ = benchmark_rules(round_, training_.division, training_.benchmark);
    rules_ = key_rules(round_, training_.division, benchmark_, optimizer_);
    const auto* closed = benchmark_rules(round_, "closed", training_.benchmark);
    training_.in_samples =
        closed != nullptr &&
        !key_rules(round_, "closed", closed, "").at("eval_accuracy").metadata.starts_with("epoch_num");
  }

  MlLogTraining judge() {
    for (const auto& event : events_) inspect(event);
    require_counts();
    if (benchmark_ == nullptr && !round_.empty() && !training_.benchmark.empty()) {
      fault(nullptr, fmt::format("'{}' is not a benchmark of the {} division in round {}", training_.benchmark,
                                 training_.division, round_));
    }
    require_quality();
    read_time();
    if (benchmark_ != nullptr && benchmark_->clip) read_first_pair_that_passes();
    return std::move(training_);
  }

 private:
  void fault(const MlLogEvent* at, std::string what) {
    training_.faults.push_back({at == nullptr ? 0 : at->line, std::move(what)});
  }
  static void first_text(const MlLogEvent& event, std::string& into) {
    if (into.empty() && event.value.is_string()) into = event.value.get<std::string>();
  }

  void inspect(const MlLogEvent& event) {
    const auto& [key, value] = std::tie(event.key, event.value);
    auto& seen = values_[key];
    seen.push_back(&event);
    const bool repeated_submission = key.find("submission_") != std::string::npos && seen.size() > 1;
    if (const auto found = rules_.find(key); found != rules_.end() && !repeated_submission) check(event, found->second);
    if (key == "init_start" || key == "init_stop" || key == "run_start" || key == "run_stop") phase(event);
    if (key == "block_start") block_start(event);
    if (key == "submission_division" && seen.size() == 1) {
      init_minutes_ = training_.division == "open" ? 240 : training_.division == "closed" ? 30 : 0;
    }
    if (key == "global_batch_size") {
      seen_.batch = number(value);
      training_.batch = seen_.batch.value_or(0);
    }
    if (key == "opt_learning_rate_warmup_steps") {
      seen_.warmup = number(value);
      if (seen_.batch) seen_.scaled_warmup = std::ceil(8000.0 * 1152 / *seen_.batch);
    }
    if (key == "eval_accuracy" && stop_ == nullptr) evaluation(event);
  }

  void check(const MlLogEvent& event, const KeyRule& rule) {
    if (!holds(rule, event.value, seen_)) {
      fault(&event, fmt::format("{} is {}, which round {} does not allow{}", event.key, event.value.dump(), round_,
                                rule.values.empty() ? "" : fmt::format(" ({})", rule.values)));
    }
    if (rule.metadata.empty()) return;
    const auto named = split(rule.metadata, '|');
    if (std::none_of(named.begin(), named.end(), [&](const auto& name) { return event.metadata.contains(name); })) {
      fault(&event, event.key + " has no " + join(named, " or ") + " in its metadata");
    }
  }

  void phase(const MlLogEvent& event) {
    const auto after = [&](const MlLogEvent* before, const char* name) {
      if (before == nullptr) fault(&event, event.key + " comes before " + name);
    };
    if (event.key == "init_start") {
      if (init_stop_ != nullptr || start_ != nullptr) fault(&event, "init_start comes after init_stop or run_start");
      first_init_ms_ = std::min(first_init_ms_, event.time_ms);
    } else if (event.key == "init_stop") {
      after(values_.contains("init_start") ? &event : nullptr, "init_start");
      if (start_ != nullptr) fault(&event, "init_stop comes after run_start");
      init_stop_ = &event;
      const double took = (event.time_ms - first_init_ms_) / kMinuteMs;
      if (init_minutes_ == 0) {
        fault(&event, "init_stop comes before submission_division, which sets its time limit");
      } else if (took >= init_minutes_) {
        fault(&event, fmt::format("initialization took {:.1f} minutes, {:.0f} are allowed", took, init_minutes_));
      }
    } else if (event.key == "run_start") {
      after(init_stop_, "init_stop");
      start_ = &event;
    } else {
      after(start_, "run_start");
      stop_ = &event;
      const auto status = event.metadata.find("status");
      training_.converged = status != event.metadata.end() && *status == "success";
    }
  }

  void block_start(const MlLogEvent& event) {
    if (start_ == nullptr) fault(&event, "block_start comes before run_start");
    const bool counts_epochs = event.metadata.contains("epoch_count");
    if (counts_epochs && !event.metadata.contains("first_epoch_num"))
      fault(&event, "block_start has no first_epoch_num");
    if (counts_epochs && !(number(event.metadata, "epoch_count") > 0.0)) fault(&event, "epoch_count is not above 0");
    if (event.metadata.contains("samples_count") && !(number(event.metadata, "samples_count") >= 0.0)) {
      fault(&event, "samples_count is below 0");
    }
  }

  void evaluation(const MlLogEvent& event) {
    const auto epoch = number(event.metadata, "epoch_num"), samples = number(event.metadata, "samples_count");
    if (benchmark_ == nullptr) training_.in_samples = !epoch;
    training_.quality = number(event.value);
    training_.to_converge = training_.in_samples ? samples : epoch;
    if (training_.to_converge) *training_.to_converge = std::round(*training_.to_converge * 1e3) / 1e3;
  }

  void require_counts() {
    for (const auto& [key, rule] : rules_) {
      const auto& seen = values_[std::string(key)];
      if (rule.times == Times::any) continue;
      if (seen.empty()) fault(nullptr, fmt::format("there is no {}", key));
      const bool differ =
          std::any_of(seen.begin(), seen.end(), [&](const auto* event) { return event->value != seen[0]->value; });
      if (rule.times == Times::one && differ) {
        fault(seen.back(), fmt::format("there are {} of {} with different values, not one", seen.size(), key));
      }
    }
    for (const auto& [one, other] : kAlternatives) {
      if (values_[one].empty() && values_[other].empty()) {
        fault(nullptr, fmt::format("there is neither {} nor {}", one, other));
      }
    }
  }

  /// One evaluation at least must be in the range; stable diffusion's are pairs at one count of samples.
  void require_quality() {
    if (benchmark_ == nullptr) return;
    if (benchmark_->clip) return require_pairs();
    const auto& seen = values_[std::string(benchmark_->quality_key)];
    if (seen.empty()) return;
    bool reached = false;
    for (const auto* event : seen) {
      const auto x = number(event->value);
      if (!x) return fault(event, event->key + " is not a number");
      reached = reached || benchmark_->quality.contains(*x);
    }
    if (!reached) fault(nullptr, "no " + seen[0]->key + " is " + text_of(benchmark_->quality));
  }

  static std::string text_of(const QualityRange& range) {
    std::vector<std::string> parts;
    if (std::isfinite(range.least)) parts.push_back(fmt::format("at least {}", range.least));
    if (std::isfinite(range.above)) parts.push_back(fmt::format("above {}", range.above));
    if (std::isfinite(range.most)) parts.push_back(fmt::format("at most {}", range.most));
    if (std::isfinite(range.below)) parts.push_back(fmt::format("below {}", range.below));
    return join(parts, " and ");
  }

  struct Pair {
    std::optional<double> fid, clip;
  };
  [[nodiscard]] std::map<double, Pair> pairs() {
    std::map<double, Pair> all;
    for (const auto* event : values_["eval_accuracy"]) {
      const auto metric = event->metadata.find("metric");
      const auto samples = number(event->metadata, "samples_count");
      if (metric == event->metadata.end() || !samples) continue;
      if (*metric == "FID") all[*samples].fid = number(event->value);
      if (*metric == "CLIP") all[*samples].clip = number(event->value);
    }
    return all;
  }
  [[nodiscard]] bool passes(const Pair& pair) const {
    return pair.fid && pair.clip && benchmark_->quality.contains(*pair.fid) && benchmark_->clip->contains(*pair.clip);
  }

  void require_pairs() {
    const auto all = pairs();
    if (all.size() < 2) fault(nullptr, "there are fewer than 2 evaluations by FID and CLIP");
    if (std::any_of(all.begin(), all.end(), [](const auto& one) { return !one.second.fid || !one.second.clip; })) {
      fault(nullptr, "an evaluation lacks FID or CLIP");
    }
    if (std::any_of(all.begin(), all.end(), [&](const auto& one) { return passes(one.second); })) return;
    fault(nullptr, "no evaluation has FID " + text_of(benchmark_->quality) + " and CLIP " + text_of(*benchmark_->clip));
  }

  void read_first_pair_that_passes() {
    training_.to_converge.reset();
    training_.in_samples = true;
    for (const auto& [samples, pair] : pairs()) {
      if (!training_.to_converge && passes(pair)) training_.to_converge = samples;
    }
  }

  void read_time() {
    std::optional<double> begin, end;
    for (const auto& event : events_) {
      if (event.key == "run_start") begin = event.time_ms;
      if (event.key == "run_stop") end = event.time_ms;
      if (begin && end) break;
    }
    if (begin && end) training_.seconds = (*end - *begin) * 1e-3;
  }

  std::span<const MlLogEvent> events_;
  std::string_view round_;
  MlLogTraining training_;
  std::string optimizer_;
  const BenchmarkRules* benchmark_ = nullptr;
  std::map<std::string_view, KeyRule> rules_;
  std::map<std::string, std::vector<const MlLogEvent*>> values_;
  Seen seen_;
  const MlLogEvent* init_stop_ = nullptr;
  const MlLogEvent* start_ = nullptr;
  const MlLogEvent* stop_ = nullptr;
  double first_init_ms_ = std::numeric_limits<double>::infinity();
  double init_minutes_ = 0;
};

}  // namespace

MlLogTraining judge_mllog(std::span<const MlLogEvent> events, std::string_view round) {
  return LogJudge(events, round).judge();
}

}  // namespace warpmark::exchange
