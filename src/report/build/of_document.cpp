#include "report/build/of_document.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/json.h"
#include "model/fields/forms.h"
#include "model/json/json_parts.h"
#include "report/build/acceptance.h"
#include "report/build/across.h"
#include "report/build/bisection.h"
#include "report/build/check.h"
#include "report/build/comparison.h"
#include "report/build/matrix.h"
#include "report/build/optimization.h"
#include "report/build/scaling.h"
#include "report/results/machine_state.h"

namespace warpmark::report {
namespace {

// A file of another version may lack fields; a page without them would be wrong.
template <typename T>
Result<std::optional<Report>> page_if_whole(const RecordOf<T>& record, const Result<T>& value, const Json& document) {
  if (!value.ok()) return value.error();
  if (write(record, *value) != document) return std::optional<Report>();
  return std::optional(build_report(*value));
}

template <typename T, const RecordOf<T>* kRecord>
Result<std::optional<Report>> page_of(const Json& document) {
  return page_if_whole(*kRecord, read(*kRecord, document), document);
}

Result<std::optional<Report>> page_of_matrix(const Json& document) {
  return page_if_whole(kMatrix, matrix_from_json(document), document);
}

struct Page {
  const Record* record;
  Result<std::optional<Report>> (*build)(const Json& document);
};
constexpr Page kPages[] = {{&kAcceptance, page_of<Acceptance, &kAcceptance>},
                           {&kAcross, page_of<Across, &kAcross>},
                           {&kBisection, page_of<Bisection, &kBisection>},
                           {&kCheck, page_of<Check, &kCheck>},
                           {&kComparison, page_of<Comparison, &kComparison>},
                           {&kMachineSummary, page_of<MachineSummary, &kMachineSummary>},
                           {&kMatrix, page_of_matrix},
                           {&kPowerCaps, page_of<PowerCaps, &kPowerCaps>},
                           {&kUnpricedOptimization, page_of<Optimization, &kUnpricedOptimization>},
                           {&kScaling, page_of<Scaling, &kScaling>}};

constexpr Field kValidationFields[] = {
    field<&Validation::verdict>("verdict", "regression: faster than BASE, but worse than the history of the branch.")
        .ruled(R"({"enum": ["validated","no_gain","slower","regression","rejected","inconclusive","unreliable"]})"),
    field<&Validation::why>("why"),
    field<&Validation::exit_code>("exit_code").ruled(R"({"enum": [0, 1, 3, 4, 5]})"),
    derived("comparison", "As in compare.schema.json.", [](const Validation& of) { return to_json(of.comparison); })
        .formed(kAnyJson)
        .ruled(R"({"type": "object"})"),
    derived("check", "As in check.schema.json.",
            [](const Validation& of) { return of.check ? std::optional(to_json(*of.check)) : std::nullopt; })
        .formed(kAnyJson)
        .ruled(R"({"type": "object"})"),
    field<&Validation::no_check>("no_check", "Why there is no check.").when([](const Validation& of) {
      return !of.check;
    }),
};

}  // namespace

constexpr RecordOf<Validation> kValidation{
    "validation",
    "What `warpmark validate --json` writes: whether an optimization is proven, with the comparison and the check.",
    kValidationFields, "warpmark.validate/1", R"({"oneOf": [{"required": ["check"]}, {"required": ["no_check"]}]})"};

Result<std::optional<Report>> report_of_document(const Json& document) {
  const Json schema = document.is_object() ? document.value("schema", Json()) : Json();
  for (const Page& page : kPages) {
    if (schema.is_string() && schema.get<std::string>() == page.record->schema) return page.build(document);
  }
  return std::optional<Report>();
}

Report build_report(const Validation& validation) {
  Report report = build_report(validation.comparison);
  std::string verdict = validation.verdict;
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  report.subtitle = verdict + ": " + validation.why + (report.subtitle.empty() ? "" : ". " + report.subtitle);
  if (!validation.check) {
    const Paragraph why{"Not asked: " + validation.no_check + "."};
    report.sections.push_back({.heading = "History", .blocks = {why}});
    return report;
  }
  Report history = build_report(*validation.check);
  report.sections.push_back(
      {.heading = "History of " + validation.check->branch, .blocks = {Paragraph{history.subtitle}}});
  std::move(history.sections.begin(), history.sections.end(), std::back_inserter(report.sections));
  return report;
}

}  // namespace warpmark::report
