// What `warpmark plan --inference` shows.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "model/report.h"
#include "validate/scaling/inference_plan.h"

namespace warpmark::apps {

/// A quantization on so many GPUs of this kind.
struct ServingRow {
  std::string gpu;
  double memory_bytes = 0;
  validate::ServingPlan plan;
};
[[nodiscard]] Report serving_report(const validate::ServingJob& job, const std::vector<ServingRow>& rows);
[[nodiscard]] Json serving_json(const validate::ServingJob& job, const std::vector<ServingRow>& rows);

}  // namespace warpmark::apps
