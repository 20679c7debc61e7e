// Throughput and energy of a command under several caps on the GPUs' power. JSON: "warpmark.power_caps/1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "model/machine.h"
#include "model/scaling.h"

namespace warpmark {

inline constexpr const char* kPowerCapsSchema = "warpmark.power_caps/1";

struct PowerCapPoint {
  double cap_w = 0;                     ///< of each GPU
  std::vector<double> throughput;       ///< of each run, units of work a second
  std::vector<double> energy_per_work;  ///< of each run, J; empty without energy counters
  Ranged speed;                         ///< ratio to the largest cap, by rounds
  std::optional<Ranged> energy;         ///< of a unit of work, J
  std::optional<double> work_per_joule;
  std::int64_t failures = 0;
  std::string reason;  ///< of the last failure
};

struct PowerCaps {
  std::string id;
  std::string started;  ///< UTC
  std::string command;
  std::string unit;
  int gpus = 1;
  double found_w = 0;    ///< the cap before, which is set again
  double default_w = 0;  ///< the GPU's own
  bool restored = false;
  bool complete = false;
  std::string energy_method;
  std::vector<PowerCapPoint> points;     ///< ascending by cap
  std::optional<double> most_efficient;  ///< W: the cap with the most work per joule
  std::string verdict;
  Machine machine;
  Build build;
};

[[nodiscard]] Json to_json(const PowerCaps& caps);

}  // namespace warpmark
