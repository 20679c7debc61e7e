// What `warpmark plan` shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "collectives/alpha_beta.h"
#include "model/report.h"
#include "validate/scaling/training_plan.h"
#include "warpmark/scaling/measured_links.h"

namespace warpmark::apps {

/// A step with so many GPUs.
struct Foretold {
  int gpus = 0;
  validate::DataParallelStep step;
  std::optional<double> measured_s;
};

[[nodiscard]] Report layouts_report(const validate::TrainingJob& job, const std::vector<validate::PlannedLayout>& plans,
                                    std::size_t top, const std::optional<MeasuredLink>& measured);
[[nodiscard]] Report foretold_report(const std::vector<Foretold>& foretold, const MeasuredLink& link);
[[nodiscard]] Json layout_json(const validate::PlannedLayout& plan);
[[nodiscard]] Json fit_json(const collectives::LinkFit& fit);

}  // namespace warpmark::apps
