#include "validate/accept/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/units.h"
#include "model/names.h"
#include "model/run_query.h"
#include "stats/tests/compare.h"
#include "stats/tests/rank_and_t_tests.h"

namespace warpmark::validate {
namespace {

std::string share_percent(double ratio) { return fmt::format("{:.4g} %", ratio * 100); }

std::string limit_share_text(std::span<const double> shares) {
  std::string text;
  for (const double share : shares) text += (text.empty() ? "" : " and ") + share_percent(share);
  return text;
}

bool on_device(const std::string& wanted, std::string_view device) {
  if (wanted.empty() || wanted == "all" || wanted == device) return true;
  const auto backend = device.substr(0, device.find(':'));
  return wanted == backend || (wanted == "cuda" && device.starts_with("gpu"));
}

/// How much longer one would have to measure.
std::string how_to_decide(double value, const Interval& interval, std::span<const double> limits) {
  double distance = std::numeric_limits<double>::infinity();
  for (const double limit : limits) distance = std::min(distance, std::fabs(value - limit));
  const double half = std::max(interval.high - value, value - interval.low);
  const std::string reason =
      fmt::format("the {:.3g} % interval lies on both sides of the limit", interval.confidence * 100);
  if (!(distance > 0)) return reason + ", and the value on it: more samples will hardly decide";
  const double factor = half / distance;
  return reason + fmt::format("; about {:.3g} times as many samples would decide (more rounds, a quieter machine)",
                              std::max(1.1, factor * factor));
}

class AcceptanceJudge {
 public:
  AcceptanceJudge(const Criteria& criteria, const AcceptanceInput& input) : criteria_(criteria), input_(input) {}

