#include "collectives/calls/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "base/untrusted/read_fields.h"

namespace warpmark::collectives {
namespace {

struct FaultName {
  Fault fault;
  const char* name;
};
constexpr std::array<FaultName, 6> kFaults{{{Fault::none, "none"},
                                            {Fault::wrong_byte, "wrong_byte"},
                                            {Fault::slow, "slow"},
                                            {Fault::dead, "dead"},
                                            {Fault::stopped, "stopped"},
                                            {Fault::unequal, "unequal"}}};

Error plant_error(std::string_view text) {
  return usage_error(fmt::format("'{}' is no fault that can be planted", text),
                     "wrong_byte:RANK, slow:RANK:TIME, dead:RANK, stopped:RANK or unequal:RANK");
}

}  // namespace

Result<Plant> parse_plant(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() < 2) return plant_error(text);
  const auto row =
      std::find_if(kFaults.begin(), kFaults.end(), [&](const auto& item) { return parts[0] == item.name; });
  if (row == kFaults.end() || row->fault == Fault::none) return plant_error(text);
  if (parts.size() != (row->fault == Fault::slow ? 3U : 2U)) return plant_error(text);
  Plant plant{row->fault, 0, 0};
  WM_ASSIGN(const auto rank, parse_integer(parts[1]));
  if (rank < 0 || rank > 1'000'000) return plant_error(text);
  plant.rank = static_cast<int>(rank);
  if (row->fault == Fault::slow) {
    WM_ASSIGN(plant.delay_s, parse_duration_s(parts[2]));
  }
  return plant;
}

std::string to_text(const Plant& plant) {
  const auto row =
      std::find_if(kFaults.begin(), kFaults.end(), [&](const auto& item) { return item.fault == plant.fault; });
  const std::string name = row->name;
  if (plant.fault == Fault::none) return name;
  if (plant.fault == Fault::slow) return fmt::format("{}:{}:{}s", name, plant.rank, plant.delay_s);
  return fmt::format("{}:{}", name, plant.rank);
}

Json to_json(const Plan& plan) {
  std::vector<std::string> ops;
  for (const auto op : plan.ops) ops.emplace_back(name_of(op));
  return Json{{"collective", info_of(plan.kind).id},
              {"type", name_of(plan.type)},
              {"ops", ops},
              {"sizes", plan.sizes},
              {"root", plan.root},
              {"iterations", plan.iterations},
              {"warmups", plan.warmups},
              {"check", plan.check},
              {"graph", plan.graph},
              {"out_of_place", plan.out_of_place},
              {"in_place", plan.in_place},
              {"average", static_cast<int>(plan.average)},
              {"timeout", plan.timeout_s},
              {"engine", plan.engine},
              {"gpus", plan.gpus},
              {"pool", plan.pool_bytes},
              {"plant", to_text(plan.plant)},
              {"launcher", plan.launcher},
              {"launcher_host", plan.launcher_host}};
}

Result<Plan> plan_from_json(const Json& json) {
  Plan plan;
  std::vector<std::string> ops;
  std::string kind, type, plant;
  try {
    kind = json.at("collective").get<std::string>();
    type = json.at("type").get<std::string>();
    ops = json.at("ops").get<std::vector<std::string>>();
    plan.sizes = json.at("sizes").get<std::vector<std::int64_t>>();
    plan.root = json.at("root").get<int>();
    plan.iterations = json.at("iterations").get<int>();
    plan.warmups = json.at("warmups").get<int>();
    plan.check = json.at("check").get<bool>();
    plan.graph = json.at("graph").get<int>();
    plan.out_of_place = json.at("out_of_place").get<bool>();
    plan.in_place = json.at("in_place").get<bool>();
    plan.average = static_cast<RankAverage>(std::clamp(json.at("average").get<int>(), 0, 3));
    plan.timeout_s = json.at("timeout").get<double>();
    plan.engine = json.at("engine").get<std::string>();
    plan.gpus = json.at("gpus").get<int>();
    plan.pool_bytes = json.at("pool").get<std::int64_t>();
    plant = json.at("plant").get<std::string>();
    plan.launcher = json.at("launcher").get<int>();
    plan.launcher_host = json.at("launcher_host").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    return data_error("the plan of a rank does not read: " + without_library_names(error.what()),
                      "all ranks must run the same build of warpmark");
  }
  WM_ASSIGN(plan.kind, parse_collective(kind));
  WM_ASSIGN(plan.type, parse_data_type(type));
  plan.ops.clear();
  for (const auto& op : ops) {
    WM_ASSIGN(const auto parsed, parse_reduce_op(op));
    plan.ops.push_back(parsed);
  }
  if (plant != "none") {
    WM_ASSIGN(plan.plant, parse_plant(plant));
  }
  return plan;
}

}  // namespace warpmark::collectives
