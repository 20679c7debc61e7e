// Acceptance: what a machine or a release was asked to fulfil, and whether it does, row by row, with everything that a
// signature under it needs. JSON: "warpmark.acceptance/1" (docs/schema/acceptance.schema.json).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "model/fields/names.h"
#include "model/machine.h"
#include "model/metric.h"

namespace warpmark {

inline constexpr const char* kAcceptanceSchema = "warpmark.acceptance/1";

enum class Comparator { at_least, at_most, equal, between };
inline constexpr auto kComparatorNames = in_order(Comparator::between, ">=", "<=", "==", "between");
constexpr Names names_of(Comparator) { return kComparatorNames; }

enum class RowState {
  pass,
  fail,
  undecided,       ///< the interval of the value lies on both sides of the limit
  unreliable,      ///< measured while the machine was disturbed: no pass
  not_measurable,  ///< there is no value: the reason says why
};
inline constexpr auto kRowStateNames =
    in_order(RowState::not_measurable, "pass", "fail", "undecided", "unreliable", "not measurable");
constexpr Names names_of(RowState) { return kRowStateNames; }

/// One criterion on one device (or of the whole machine).
struct AcceptanceRow {
  std::string title;
  bool required = true;
  std::string subject;  ///< "copy size=67108864 mode=cold", or the id of a machine fact
  std::string device;
  std::string metric;
  std::string unit;  ///< SI, of value and limits; "ratio" for a share
  Comparator comparator = Comparator::at_least;
  std::vector<double> limits;  ///< one, or two of `between`, in `unit`; empty where the limit is a text
  std::string limit_text;      ///< of versions and states: "535.54", "on"
  std::string limit_source;
  std::optional<double> value;
  std::string value_text;
  std::optional<Interval> interval;
  RowState state = RowState::not_measurable;
  std::string reason;
  std::string repro;
};

/// A datasheet that a limit was taken from.
struct DatasheetUse {
  std::string id;
  std::string name;
  std::vector<std::string> sources;
};

struct Acceptance {
  std::string name;
  std::string summary;
  std::string criteria_file;
  std::string criteria_sha256;  ///< of the file's bytes
  std::string started;
  std::string command;
  std::string session;
  std::string session_started;
  Machine machine;
  Build build;
  std::vector<DatasheetUse> datasheets;
  std::vector<AcceptanceRow> rows;
};

/// What all rows amount to: fail before unreliable before undecided before not_measurable; rows that are not required
/// decide nothing. Not measurable without a required row.
[[nodiscard]] RowState overall(const Acceptance& acceptance);

[[nodiscard]] Json to_json(const Acceptance& acceptance);

}  // namespace warpmark
