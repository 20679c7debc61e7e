// What the options of `warpmark plan` say of a model, its training and its machines, checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "validate/scaling/inference_plan.h"
#include "validate/scaling/training_plan.h"
#include "warpmark/scaling/plan_options.h"

namespace warpmark::apps {

/// --model, --config, or sizes; sizes that are given replace those of the model.
[[nodiscard]] Result<Transformer> model_option(const ParsedOptions& options);

/// `gpus`: numbers of them that the usual batch should divide by.
[[nodiscard]] Result<validate::TrainingJob> training_job_of(const ParsedOptions& options, const std::vector<int>& gpus);

/// Links as measured, where they are; else those of the datasheet, and the usual network.
[[nodiscard]] Result<validate::Cluster> cluster_of(const ParsedOptions& options, const std::string& gpu,
                                                   const validate::TrainingNumbers& numbers,
                                                   const std::optional<PlanLinks>& links);
/// Nothing without --measured-links. Usage error where no sweep shows the link within a host.
[[nodiscard]] Result<std::optional<PlanLinks>> measured_links(const ParsedOptions& options);
/// --gpu, or the usual one.
[[nodiscard]] std::vector<std::string> gpu_kinds(const ParsedOptions& options);

/// MFU that published trainings reach on such a GPU, lowest and highest; by its peak and the model's parameters.
struct PublishedMfu {
  double low = 0;
  double high = 0;
  const char* source = "";
};
[[nodiscard]] PublishedMfu published_mfu(double peak_flops, validate::Precision precision, double parameters);

/// --layout, each; one that leaves all open where there is none.
[[nodiscard]] Result<std::vector<validate::LayoutRequest>> layout_requests(const ParsedOptions& options);

}  // namespace warpmark::apps
