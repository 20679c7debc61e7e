#include "base/json.h"
#include "model/json/json.h"
#include "model/power_caps.h"

namespace warpmark {
Json to_json(const PowerCaps& caps) {
  Json json{{"schema", kPowerCapsSchema},
            {"id", caps.id},
            {"started", caps.started},
            {"command", caps.command},
            {"unit", caps.unit},
            {"gpus", caps.gpus},
            {"found", caps.found_w},
            {"default", caps.default_w},
            {"restored", caps.restored},
            {"complete", caps.complete},
            {"points", Json::array()},
            {"verdict", caps.verdict},
            {"machine", to_json(caps.machine)},
            {"build", to_json(caps.build)}};
  if (!caps.energy_method.empty()) json["energy_method"] = caps.energy_method;
  if (caps.most_efficient) json["most_efficient"] = *caps.most_efficient;
  for (const auto& point : caps.points) {
    Json one{{"cap", point.cap_w},
             {"throughput", point.throughput},
             {"energy_per_work_samples", point.energy_per_work},
             {"speed", to_json(point.speed)},
             {"failures", point.failures}};
    if (point.energy) one["energy_per_work"] = to_json(*point.energy);
    if (point.work_per_joule) one["work_per_joule"] = *point.work_per_joule;
    if (!point.reason.empty()) one["reason"] = point.reason;
    json["points"].push_back(std::move(one));
  }
  return json;
}

}  // namespace warpmark
