#include "exchange/mllog/convergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/lines/line_file.h"
#include "base/units.h"
#include "stats/distributions.h"

namespace warpmark::exchange {
namespace {

constexpr double kAlpha = 0.05;

/// Sorted, without the extremes. Nothing where nothing is left.
std::vector<double> inner(std::vector<double> values, int dropped) {
  std::sort(values.begin(), values.end());
  const auto ends = static_cast<std::size_t>(dropped);
  if (values.size() <= 2 * ends) return {};
  return {values.begin() + static_cast<std::ptrdiff_t>(ends), values.end() - static_cast<std::ptrdiff_t>(ends)};
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Divided by n, as numpy.std is.
double spread_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// t = (mean - minimum) / (spread sqrt(1/n + 1/m)) at its quantile; both have the same spread. The checker takes two
/// runs off every benchmark's result here, also where four at each end do not count.
double min_acceptable(const ReferencePoint& point, double of_reference, const ConvergenceRules& rules) {
  if (point.spread == 0) return point.mean;
  const double of_result = std::max(1, rules.runs - 2);
  const double t = stats::t_quantile_of_tail(kAlpha, of_reference + of_result - 2);
  return point.mean - t * point.spread * std::sqrt(1 / of_reference + 1 / of_result);
}

ReferencePoint between(const ReferencePoint& low, const ReferencePoint& high, double batch,
                       const ConvergenceRules& rules) {
  const double share = high.batch > low.batch ? (batch - low.batch) / (high.batch - low.batch) : 0;
  ReferencePoint point{.batch = batch,
                       .mean = std::lerp(low.mean, high.mean, share),
                       .spread = std::lerp(low.spread, high.spread, share),
                       .minimum = 0,
                       .between = true};
  point.minimum = min_acceptable(point, 2.0 * rules.runs, rules);
  return point;
}

/// The fastest point is the one of the smallest batch, and of the others none is slower than between its neighbours.
std::vector<ReferencePoint> pruned(std::vector<ReferencePoint> points, const ConvergenceRules& rules) {
  const auto fastest =
      std::min_element(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.mean < b.mean; });
  points.erase(points.begin(), fastest);
  for (std::size_t i = 1; i + 1 < points.size();) {
    if (points[i].mean > between(points[i - 1], points[i + 1], points[i].batch, rules).mean) {
      points.erase(points.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return points;
}

constexpr std::string_view kToken = ":::MLLOG ";

/// The reference reads logs as Latin-1, so that no byte is wrong; ours are bytes above 127 in UTF-8 alike.
std::string as_utf8(std::string_view latin) {
  std::string text;
  for (const char c : latin) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

Result<MlLogEvent> event_of(std::string_view text, const std::string& place) {
  auto json = parse_json(std::string(text), place);
  if (!json.ok()) json = parse_json(as_utf8(text), place);
  if (!json.ok()) return json.error();
  if (!json->is_object()) return data_error(place + ": no JSON object follows :::MLLOG");
  for (const char* part : {"time_ms", "key", "value", "metadata"}) {
    if (!json->contains(part)) return data_error(place + ": the line has no '" + part + "'");
  }
  const Json& time = (*json)["time_ms"];
  const auto time_ms = time.is_string()   ? parse_number(time.get<std::string>())
                       : time.is_number() ? Result<double>(time.get<double>())
                                          : data_error("");
  if (!time_ms.ok() || !(*json)["key"].is_string()) {
    return data_error(place + ": time_ms must be a number and key a text");
  }
  MlLogEvent event;
  event.time_ms = *time_ms;
  event.key = (*json)["key"].get<std::string>();
  event.value = std::move((*json)["value"]);
  event.metadata = std::move((*json)["metadata"]);
  return event;
}

}  // namespace

Result<double> olympic_mean(std::vector<double> values, int dropped) {
  const auto kept = inner(std::move(values), dropped);
  if (kept.empty()) return usage_error(fmt::format("too few runs: {} at each end do not count", dropped));
  return mean_of(kept);
}

Result<ReferencePoint> reference_point(double batch, std::vector<double> needed, const ConvergenceRules& rules) {
  const auto kept = inner(needed, rules.dropped);
  if (kept.empty()) {
    return data_error(fmt::format("the reference for a batch of {} has {} trainings; {} at each end do not count",
                                  batch, needed.size(), rules.dropped));
  }
  ReferencePoint point{
      .batch = batch, .mean = mean_of(kept), .spread = spread_of(rules.spread == Spread::of_all ? needed : kept)};
  point.minimum = min_acceptable(point, static_cast<double>(kept.size()), rules);
  return point;
}

Result<std::vector<ReferencePoint>> read_references(const Json& json, const std::string& name,
                                                    const std::string& benchmark, const ConvergenceRules& rules) {
  if (!json.is_object()) return data_error(name + " has no reference convergence points");
  std::vector<ReferencePoint> points;
  for (const auto& [record, content] : json.items()) {
    const Json* values = nullptr;
    for (const char* unit : {"Epochs to converge", "samples to converge"}) {
      if (content.is_object() && content.contains(unit)) values = &content[unit];
    }
    if (values == nullptr || !values->is_array() || !content.contains("Benchmark") || !content.contains("BS") ||
        !content["BS"].is_number()) {
      return data_error(name + ": '" + record + "' is not a reference convergence point",
                        "Benchmark, BS and Epochs (or samples) to converge, as in rcp_checker of mlcommons/logging");
    }
    if (content["Benchmark"] != benchmark) continue;
    std::vector<double> needed;
    for (const auto& value : *values) {
      if (!value.is_number()) return data_error(name + ": '" + record + "' has a value that is not a number");
      needed.push_back(value.get<double>());
    }
    WM_ASSIGN(auto point, reference_point(content["BS"].get<double>(), std::move(needed), rules));
    points.push_back(point);
  }
  if (points.empty()) return data_error(name + " has no reference convergence points of " + benchmark);
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.batch < b.batch; });
  return points;
}

Result<Convergence> judge_convergence(std::vector<ReferencePoint> points, double batch, std::vector<double> needed,
                                      const ConvergenceRules& rules) {
  Convergence verdict;
  WM_ASSIGN(verdict.mean, olympic_mean(std::move(needed), rules.dropped));
  if (rules.prune) points = pruned(std::move(points), rules);
  const auto above =
      std::find_if(points.begin(), points.end(), [&](const auto& point) { return point.batch >= batch; });
  if (above == points.end()) {
    verdict.point = points.back();
    verdict.why = fmt::format("the reference has no batch as large as {}: submit a reference for it", batch);
    return verdict;
  }
  verdict.point = *above;
  if (above->batch != batch && above != points.begin()) {
    verdict.point = between(*(above - 1), *above, batch, rules);
    verdict.why = "interpolated between two batches of the reference";
  } else if (above->batch != batch) {
    verdict.why = "the reference has no batch as small; compared with its smallest";
  }
  verdict.point.minimum -= rules.allowance;
  if (!std::isfinite(verdict.mean)) {
    verdict.why = "too many of the trainings did not converge";
    return verdict;
  }
  verdict.accepted = verdict.mean >= verdict.point.minimum;
  if (!verdict.accepted) verdict.why = "it converges faster than the reference can explain";
  if (verdict.mean < verdict.point.mean) verdict.scale = verdict.point.mean / verdict.mean;
  return verdict;
}

Result<std::vector<MlLogEvent>> read_mllog(const std::string& name, std::string_view text) {
  std::vector<MlLogEvent> events;
  std::int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = take_line(text);
    const auto token = line.rfind(kToken);
    if (token == std::string_view::npos) continue;
    WM_ASSIGN(auto event, event_of(line.substr(token + kToken.size()), fmt::format("{} line {}", name, number)));
    event.line = number;
    events.push_back(std::move(event));
  }
  if (events.empty()) {
    return data_error(name + " has no line with :::MLLOG", "a log as of MLPerf's training, result_0.txt");
  }
  return events;
}

}  // namespace warpmark::exchange
