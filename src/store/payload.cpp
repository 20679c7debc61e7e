#include "store/payload.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/json.h"
#include "model/json/json.h"

namespace warpmark::store {
namespace {

static_assert(std::endian::native == std::endian::little, "samples are stored as they lie in memory");

Error damaged(std::string_view name) { return data_error("the samples of " + std::string(name) + " are damaged"); }

}  // namespace

Payload to_payload(const Run& run) {
  Run bare = run;
  for (auto& metric : bare.metrics) metric.samples.clear();
  const Json json = to_json(bare);
  Payload payload{dump_json(json, -1), {}};
  if (json["metrics"].size() != run.metrics.size()) return payload;  // a failed run shows no metrics
  for (const auto& metric : run.metrics) {
    const std::uint64_t count = metric.samples.size();
    payload.samples.append(reinterpret_cast<const char*>(&count), sizeof count);
    payload.samples.append(reinterpret_cast<const char*>(metric.samples.data()), count * sizeof(double));
  }
  return payload;
}

Result<Run> run_from_payload(std::string_view document, std::string_view samples, std::string_view name) {
  WM_ASSIGN(const Json json, parse_json(document, name));
  WM_ASSIGN(Run run, run_from_json(json));
  for (auto& metric : run.metrics) {
    std::uint64_t count = 0;
    if (samples.size() < sizeof count) return damaged(name);
    std::memcpy(&count, samples.data(), sizeof count);
    samples.remove_prefix(sizeof count);
    if (count > samples.size() / sizeof(double)) return damaged(name);
    metric.samples.resize(count);
    if (count > 0) std::memcpy(metric.samples.data(), samples.data(), count * sizeof(double));
    samples.remove_prefix(count * sizeof(double));
    // What is not finite has no JSON form.
    for (const double sample : metric.samples) {
      if (!std::isfinite(sample)) return damaged(name);
    }
  }
  if (!samples.empty()) return damaged(name);
  return run;
}

}  // namespace warpmark::store