  Result<Acceptance> judged() {
    if (!criteria_.datasheet.empty() && device::find_datasheet(input_.datasheets, criteria_.datasheet) == nullptr) {
      std::vector<std::string> ids;
      for (const auto& sheet : input_.datasheets) ids.push_back(sheet.id);
      const auto meant = nearest(criteria_.datasheet, ids);
      return data_error("there is no datasheet '" + criteria_.datasheet + "'",
                        (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "datasheets: " + join(ids, ", "));
    }
    result_.name = criteria_.name;
    result_.summary = criteria_.summary;
    result_.machine = input_.machine;
    for (const auto& criterion : criteria_.rows) {
      WM_TRY(criterion.fact.empty() ? add_results(criterion) : add_facts(criterion));
    }
    return std::move(result_);
  }

 private:
  static AcceptanceRow row_of(const Criterion& criterion) {
    AcceptanceRow row;
    row.title = criterion.title;
    row.required = criterion.required;
    row.comparator = criterion.comparator;
    row.limit_text = join(criterion.limits, " .. ");
    if (criterion.of == LimitOf::peak) row.limit_text += " of the peak";
    if (criterion.of == LimitOf::datasheet) row.limit_text += " of the datasheet";
    row.device = criterion.device;
    return row;
  }

  void add(AcceptanceRow row) { result_.rows.push_back(std::move(row)); }

  // ---- measured results

  /// A name of the results that ends as the criterion's does, or is nearly the same.
  [[nodiscard]] std::string suggestion_for(const std::string& workload) const {
    std::vector<std::string> names;
    for (const Run& run : input_.session->runs) names.push_back(run.workload);
    const auto longer = std::ranges::find_if(names, [&](const auto& name) { return name.ends_with(workload); });
    const std::string meant = longer != names.end() ? *longer : nearest(workload, names);
    return meant.empty() || meant == workload ? "" : "; did you mean '" + meant + "'?";
  }

  Status add_results(const Criterion& criterion) {
    AcceptanceRow row = row_of(criterion);
    row.subject = criterion.workload;
    for (const auto& [name, value] : criterion.set) row.subject += " " + name + "=" + value;
    row.metric = criterion.of == LimitOf::peak ? "share of the peak" : criterion.metric;
    if (criterion.statistic != "median") row.metric += " " + criterion.statistic;
    bool any = false;
    if (input_.session != nullptr) {
      for (const Run& run : input_.session->runs) {
        if (run.workload != criterion.workload || !on_device(criterion.device, run.device)) continue;
        if (!has_params(run, criterion.set)) continue;
        any = true;
        AcceptanceRow of_run = row;
        of_run.device = run.device;
        of_run.subject = run.workload + " " + to_text(run.params) + " mode=" + name_of(run.mode);
        of_run.repro = run.repro;
        WM_TRY(judge_run(criterion, run, of_run));
        add(std::move(of_run));
      }
    }
    if (any) return {};
    row.reason = criterion.workload == "command"
                     ? "no result of a command is given: measure one with 'warpmark run -- CMD', name it with --results"
                 : input_.session == nullptr ? input_.no_session
                 : !input_.session->complete ? "the session was interrupted before it was measured"
                                             : "the results do not have it" + suggestion_for(criterion.workload);
    add(std::move(row));
    return {};
  }

  Status judge_run(const Criterion& criterion, const Run& run, AcceptanceRow& row) {
    switch (run.outcome) {
      case Outcome::failed:
        row.state = RowState::fail;
        row.reason = run.reason;
        return {};
      case Outcome::unsupported:
      case Outcome::skipped:
      case Outcome::error: row.reason = run.reason + (run.hint.empty() ? "" : "; " + run.hint); return {};
      case Outcome::passed:
      case Outcome::unreliable: break;
    }
    WM_TRY(criterion.of == LimitOf::peak ? take_share(criterion, run, row) : take_metric(criterion, run, row));
    if (!row.value || row.limits.empty()) return distrust_disturbed(run, row);
    row.limit_text.clear();
    row.state = decide(*row.value, row.interval, criterion.comparator, row.limits);
    if (row.state == RowState::undecided) {
      row.reason = row.interval ? how_to_decide(*row.value, *row.interval, row.limits)
                                : "too few samples for an interval; measure more rounds";
    }
    return distrust_disturbed(run, row);
  }

  static Status distrust_disturbed(const Run& run, AcceptanceRow& row) {
    if (run.outcome != Outcome::unreliable) return {};
    row.state = RowState::unreliable;
    row.reason = run.reason;
    return {};
  }

  Status take_metric(const Criterion& criterion, const Run& run, AcceptanceRow& row) {
    const auto* metric = metric_of(run, criterion.metric);
    if (metric == nullptr) {
      row.reason = "the result has no " + criterion.metric;
      if (criterion.metric == "energy") row.reason += ": the device has no energy counter";
      return {};
    }
    row.unit = metric->unit;
    if (criterion.statistic == "median") {
      row.value = metric->summary.median;
      row.interval = interval_over_rounds(*metric);
    } else {
      take_percentile(criterion, *metric, row);
    }
    if (criterion.of == LimitOf::datasheet) {
      const auto* sheet = sheet_of(run.device, row);
      if (sheet == nullptr) return {};
      return take_promise(criterion, *sheet, device::promise_for(*sheet, run, criterion.metric), row);
    }
    WM_ASSIGN(row.limits, limits_of(criterion, metric->unit));
    return {};
  }

  static void take_percentile(const Criterion& criterion, const Metric& metric, AcceptanceRow& row) {
    for (const auto& percentile : metric.summary.percentiles) {
      if (criterion.statistic != fmt::format("p{:.0f}", percentile.p * 100)) continue;
      row.value = percentile.value;
      row.interval = percentile.interval;
      row.reason = percentile.reason;
    }
    if (!row.value && row.reason.empty()) row.reason = "the result has no " + criterion.statistic;
  }

  Status take_share(const Criterion& criterion, const Run& run, AcceptanceRow& row) {
    row.unit = "ratio";
    const auto* time = metric_of(run, "time");
    if (!run.peak || run.peak->share <= 0 || time == nullptr) {
      row.reason = run.peak && !run.peak->reason.empty() ? run.peak->reason : "no limit was measured with it";
      return {};
    }
    // Where a limit is unknown the share is "at least": enough to pass a lower limit, not to fail one.
    const bool lower_bound = !run.peak->reason.empty();
    row.value = run.peak->share;
    row.limit_source = "of " + run.peak->ceiling;
    if (run.peak->unreliable) {
      row.reason = "its limit was measured while the machine was disturbed";
      row.state = RowState::unreliable;
      return {};
    }
    if (const auto interval = interval_over_rounds(*time)) {
      const double work = run.peak->share * time->summary.median;
      row.interval = Interval{work / interval->high, work / interval->low, interval->confidence};
    }
    WM_ASSIGN(row.limits, limits_of(criterion, "ratio"));
    const auto state = decide(*row.value, row.interval, criterion.comparator, row.limits);
    if (lower_bound && !(criterion.comparator == Comparator::at_least && state == RowState::pass)) {
      row.reason = "the share is only known to be at least this: " + run.peak->reason;
      row.limits.clear();
    }
    return {};
  }

  const device::Datasheet* sheet_of(const std::string& device, AcceptanceRow& row) const {
    if (!criteria_.datasheet.empty()) return device::find_datasheet(input_.datasheets, criteria_.datasheet);
    for (const auto& info : input_.machine.devices) {
      if (info.id != device) continue;
      const auto* sheet = device::datasheet_of_device(input_.datasheets, info.name);
      if (sheet == nullptr) row.reason = "there is no datasheet of " + info.name + "; name one with datasheet: ID";
      return sheet;
    }
    row.reason = "the results do not say what " + device + " is";
    return nullptr;
  }

  Status take_promise(const Criterion& criterion, const device::Datasheet& sheet, const device::Promise& promise,
                      AcceptanceRow& row) {
    if (promise.value <= 0) {
      row.reason = promise.what;
      return {};
    }
    WM_ASSIGN(const auto shares, limits_of(criterion, "ratio"));
    for (const double share : shares) row.limits.push_back(share * promise.value);
    row.limit_source = fmt::format("{} of the {} by datasheet {}", limit_share_text(shares), promise.what, sheet.id);
    const bool known = std::any_of(result_.datasheets.begin(), result_.datasheets.end(),
                                   [&](const auto& use) { return use.id == sheet.id; });
    if (!known) result_.datasheets.push_back({sheet.id, sheet.name, sheet.sources});
    return {};
  }

  // ---- facts

  Status add_facts(const Criterion& criterion) {
    const auto* kind = find_fact_kind(criterion.fact);
    bool any = false;
    for (const auto& fact : input_.facts) {
      if (fact.id != criterion.fact || (kind->of_gpu && !on_device(criterion.device, fact.device))) continue;
      any = true;
      AcceptanceRow row = row_of(criterion);
      row.subject = fact.id;
      row.device = fact.device;
      WM_TRY(judge_fact(criterion, *kind, fact, row));
      add(std::move(row));
    }
    if (any) return {};
    AcceptanceRow row = row_of(criterion);
    row.subject = criterion.fact;
    if (kind->of_gpu && row.device.empty()) row.device = "cuda";
    row.reason = !input_.no_facts.empty() ? input_.no_facts
                 : kind->of_gpu           ? "the driver reports no such GPU"
                                          : "this machine does not report it";
    add(std::move(row));
    return {};
  }

  Status judge_fact(const Criterion& criterion, const FactKind& kind, const Fact& fact, AcceptanceRow& row) {
    if (!fact.number && fact.text.empty()) {
      row.reason = fact.reason;
      return {};
    }
    if (kind.type != FactType::number) {
      row.value_text = fact.text;
      row.state = kind.type == FactType::version          ? decide_version(criterion, fact.text)
                  : fact.text == criterion.limits.front() ? RowState::pass
                                                          : RowState::fail;
      return {};
    }
    row.unit = kind.unit;
    row.value = fact.number;
    if (criterion.of == LimitOf::datasheet) {
      const auto* sheet = sheet_of(fact.device, row);
      if (sheet == nullptr) return {};
      WM_TRY(take_promise(criterion, *sheet, device::promise_for(*sheet, fact.id), row));
    } else {
      WM_ASSIGN(row.limits, limits_of(criterion, kind.unit));
    }
    if (row.limits.empty()) return {};
    row.limit_text.clear();
    const Interval exact{*row.value, *row.value, 1};
    row.state = decide(*row.value, exact, criterion.comparator, row.limits);
    return {};
  }

  static RowState decide_version(const Criterion& criterion, const std::string& version) {
    const int low = compare_versions(version, criterion.limits.front());
    const int high = compare_versions(version, criterion.limits.back());
    bool good = false;
    switch (criterion.comparator) {
      case Comparator::at_least: good = low >= 0; break;
      case Comparator::at_most: good = low <= 0; break;
      case Comparator::equal: good = low == 0; break;
      case Comparator::between: good = low >= 0 && high <= 0; break;
    }
    return good ? RowState::pass : RowState::fail;
  }

  const Criteria& criteria_;
  const AcceptanceInput& input_;
  Acceptance result_;
};

bool same_value(const ParamValue& value, const std::string& wanted) {
  if (to_text(value) == wanted) return true;
  if (std::holds_alternative<std::string>(value)) return false;
  const double number = std::holds_alternative<double>(value) ? std::get<double>(value)
                                                              : static_cast<double>(std::get<std::int64_t>(value));
  if (const auto bytes = parse_bytes(wanted); bytes.ok() && static_cast<double>(*bytes) == number) return true;
  const auto parsed = parse_number(wanted);
  return parsed.ok() && *parsed == number;
}

}  // namespace

Result<Acceptance> judge_acceptance(const Criteria& criteria, const AcceptanceInput& input) {
  return AcceptanceJudge(criteria, input).judged();
}

RowState decide(double value, const std::optional<Interval>& interval, Comparator comparator,
                std::span<const double> limits) {
  if (!interval) return RowState::undecided;
  const double low = std::min(interval->low, value), high = std::max(interval->high, value);
  bool inside = false, outside = false;
  switch (comparator) {
    case Comparator::at_least:
      inside = low >= limits.front();
      outside = high < limits.front();
      break;
    case Comparator::at_most:
      inside = high <= limits.front();
      outside = low > limits.front();
      break;
    case Comparator::equal:
      inside = low == limits.front() && high == limits.front();
      outside = low > limits.front() || high < limits.front();
      break;
    case Comparator::between:
      inside = low >= limits.front() && high <= limits.back();
      outside = high < limits.front() || low > limits.back();
      break;
  }
  return inside ? RowState::pass : outside ? RowState::fail : RowState::undecided;
}

bool has_params(const Run& run, const Overrides& set) {
  return std::all_of(set.begin(), set.end(), [&](const auto& wanted) {
    if (wanted.first == "mode") return wanted.second == name_of(run.mode);
    for (const auto& [name, value] : run.params.items()) {
      if (name == wanted.first) return same_value(value, wanted.second);
    }
    return false;
  });
}

std::optional<Interval> interval_over_rounds(const Metric& metric) {
  auto interval = metric.summary.median_interval;
  std::vector<double> logs;
  for (const double median : stats::round_medians({metric.samples, metric.round_sizes})) {
    if (!(median > 0)) return interval;
    logs.push_back(std::log(median));
  }
  if (static_cast<std::int64_t>(logs.size()) < stats::kRoundsNeeded) return interval;
  const double confidence = interval ? interval->confidence : 0.95;
  const auto test = stats::one_sample_t(logs, confidence);
  const double low = stats::ratio_of_log(test.interval.low), high = stats::ratio_of_log(test.interval.high);
  if (!interval) return Interval{low, high, confidence};
  return Interval{std::min(low, interval->low), std::max(high, interval->high), confidence};
}

}  // namespace warpmark::validate
