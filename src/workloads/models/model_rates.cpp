#include "workloads/models/model_rates.h"

#include <fmt/format.h>

#include "device/datasheet.h"
#include "stats/sampled_metric.h"

namespace warpmark::workloads {

void add_model_rates(const ModelStep& step, Run& run) {
  const std::vector<double> seconds = run.metrics.front().samples;
  const auto rate = [&](const char* id, const char* unit, double work) {
    std::vector<double> rates;
    for (const double s : seconds) rates.push_back(work / s);
    run.metrics.push_back(stats::sampled_metric(id, unit, Better::higher, std::move(rates)));
  };
  const auto add = [&](const char* id, const char* unit, Better better, double value) {
    run.metrics.push_back(stats::sampled_metric(id, unit, better, {value}));
  };
  const double samples = static_cast<double>(step.shape.batch * step.params.integer("accumulate")) * step.ranks;
  const bool decodes = step.params.text("pass") == "decode";
  const double words = static_cast<double>(decodes ? step.shape.new_tokens : step.shape.tokens);
  rate("flop_rate", "FLOP/s", run.cost.flops);
  rate("samples_rate", "1/s", samples);
  if (words > 0) rate("tokens_rate", "1/s", samples * words);
  if (step.joules) {
    add("samples_energy", "J", Better::lower, *step.joules / samples);
    if (words > 0) add("tokens_energy", "1/J", Better::higher, samples * words / *step.joules);
  }
  if (step.device.backend == "cuda") run.cost.flops /= step.ranks;
  const auto sheets = device::built_in_datasheets();
  const auto* sheet = device::datasheet_of_device(sheets, step.device.name);
  const auto peak = sheet == nullptr ? decltype(sheet->peak_rate.end()){} : sheet->peak_rate.find(run.cost.flop_type);
  if (sheet == nullptr || peak == sheet->peak_rate.end()) {
    run.notes.emplace_back("utilization",
                           fmt::format("none: no datasheet here has the {} peak of {}", run.cost.flop_type,
                                       step.device.name.empty() ? step.device.id : step.device.name));
    return;
  }
  rate("mfu", "ratio", run.cost.flops / peak->second);
  run.notes.emplace_back(
      "utilization",
      fmt::format("of {:.4g} TFLOP/s {}, datasheet {}; as PaLM defines it (appendix B), attention in full",
                  peak->second * 1e-12, run.cost.flop_type, sheet->id));
}

}  // namespace warpmark::workloads
