// The types of the dashboard's pages are those of the tables that its documents are made by.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/json.h"
#include "model/fields/fields.h"
#include "model/json/json_parts.h"
#include "support/golden.h"
#include "watch/dashboard/answers.h"
#include "watch/dashboard/documents.h"
#include "watch/dashboard/live.h"

namespace warpmark::watch {
namespace {

/// "run_row" is RunRow.
std::string pascal(const std::string& name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return result;
}

/// TypeScript's interfaces of JSON schemas as the tables make them.
class Interfaces {
 public:
  void add(const Record& document) {
    const Json schema = schema_of(document);
    const Json definitions = schema.value("definitions", Json::object());
    names_.clear();
    for (const auto& [name, of] : definitions.items()) names_[name] = free_name(pascal(name), document.name, of);
    for (const auto& [name, of] : definitions.items()) interface(names_.at(name), of);
    interface(pascal(document.name), schema);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  /// Documents may share a definition, or have others of the same name.
  std::string free_name(const std::string& name, const char* document, const Json& of) {
    const auto known = known_.find(name);
    const bool taken = known != known_.end() && known->second != of;
    const std::string result = taken ? pascal(document) + name : name;
    known_.emplace(result, of);
    return result;
  }

  std::string type_of(const Json& schema) const {
    if (schema.contains("$ref")) {
      const auto ref = schema["$ref"].get<std::string>();
      return names_.at(ref.substr(ref.rfind('/') + 1));
    }
    if (schema.contains("enum") || schema.contains("const")) return "string";
    const auto type = schema.contains("type") && schema["type"].is_string() ? schema["type"].get<std::string>() : "";
    if (type == "array") return type_of(schema["items"]) + "[]";
    if (type == "integer") return "number";
    if (type != "object") return type.empty() ? "unknown" : type;
    const Json further = schema.value("additionalProperties", Json());
    return "Record<string, " + (further.is_object() ? type_of(further) : "unknown") + ">";
  }

  void interface(const std::string& name, const Json& schema) {
    if (!written_.insert(name).second) return;
    const Json required = schema.value("required", Json::array());
    text_ += "\nexport interface " + name + " {";
    std::size_t column = kColumns;
    for (const auto& [key, of] : schema.at("properties").items()) {
      if (key == "schema") continue;
      const bool always = std::find(required.begin(), required.end(), key) != required.end();
      const std::string member = " " + key + (always ? ": " : "?: ") + type_of(of) + ";";
      if (column + member.size() > kColumns) {
        text_ += "\n ";
        column = 1;
      }
      text_ += member;
      column += member.size();
    }
    text_ += "\n}\n";
  }

  static constexpr std::size_t kColumns = 120;
  std::string text_ = "// Made from the tables of the documents by tests/watch/web_types_test.cpp: nobody edits it.\n";
  std::map<std::string, std::string> names_;  ///< of the definitions of this document
  std::map<std::string, Json> known_;
  std::set<std::string> written_;
};

TEST(WebTypes, are_those_of_the_tables) {
  Interfaces interfaces;
  for (const Record* document :
       std::initializer_list<const Record*>{&kSessionsPage, &kRunsPage, &kDocumentsPage, &kCasesPage, &kFilesPage,
                                            &kSeriesPage, &kChangesPage, &kReportPage, &kLivePage, &kRun, &kPairPage}) {
    interfaces.add(*document);
  }
  testing_support::expect_golden("../src/watch/dashboard/web/document_types.ts", interfaces.text());
}

}  // namespace
}  // namespace warpmark::watch
