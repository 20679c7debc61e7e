#include "serving/files/json_lists.h"

#include <fmt/format.h>

#include <string>

#include "base/result.h"

namespace warpmark::serving {

JsonLists::JsonLists(const Json& members, const TakeText& take) : take_(take) {
  WM_CHECK(members.is_object() && !members.empty());
  const std::string text = dump_json(members);
  take_(std::string_view(text).substr(0, text.size() - 2));  // without the brace on the last line
}

void JsonLists::add(std::string_view name, const RequestRecords& records,
                    const std::function<std::optional<Json>(const RequestRecord&)>& entry) {
  take_(fmt::format(",\n  \"{}\": [", name));
  const char* before = "\n    ";
  for (const auto& record : records) {
    const auto value = entry(record);
    if (!value) continue;
    take_(before + dump_json(*value, -1));
    before = ",\n    ";
  }
  take_("\n  ]");
}

void JsonLists::end() { take_("\n}\n"); }

}  // namespace warpmark::serving
