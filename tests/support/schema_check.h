// Validates JSON against the schemas in docs/schema with valijson, a validator that shares no code with the writer.
#pragma once

#include <string>

#include "base/json_fwd.h"

namespace warpmark::testing_support {

/// Empty if `json` is valid against docs/schema/<name>, else what is wrong and where.
[[nodiscard]] std::string schema_errors(const Json& json, const std::string& name);
/// Whether there is a validator; without one the test that asks for errors is reported skipped, and there are none.
[[nodiscard]] bool schemas_are_checked();

}  // namespace warpmark::testing_support

/// For tests of what a schema refuses.
#define WM_NEEDS_SCHEMAS()                               \
  if (!warpmark::testing_support::schemas_are_checked()) \
  GTEST_SKIP() << "libvalijson-dev is missing: the form of JSON is not checked"
