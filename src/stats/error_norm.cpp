#include "stats/error_norm.h"

#include "base/result.h"

namespace warpmark::stats {
namespace {

template <typename Out, typename Reference>
double relative_error_of(std::span<const Out> out, std::span<const Reference> reference) {
  WM_CHECK(out.size() == reference.size());
  ErrorNorm norm;
  for (std::size_t i = 0; i < out.size(); ++i) {
    norm.add(static_cast<double>(out[i]), static_cast<double>(reference[i]));
  }
  return norm.value();
}

}  // namespace

double relative_error(std::span<const double> out, std::span<const double> reference) {
  return relative_error_of(out, reference);
}

double relative_error(std::span<const float> out, std::span<const double> reference) {
  return relative_error_of(out, reference);
}

double relative_error(std::span<const float> out, std::span<const float> reference) {
  return relative_error_of(out, reference);
}

}  // namespace warpmark::stats
