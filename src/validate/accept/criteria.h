// Acceptance criteria: a YAML file of limits for results and machine facts (docs/acceptance.md). Unknown keys, units
// and operators are errors with the line and a suggestion.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/health.h"
#include "model/acceptance.h"
#include "model/machine.h"
#include "model/params.h"

namespace warpmark::validate {

inline constexpr const char* kCriteriaSchema = "warpmark.criteria/1";

/// What a limit is a share of.
enum class LimitOf {
  nothing,    ///< it is a value with a unit
  peak,       ///< the peak that was measured in the same session
  datasheet,  ///< what the vendor promises
};

constexpr Name kLimitOfNames[] = {{LimitOf::peak, "peak"}, {LimitOf::datasheet, "datasheet"}};
constexpr Names names_of(LimitOf) { return kLimitOfNames; }

struct Criterion {
  std::string title;
  bool required = true;  ///< else it is shown, and only counts where it fails
  int line = 0;
  std::string workload;              ///< id; empty for a fact
  std::string device;                ///< "cpu", "cuda", "cuda:1"; empty or "all" is every device
  Overrides set;                     ///< parameters that a result must have, and mode; as typed
  std::string metric;                ///< empty where the limit is a share of the peak
  std::string statistic = "median";  ///< median, p90, p95, p99
  std::string fact;                  ///< id of a fact; empty for a workload
  Comparator comparator = Comparator::at_least;
  std::vector<std::string> limits;  ///< as typed; two of `between`
  LimitOf of = LimitOf::nothing;
};

struct Criteria {
  std::string name;
  std::string summary;
  std::string datasheet;  ///< id; empty: the one that matches the GPU's name
  double budget_s = 0;    ///< of measuring; 0 is without limit
  int rounds = 3;
  double half_width = 0.005;
  std::vector<Criterion> rows;
};

[[nodiscard]] Result<Criteria> parse_criteria(std::string_view yaml, std::string_view file_name);

/// Text of a criteria file, and where it is from.
struct CriteriaFile {
  std::string name;  ///< as given
  std::string text;
};

/// The criteria built into the executable.
[[nodiscard]] std::vector<std::string> built_in_criteria_names();

/// A built-in file by name, or one by path (anything with a '/' or ending in .yaml or .yml). Usage error with a
/// suggestion if there is none.
[[nodiscard]] Result<CriteriaFile> load_criteria(const std::string& name_or_path);

/// The limits as numbers in a unit; ratios for a share. Data error naming the line where they are in another unit.
[[nodiscard]] Result<std::vector<double>> limits_of(const Criterion& criterion, std::string_view unit);

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
