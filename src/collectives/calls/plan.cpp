#include "collectives/calls/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "model/metric.h"

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

const char* id_of(Collective kind) { return info_of(kind).id; }
Result<Plant> read_plant(std::string_view text) { return text == "none" ? Plant{} : parse_plant(text); }
constexpr Form kPlantForm = kWordForm<Plant, &to_text, &read_plant>;

constexpr Field kPlanFields[] = {
    field<&Plan::kind>("collective").formed(kCollectiveForm),
    field<&Plan::type>("type").formed(kDataTypeForm),
    field<&Plan::ops>("ops").formed(kReduceOpForm),
    field<&Plan::sizes>("sizes"),
    field<&Plan::root>("root"),
    field<&Plan::iterations>("iterations"),
    field<&Plan::warmups>("warmups"),
    field<&Plan::check>("check"),
    field<&Plan::graph>("graph", "Replays of the calls as one CUDA graph; 0: none."),
    field<&Plan::out_of_place>("out_of_place"),
    field<&Plan::in_place>("in_place"),
    field<&Plan::average>("average", "As nccl-tests' -a: rank 0, mean, least, largest."),
    field<&Plan::timeout_s>("timeout", "Without progress.").within(kNonNegative),
    field<&Plan::engine>("engine").ruled(R"({"enum": ["mpi", "nccl"]})"),
    field<&Plan::gpus>("gpus", "That one process drives, NCCL."),
    field<&Plan::pool_bytes>("pool", "Most memory a side for sets of buffers; 0: by the engine."),
    field<&Plan::plant>("plant").formed(kPlantForm),
    field<&Plan::launcher>("launcher", "Process that started the ranks; they end with it."),
    field<&Plan::launcher_host>("launcher_host"),
};

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

constexpr Form kEndsForm{[](const void* value) -> Json {
                           const auto& interval = *static_cast<const Interval*>(value);
                           return {interval.low, interval.high};
                         },
                         nullptr, R"({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2})"};
constexpr Form kCollectiveForm = kWordForm<Collective, &id_of, &parse_collective>;
constexpr Form kDataTypeForm = kWordForm<DataType, static_cast<const char* (*)(DataType)>(&name_of), &parse_data_type>;
constexpr Form kReduceOpForm = kWordForm<ReduceOp, static_cast<const char* (*)(ReduceOp)>(&name_of), &parse_reduce_op>;
constexpr RecordOf<Plan> kPlan{"plan", "", kPlanFields};

Json to_json(const Plan& plan) { return write(kPlan, plan); }

Result<Plan> plan_from_json(const Json& json) {
  auto plan = warpmark::read(kPlan, json);
  if (!plan.ok()) {
    return data_error("the plan of a rank does not read: " + plan.error().what,
                      "all ranks must run the same build of warpmark");
  }
  plan->average = std::clamp(plan->average, RankAverage::rank0, RankAverage::largest);
  return plan;
}

}  // namespace warpmark::collectives
