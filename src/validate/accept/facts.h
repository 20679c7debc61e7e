// Facts of a machine that a criterion may ask for: driver version, error correction, link widths, memory sizes, and
// what `warpmark doctor` judges. Pure: the facts were gathered elsewhere.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/health.h"
#include "model/machine.h"

namespace warpmark::validate {

enum class FactType {
  number,   ///< with a unit
  version,  ///< numbers joined by dots, compared part by part: 535.54 < 550.1
  state,    ///< a word such as "on": only equality makes sense
};

/// A kind of fact.
struct FactKind {
  const char* id;
  FactType type;
  const char* unit;  ///< of a number: SI, "1" for counts
  bool of_gpu;       ///< there is one for every GPU
  const char* meaning;
};

/// Without the family "doctor.<check>", whose states are good, info, warning, bad, unknown.
[[nodiscard]] std::span<const FactKind> fact_kinds();
[[nodiscard]] const FactKind* find_fact_kind(std::string_view id);
inline constexpr std::string_view kDoctorFact = "doctor.";

/// A fact of this machine. `number` or `text` by its kind; neither, and a reason, where it could not be read.
struct Fact {
  std::string id;
  std::string device;  ///< "cuda:0"; empty for the host's
  std::optional<double> number;
  std::string text;
  std::string reason;
};

/// What the results of any machine carry with them.
[[nodiscard]] std::vector<Fact> facts_of(const Machine& machine);

/// What is read on the spot: settings, links and health. `machine` names the devices of NVML's GPUs.
[[nodiscard]] std::vector<Fact> facts_of(const device::HealthFacts& health, const Machine& machine);

/// -1, 0 or 1: versions by their numbers; a missing part is 0, and what is no number ends the version ("6.1.0-18-amd64"
/// is 6.1.0).
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b);

}  // namespace warpmark::validate
