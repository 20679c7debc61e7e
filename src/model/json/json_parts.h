// Parts of documents, shared between the files that implement the model's JSON. What is read carries the path of the
// part, so that an error names the place in the whole document.
#pragma once

#include "model/json/json_fields.h"
#include "model/machine.h"
#include "model/run.h"

namespace warpmark {

/// As "ci_low", "ci_high" and "ci_confidence"; no keys if there is none.
void put_interval(Json& json, const std::optional<Interval>& interval);
/// {"low": ..., "high": ..., "confidence": ...}
[[nodiscard]] Json interval_json(const Interval& interval);
[[nodiscard]] Json disturbances_json(const std::vector<Disturbance>& disturbances);

void read_machine(JsonFields& fields, Machine& machine);
void read_build(JsonFields& fields, Build& build);
void read_run(JsonFields& fields, Run& run);

/// The part alone, as its own document.
template <typename Part>
[[nodiscard]] Result<Part> read_document(const Json& json, void (*read)(JsonFields&, Part&)) {
  std::optional<Error> error;
  JsonFields fields(json, "", error);
  Part part;
  read(fields, part);
  if (error) return *error;
  return part;
}

}  // namespace warpmark
