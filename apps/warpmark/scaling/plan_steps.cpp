#include "warpmark/scaling/plan_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "validate/scaling/training_plan.h"
#include "warpmark/scaling/plan_options.h"
#include "warpmark/scaling/plan_report.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

Result<std::map<int, double>> measured_steps(const ParsedOptions& options) {
  std::map<int, double> steps;
  for (const auto& text : options.all("--measured")) {
    const auto equals = text.find('=');
    const auto gpus = parse_integer(text.substr(0, equals));
    if (equals == std::string::npos || !gpus.ok())
      return usage_error("'" + text + "' is no measured step", "such as 2=110ms");
    WM_ASSIGN(const double step_s, parse_duration_s(text.substr(equals + 1)));
    if (!(step_s > 0)) return usage_error("--measured " + text + ": a step takes more than 0 s");
    steps[static_cast<int>(*gpus)] = step_s;
  }
  return steps;
}

/// What is left of the gradients' bytes, which are given in 32 bits.
Result<double> compressed_share(const ParsedOptions& options, const CompressionChoice& choice) {
  double hidden = 1;
  if (choice.kind == validate::Compression::power_sgd) {
    if (!options.has("--hidden")) {
      return usage_error("PowerSGD needs --hidden: the size of the matrices that it makes thin ones of");
    }
    WM_ASSIGN(hidden, number_option(options, "--hidden", 0));
  }
  const double plain = validate::gradient_bytes(1, hidden, validate::Compression::none);
  return validate::gradient_bytes(1, hidden, choice.kind, choice.power_sgd_rank) / plain;
}

Result<validate::DataParallelJob> data_parallel_job(const ParsedOptions& options, const CompressionChoice& choice) {
  validate::DataParallelJob job;
  WM_ASSIGN(job.step_s, parse_duration_s(options.get("--step-time")));
  if (!(job.step_s > 0)) return usage_error("--step-time must be above 0");
  if (!options.has("--gradients")) return usage_error("--gradients is needed: bytes exchanged per step");
  WM_ASSIGN(const auto bytes, parse_bytes(options.get("--gradients")));
  job.gradient_bytes = static_cast<double>(bytes);
  if (options.has("--bucket")) {
    WM_ASSIGN(const auto bucket, parse_bytes(options.get("--bucket")));
    if (bucket <= 0) return usage_error("--bucket must be above 0");
    job.bucket_bytes = static_cast<double>(bucket);
  }
  WM_ASSIGN(const auto accumulation, count_of(options, "--accumulation", 1, 1, 1'000'000));
  job.accumulation = static_cast<int>(accumulation);
  WM_ASSIGN(job.contention, contention_of(options, job.contention));
  WM_ASSIGN(job.overlap, ratio_of(options, "--overlap", job.overlap));
  WM_ASSIGN(const double share, compressed_share(options, choice));
  return validate::compressed(job, share);
}

Json steps_json(const std::vector<Predicted>& predicted, const PlanLinks& links) {
  Json json{{"schema", "warpmark.plan/1"},
            {"steps", Json::array()},
            {"link", fit_json(links.base().fit)},
            {"network", network_json(links)}};
  for (const auto& item : predicted) {
    Json one{{"gpus", item.gpus},
             {"step", item.step.step_s},
             {"exposed", item.step.exposed_s},
             {"communication", item.step.communication_s},
             {"efficiency", item.step.efficiency},
             {"link_assumed", link_is_assumed(links, item.gpus)}};
    if (item.measured_s) one["measured"] = *item.measured_s;
    json["steps"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

Result<int> plan_steps(Context& context, const ParsedOptions& options, const std::string& format) {
  WM_ASSIGN(auto sweeps, read_sweeps(options.all("--measured-links")));
  if (sweeps.empty()) return usage_error("--measured-links is needed: how long an all_reduce takes", "see --help");
  WM_ASSIGN(const auto reported, given_links(options));
  WM_ASSIGN(const auto links, plan_links(std::move(sweeps), reported));
  WM_ASSIGN(const auto choice, compression_of(options, "none"));
  WM_ASSIGN(const auto job, data_parallel_job(options, choice));
  WM_ASSIGN(const auto held_back, measured_steps(options));
  WM_ASSIGN(const auto counts, gpu_counts(options, "--to", "2,4,8,16,32,64", 2));
  for (const auto& [gpus, step_s] : held_back) {
    if (std::ranges::find(counts, gpus) != counts.end()) continue;
    return usage_error(fmt::format("--measured {}=...: {} GPUs are not predicted", gpus, gpus), "name them in --to");
  }
  std::vector<Predicted> predicted;
  for (const int gpus : counts) {
    const double message_s = all_reduce_s(links, validate::message_bytes(job), gpus);
    Predicted item{gpus, validate::data_parallel_step(job, message_s), {}};
    if (held_back.contains(gpus)) item.measured_s = held_back.at(gpus);
    predicted.push_back(item);
  }
  auto report = predicted_report(predicted, links, choice.kind == validate::Compression::power_sgd);
  const auto shown = shown_as([&] { return steps_json(predicted, links); }, std::move(report));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "plan", shown));
  return kSuccess;
}

}  // namespace warpmark::apps
