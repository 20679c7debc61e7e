#include "report/build/validation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "report/build/check.h"
#include "report/build/comparison.h"

namespace warpmark::report {

Report build_report(const Validation& validation) {
  Report report = build_report(validation.comparison);
  std::string verdict = validation.verdict;
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  report.subtitle = verdict + ": " + validation.why + (report.subtitle.empty() ? "" : ". " + report.subtitle);
  if (validation.check == nullptr) {
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
