// The one file that parses valijson, which takes the compiler longer than most tests do.
#include "support/schema_check.h"

#include <gtest/gtest.h>

#if __has_include(<valijson/validator.hpp>)  // Ubuntu 22.04 has no such package

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/files.h"
#include "base/json.h"

namespace warpmark::testing_support {

std::string schema_errors(const Json& json, const std::string& name) {
  const auto text = read_file(std::string(WARPMARK_SOURCE_DIR) + "/docs/schema/" + name);
  if (!text.ok()) return text.error().what;
  const auto schema_json = nlohmann::json::parse(*text);
  const auto document = nlohmann::json::parse(json.dump());  // as a reader of the file would see it
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_json), schema);
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(document), &results)) return {};
  std::string errors = "not valid";
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    errors += "\n";
    for (const auto& step : error.context) errors += step;
    errors += ": " + error.description;
  }
  return errors;
}

bool schemas_are_checked() { return true; }

}  // namespace warpmark::testing_support

#else

namespace warpmark::testing_support {

std::string schema_errors(const Json& /*json*/, const std::string& /*name*/) {
  [] { GTEST_SKIP() << "libvalijson-dev is missing: the form of JSON is not checked"; }();
  return {};
}

bool schemas_are_checked() { return false; }

}  // namespace warpmark::testing_support

#endif
