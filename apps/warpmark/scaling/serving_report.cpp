#include "warpmark/scaling/serving_report.h"

#include <fmt/format.h>

#include "base/units.h"
#include "warpmark/scaling/plan_report.h"

namespace warpmark::apps {

Report serving_report(const validate::ServingJob& job, const std::vector<ServingRow>& rows) {
  Report report;
  report.title =
      fmt::format("{}{} parameters, to serve {:.0f} request{} of {:.0f} tokens",
                  job.model.name.empty() ? "" : job.model.name + ", ", count_text(parameters_of(job.model).total()),
                  job.requests, job.requests == 1 ? "" : "s", job.context);
  Table table;
  table.columns = {{"GPUs"},
                   {"weights in"},
                   {"weights", Align::right, 2},
                   {"KV cache", Align::right, 1},
                   {"memory per GPU", Align::right},
                   {"requests fit", Align::right},
                   {"tokens/s at most", Align::right}};
  const ServingRow* first = nullptr;
  for (const auto& row : rows) {
    const auto& plan = row.plan;
    if (plan.fits && first == nullptr) first = &row;
    table.rows.push_back({{fmt::format("{} {}", plan.gpus, row.gpu)},
                          {plan.quantization},
                          {format_bytes(plan.weights)},
                          {format_bytes(plan.cache)},
                          {of_gpu_text(plan.gpu(), row.memory_bytes), plan.fits ? Tone::good : Tone::bad},
                          {fmt::format("{:.0f}", plan.most_requests)},
                          {plan.token_s > 0 ? format_si(job.requests / plan.token_s, "") : "-"}});
  }
  Section section{first != nullptr ? "Fits" : "None fits", {}, false, false};
  if (first != nullptr) {
    section.blocks.push_back(
        Paragraph{fmt::format("{} {} hold it in {}: {:.0f} requests of this length at once.", first->plan.gpus,
                              first->gpu, first->plan.quantization, first->plan.most_requests),
                  Tone::good});
  } else {
    section.blocks.push_back(Paragraph{"More or larger GPUs are needed (--gpus 2,4,8).", Tone::bad});
  }
  section.blocks.push_back(std::move(table));
  section.blocks.push_back(Paragraph{
      "Tokens/s: all weights and the cache are read once for each decoded token; memory bandwidth is the limit.",
      Tone::quiet});
  report.sections.push_back(std::move(section));
  return report;
}

Json serving_json(const validate::ServingJob& job, const std::vector<ServingRow>& rows) {
  Json json{{"schema", "warpmark.plan/1"}, {"model", job.model.name},  {"parameters", parameters_of(job.model).total()},
            {"context", job.context},      {"requests", job.requests}, {"serving", Json::array()}};
  for (const auto& [gpu, memory_bytes, plan] : rows) {
    json["serving"].push_back({{"gpu", gpu},
                               {"gpus", plan.gpus},
                               {"quantization", plan.quantization},
                               {"weights", plan.weights},
                               {"cache", plan.cache},
                               {"activations", plan.activations},
                               {"reserve", plan.reserve},
                               {"memory", plan.gpu()},
                               {"memory_of_gpu", memory_bytes},
                               {"fits", plan.fits},
                               {"most_requests", plan.most_requests},
                               {"token_time", plan.token_s}});
  }
  return json;
}

}  // namespace warpmark::apps
