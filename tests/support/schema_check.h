// Validates JSON against the schemas in docs/schema with valijson, a validator that shares no code with the writer.
#pragma once

#include <string>

#include "base/json_fwd.h"

namespace warpmark::testing_support {

/// Empty if `json` is valid against docs/schema/<name>, else what is wrong and where.
[[nodiscard]] std::string schema_errors(const Json& json, const std::string& name);

}  // namespace warpmark::testing_support
