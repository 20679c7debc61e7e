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
  double cap_w = 0;
  std::vector<double> throughput;
  std::vector<double> energy_per_work;
  Ranged speed;
  std::optional<Ranged> energy;
  std::optional<double> work_per_joule;
  std::int64_t failures = 0;
  std::string reason;
};

struct PowerCaps {
  std::string id;
  std::string started;
  std::string command;
  std::string unit;
  int gpus = 1;
  double found_w = 0;
  double default_w = 0;
  bool restored = false;
  bool complete = false;
  std::string energy_method;
  std::vector<PowerCapPoint> points;
  std::optional<double> most_efficient;
  std::string verdict;
  Machine machine;
  Build build;
};

[[nodiscard]] Json to_json(const PowerCaps& caps);

}  // namespace warpmark
