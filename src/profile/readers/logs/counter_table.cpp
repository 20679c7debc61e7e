#include "profile/readers/logs/counter_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "profile/readers/text/decimal.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {

void CounterTable::set_columns(const std::vector<std::string>& headers, std::span<const std::string_view> unused) {
  if (headers == headers_) return;  // tools repeat them
  headers_ = headers;
  columns_.clear();
  for (const std::string& header : headers) {
    const auto found = std::ranges::find(known_, header, &CounterColumn::header);
    columns_.push_back(found == known_.end() ? nullptr : &*found);
    if (found == known_.end() && std::ranges::find(unused, header) == unused.end())
      count_issue(session_.quality, "unknown_column", "columns whose name is not known: left out", header);
  }
}

bool CounterTable::add(int device, std::int64_t time_ns, std::span<const std::string_view> values) {
  if (values.size() < columns_.size()) return false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == nullptr) continue;
    const auto value = parse_number(values[i]);
    add_value(columns_[i]->id, columns_[i]->unit, device, time_ns,
              value ? *value * columns_[i]->scale : std::numeric_limits<double>::quiet_NaN());
  }
  return true;
}

bool CounterTable::add_to(int device, std::int64_t time_ns, std::span<const std::string_view> values) {
  if (values.size() < columns_.size()) return false;
  bool any = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == nullptr) continue;
    const auto known = series_.find({device, columns_[i]->id});
    if (known == series_.end() || session_.counters[known->second].times.back() != time_ns) continue;
    double& sum = session_.counters[known->second].values.back();
    any = true;
    if (const auto value = parse_number(values[i])) sum = (std::isnan(sum) ? 0 : sum) + *value * columns_[i]->scale;
  }
  return any;
}

void CounterTable::add_value(const char* id, const char* unit, int device, std::int64_t time_ns, double value) {
  const auto [known, added] = series_.try_emplace({device, id}, session_.counters.size());
  if (added) session_.counters.push_back({id, unit, device, {}, {}});
  CounterSeries& series = session_.counters[known->second];
  series.times.push_back(time_ns);
  series.values.push_back(value);
}

std::optional<double> CounterTable::last(const char* id, int device) const {
  const auto known = series_.find({device, id});
  if (known == series_.end()) return std::nullopt;
  return session_.counters[known->second].values.back();
}

void CounterTable::finish() {
  std::erase_if(series_, [this](const auto& one) {
    CounterSeries& series = session_.counters[one.second];
    if (!std::ranges::all_of(series.values, [](double value) { return std::isnan(value); })) return false;
    count_issue(session_.quality, "no_values", "columns without a value, as the GPU does not report them: left out",
                series.id);
    series.values.clear();
    return true;
  });
  for (const auto& [key, index] : series_) {
    CounterSeries& series = session_.counters[index];
    if (std::is_sorted(series.times.begin(), series.times.end())) continue;
    std::vector<std::pair<std::int64_t, double>> points;
    for (std::size_t i = 0; i < series.times.size(); ++i) points.emplace_back(series.times[i], series.values[i]);
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < points.size(); ++i) {
      series.times[i] = points[i].first;
      series.values[i] = points[i].second;
    }
  }
  std::erase_if(session_.counters, [](const CounterSeries& series) { return series.values.empty(); });
}

Sniff sniff_counter_table(std::string_view head, bool (*is_header)(std::string_view line)) {
  for (int lines = 0; lines < 20; ++lines) {
    if (is_header(head)) return {85, ""};
    const auto end = head.find('\n');
    if (end == std::string_view::npos) break;
    head.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace warpmark::profile
