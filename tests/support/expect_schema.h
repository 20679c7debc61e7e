// The schema of a document is the one that its table makes: "warpmark.check/1" is docs/schema/check.schema.json.
#pragma once

#include <string>

#include "base/json.h"
#include "model/fields/fields.h"
#include "support/golden.h"

namespace warpmark::testing_support {

inline void expect_schema(const Record& document) {
  const std::string schema = document.schema;
  const auto start = schema.find('.') + 1;
  expect_golden("../docs/schema/" + schema.substr(start, schema.find('/') - start) + ".schema.json",
                schema_text(schema_of(document)));
}

}  // namespace warpmark::testing_support
