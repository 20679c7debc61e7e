#include "accuracy/allclose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "stats/error_norm.h"

namespace warpmark::accuracy {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

const Column* column_named(const Columns& columns, const std::string& name) {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const auto size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "(" + text + ")";
}

bool must_be_exact(const std::string& name, const AllcloseOptions& options) {
  return std::any_of(options.exact.begin(), options.exact.end(),
                     [&](const std::string& glob) { return glob_match(glob, name); });
}

/// `whole`: integers on both sides, which are keys, labels or counts, and no results of rounding.
Tolerance tolerance_of(const std::string& name, bool whole, const AllcloseOptions& options) {
  Tolerance tolerance = whole || must_be_exact(name, options) ? Tolerance{0, 0} : options.tolerance;
  for (const auto& [glob, own] : options.by_column) {
    if (glob_match(glob, name)) tolerance = own;
  }
  return tolerance;
}

/// Difference over what is allowed: at most 1 passes.
double excess_of(double out, double reference, const Tolerance& tolerance, bool equal_nan) {
  if (std::isnan(out) || std::isnan(reference)) {
    return equal_nan && std::isnan(out) && std::isnan(reference) ? 0 : kInfinity;
  }
  if (out == reference) return 0;
  if (std::isinf(out) || std::isinf(reference)) return kInfinity;
  const double allowed = tolerance.absolute + tolerance.relative * std::fabs(reference);
  return allowed > 0 ? std::fabs(out - reference) / allowed : kInfinity;
}

class Offenders {
 public:
  explicit Offenders(std::size_t most) : most_(most) {}
  void add(Offender offender) {
    // Sorted, the worst first; equally bad ones in the order found.
    const auto place = std::upper_bound(worst_.begin(), worst_.end(), offender,
                                        [](const Offender& a, const Offender& b) { return a.excess > b.excess; });
    if (static_cast<std::size_t>(place - worst_.begin()) >= most_) return;
    worst_.insert(place, std::move(offender));
    if (worst_.size() > most_) worst_.pop_back();
  }
  std::vector<Offender> take() { return std::move(worst_); }

 private:
  std::size_t most_;
  std::vector<Offender> worst_;
};

void compare_numbers(const Column& reference, const Column& out, const AllcloseOptions& options, ColumnResult& result) {
  const bool whole = reference.whole && out.whole;
  const Tolerance tolerance = tolerance_of(reference.name, whole, options);
  Offenders offenders(options.most_offenders);
  stats::ErrorNorm norm;
  for (std::size_t i = 0; i < reference.numbers.size(); ++i) {
    const double expected = reference.numbers[i], got = out.numbers[i];
    norm.add(got, expected);
    // Two finite numbers may differ by more than a number can be.
    const double difference = std::isfinite(got) && std::isfinite(expected)
                                  ? std::min(std::fabs(got - expected), std::numeric_limits<double>::max())
                                  : kInfinity;
    if (std::isfinite(difference)) {
      result.max_absolute = std::max(result.max_absolute, difference);
      const double relative = expected == 0 ? 0 : difference / std::fabs(expected);
      result.max_relative = std::max(result.max_relative, std::min(relative, std::numeric_limits<double>::max()));
    }
    const double excess = excess_of(got, expected, tolerance, options.equal_nan);
    if (excess <= 1) continue;
    ++result.mismatches;
    offenders.add({static_cast<std::int64_t>(i), fmt::format("{}", expected), fmt::format("{}", got), excess});
  }
  result.whole = whole && result.mismatches > 0 && tolerance.relative == 0 && tolerance.absolute == 0 &&
                 !must_be_exact(reference.name, options);
  result.relative_error = reference.numbers.empty() ? 0 : norm.value();
  result.offenders = offenders.take();
}

void compare_texts(const Column& reference, const Column& out, const AllcloseOptions& options, ColumnResult& result) {
  Offenders offenders(options.most_offenders);
  for (std::size_t i = 0; i < reference.texts.size(); ++i) {
    if (reference.texts[i] == out.texts[i]) continue;
    ++result.mismatches;
    offenders.add({static_cast<std::int64_t>(i), reference.texts[i], out.texts[i], kInfinity});
  }
  result.offenders = offenders.take();
}

ColumnResult compare_column(const Column& reference, const Column* out, const AllcloseOptions& options) {
  ColumnResult result{
      .name = reference.name, .n = static_cast<std::int64_t>(reference.size()), .problem = {}, .offenders = {}};
  if (out == nullptr) {
    result.problem = "missing in the output";
  } else if (reference.shape != out->shape) {
    result.problem = fmt::format("the shape is {}, must be {}", shape_text(out->shape), shape_text(reference.shape));
  } else if (reference.size() != out->size()) {
    result.problem = fmt::format("there are {} values, must be {}", out->size(), reference.size());
  } else if (reference.places != out->places) {
    result.problem = "its values stand at other places in the lists";
  } else if (reference.numeric != out->numeric) {
    result.problem = reference.numeric ? "there are texts, must be numbers" : "there are numbers, must be texts";
  } else if (reference.numeric) {
    compare_numbers(reference, *out, options, result);
  } else {
    compare_texts(reference, *out, options, result);
  }
  return result;
}

}  // namespace

std::vector<ColumnResult> allclose(const Columns& reference, const Columns& out, const AllcloseOptions& options) {
  std::vector<ColumnResult> results;
  for (const auto& column : reference) {
    results.push_back(compare_column(column, column_named(out, column.name), options));
  }
  for (const auto& column : out) {
    if (column_named(reference, column.name) != nullptr) continue;
    results.push_back({.name = column.name, .problem = "missing in the reference", .offenders = {}});
  }
  return results;
}

}  // namespace warpmark::accuracy
