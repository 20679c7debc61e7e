#include "report/build/of_document.h"

#include <string>

#include "base/json.h"
#include "model/json/json_parts.h"
#include "report/build/acceptance.h"
#include "report/build/check.h"
#include "report/build/optimization.h"
#include "report/build/scaling.h"

namespace warpmark::report {
namespace {

template <typename T, const RecordOf<T>* kRecord>
Result<std::optional<Report>> page_of(const Json& document) {
  WM_ASSIGN(const T value, read(*kRecord, document));
  // Some fields are written only (of comparisons, bisections and matrices most); a page without them would be wrong.
  if (write(*kRecord, value) != document) return std::optional<Report>();
  return std::optional(build_report(value));
}

struct Page {
  const Record* record;
  Result<std::optional<Report>> (*build)(const Json& document);
};
constexpr Page kPages[] = {{&kAcceptance, page_of<Acceptance, &kAcceptance>},
                           {&kCheck, page_of<Check, &kCheck>},
                           {&kUnpricedOptimization, page_of<Optimization, &kUnpricedOptimization>},
                           {&kScaling, page_of<Scaling, &kScaling>}};

}  // namespace

Result<std::optional<Report>> report_of_document(const Json& document) {
  const Json schema = document.is_object() ? document.value("schema", Json()) : Json();
  for (const Page& page : kPages) {
    if (schema.is_string() && schema.get<std::string>() == page.record->schema) return page.build(document);
  }
  return std::optional<Report>();
}

}  // namespace warpmark::report
