// Acceptance: what a machine or a release was asked to fulfil, and whether it does, row by row, with everything that a
// signature under it needs. JSON: "warpmark.acceptance/1" (docs/schema/acceptance.schema.json).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "model/machine.h"
#include "model/metric.h"

namespace warpmark {

inline constexpr const char* kAcceptanceSchema = "warpmark.acceptance/1";

enum class Comparator { at_least, at_most, equal, between };
/// ">=", "<=", "==", "between".
[[nodiscard]] const char* name_of(Comparator comparator);
[[nodiscard]] std::optional<Comparator> comparator_from(std::string_view text);

enum class RowState {
  pass,
  fail,
  undecided,       ///< the interval of the value lies on both sides of the limit
  unreliable,      ///< measured while the machine was disturbed: no pass
  not_measurable,  ///< there is no value: the reason says why
};
[[nodiscard]] const char* name_of(RowState state);

/// One criterion on one device (or of the whole machine).
struct AcceptanceRow {
  std::string title;
  bool required = true;
  std::string subject;  ///< "copy size=67108864 mode=cold", or the id of a machine fact
  std::string device;   ///< empty for a fact of the host
  std::string metric;   ///< "bandwidth", "time p99", "share of the peak"; empty for a fact
  std::string unit;     ///< SI, of value and limits; "ratio" for a share
  Comparator comparator = Comparator::at_least;
  std::vector<double> limits;  ///< one, or two of `between`, in `unit`; empty where the limit is a text
  std::string limit_text;      ///< of versions and states: "535.54", "on"
  std::string limit_source;    ///< "90 % of 3.35e12 B/s, memory bandwidth by datasheet h100-sxm"; empty if plain
  std::optional<double> value;
  std::string value_text;  ///< of versions and states
  std::optional<Interval> interval;
  RowState state = RowState::not_measurable;
  std::string reason;  ///< why it is not a pass
  std::string repro;   ///< the command that measures the value again
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
  std::string started;          ///< UTC, of the judgement
  std::string command;
  std::string session;          ///< the results that were judged; empty if there were none
  std::string session_started;  ///< UTC
  Machine machine;              ///< that was judged
  Build build;
  std::vector<DatasheetUse> datasheets;
  std::vector<AcceptanceRow> rows;
};

/// What all rows amount to: fail before unreliable before undecided before not_measurable; rows that are not required
/// decide nothing. Not measurable without a required row.
[[nodiscard]] RowState overall(const Acceptance& acceptance);

[[nodiscard]] Json to_json(const Acceptance& acceptance);

}  // namespace warpmark
