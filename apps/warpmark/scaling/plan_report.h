// What `warpmark plan` shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "collectives/alpha_beta.h"
#include "model/report.h"
#include "validate/scaling/training_plan.h"
#include "warpmark/scaling/plan_job.h"
#include "warpmark/scaling/plan_options.h"

namespace warpmark::apps {

/// A step with so many GPUs.
struct Predicted {
  int gpus = 0;
  validate::DataParallelStep step;
  std::optional<double> measured_s;
};

/// Several numbers of GPUs: `plans` are the best of each.
[[nodiscard]] Report layouts_report(const validate::TrainingJob& job, const std::vector<validate::PlannedLayout>& plans,
                                    std::size_t top, const std::optional<PlanLinks>& links);
/// "70.6 B", as the field writes parameters and tokens.
[[nodiscard]] std::string count_text(double count);
/// "39.9 of 79.2 GiB".
[[nodiscard]] std::string of_gpu_text(double bytes, double all);
/// `power_sgd`: it computes what is not in the step.
[[nodiscard]] Report predicted_report(const std::vector<Predicted>& predicted, const PlanLinks& links, bool power_sgd);
[[nodiscard]] Json layout_json(const validate::PlannedLayout& plan);
[[nodiscard]] Json fit_json(const collectives::LinkFit& fit);
/// GPUs of a node, how those beyond are reckoned, and the link between nodes where there is one.
[[nodiscard]] Json network_json(const PlanLinks& links);

}  // namespace warpmark::apps
