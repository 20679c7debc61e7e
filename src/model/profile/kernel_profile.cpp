#include "model/profile/kernel_profile.h"

namespace warpmark {

std::uint32_t KernelMetricNames::intern(std::string_view id, std::string_view unit) {
  if (const auto known = indices_.find({id, unit}); known != indices_.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(names_.size());
  const Name& name = names_.emplace_back(Name{std::string(id), std::string(unit)});
  indices_.emplace(std::pair(std::string_view(name.id), std::string_view(name.unit)), index);
  return index;
}

KernelMetrics::KernelMetrics(std::initializer_list<KernelMetric> metrics) {
  for (const KernelMetric& metric : metrics) add(metric.id, metric.unit, metric.value);
}

void KernelMetrics::reserve(std::size_t count) {
  indices_.reserve(count);
  values_.reserve(count);
}

void KernelMetrics::add(std::string_view id, std::string_view unit, double value) {
  if (names_ == nullptr) names_ = std::make_shared<KernelMetricNames>();
  indices_.push_back(names_->intern(id, unit));
  values_.push_back(value);
}

KernelMetric KernelMetrics::operator[](std::size_t i) const {
  return {names_->id(indices_[i]), names_->unit(indices_[i]), values_[i]};
}

std::optional<double> KernelMetrics::find(std::string_view id) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (names_->id(indices_[i]) == id) return values_[i];
  }
  return std::nullopt;
}

}  // namespace warpmark
