#include "base/json.h"
#include "model/json/json.h"
#include "model/scaling.h"

namespace warpmark {
namespace {

Json profile_json(const StepShares& shares) {
  Json json{{"ranks", shares.ranks},           {"step", shares.step_s},       {"communication", shares.communication_s},
            {"imbalance", shares.imbalance_s}, {"loading", shares.loading_s}, {"host", shares.host_s},
            {"rest", shares.rest_s},           {"compute", shares.compute_s}, {"utilization", shares.utilization}};
  if (shares.loading_host_s) json["loading_host"] = *shares.loading_host_s;
  if (shares.late_rank >= 0) json["late_rank"] = shares.late_rank;
  return json;
}

Json point_json(const ScalingPoint& point) {
  Json json{
      {"workers", point.workers}, {"throughput", point.throughput},      {"seconds", point.seconds},
      {"median", point.median},   {"speed_up", to_json(point.speed_up)}, {"efficiency", to_json(point.efficiency)},
      {"grade", point.grade},     {"failures", point.failures}};
  if (!point.usual.empty()) json["usual"] = point.usual;
  if (!point.reason.empty()) json["reason"] = point.reason;
  if (point.peak_memory_bytes) json["peak_memory"] = *point.peak_memory_bytes;
  if (point.gpu_memory_bytes) json["gpu_memory"] = *point.gpu_memory_bytes;
  if (point.gpu_utilization) json["gpu_utilization"] = *point.gpu_utilization;
  if (point.energy_per_work_j) json["energy_per_work"] = to_json(*point.energy_per_work_j);
  if (point.work_per_joule) json["work_per_joule"] = *point.work_per_joule;
  for (const auto& [name, value] : point.parts) json["parts"][name] = value;
  if (point.profile) json["profile"] = profile_json(*point.profile);
  if (!point.profile_problem.empty()) json["profile_problem"] = point.profile_problem;
  if (point.loss) {
    json["lost"] = {{"communication", point.loss->communication},
                    {"imbalance", point.loss->imbalance},
                    {"loading", point.loss->loading},
                    {"host", point.loss->host},
                    {"rest", point.loss->rest}};
  }
  return json;
}

}  // namespace

Json to_json(const Ranged& ranged) {
  Json json{{"value", ranged.value}};
  if (ranged.interval) {
    json["low"] = ranged.interval->low;
    json["high"] = ranged.interval->high;
    json["confidence"] = ranged.interval->confidence;
  }
  return json;
}

Json to_json(const Scaling& scaling) {
  Json json{{"schema", kScalingSchema},       {"id", scaling.id},
            {"started", scaling.started},     {"command", scaling.command},
            {"worker", scaling.worker},       {"mode", scaling.mode},
            {"unit", scaling.unit},           {"seed", std::to_string(scaling.seed)},
            {"complete", scaling.complete},   {"points", Json::array()},
            {"fits", Json::array()},          {"forecasts", Json::array()},
            {"causes", scaling.causes},       {"machine", to_json(scaling.machine)},
            {"build", to_json(scaling.build)}};
  if (!scaling.energy_method.empty()) json["energy_method"] = scaling.energy_method;
  if (!scaling.no_forecast.empty()) json["no_forecast"] = scaling.no_forecast;
  if (scaling.peak_workers) json["peak_workers"] = *scaling.peak_workers;
  for (const auto& point : scaling.points) json["points"].push_back(point_json(point));
  for (const auto& fit : scaling.fits) {
    Json item{{"law", fit.law}};
    if (!fit.reason.empty()) item["reason"] = fit.reason;
    if (!fit.off.empty()) item["residual"] = fit.residual;
    if (fit.aicc) item["aicc"] = *fit.aicc;
    if (fit.reason.empty()) item["chosen"] = fit.chosen;
    for (const auto& [workers, off] : fit.off) item["off"].push_back({{"workers", workers}, {"ratio", off}});
    for (const auto& [name, value] : fit.parameters) item["parameters"][name] = to_json(value);
    json["fits"].push_back(std::move(item));
  }
  for (const auto& told : scaling.forecasts) {
    json["forecasts"].push_back({{"workers", told.workers},
                                 {"law", told.law},
                                 {"speed_up", to_json(told.speed_up)},
                                 {"efficiency", told.efficiency}});
  }
  return json;
}

}  // namespace warpmark
