#include "report/forge/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/build/check.h"
#include "report/draw/format.h"
#include "report/draw/svg.h"

namespace warpmark::report {
namespace {

std::int64_t count_of(const Check& check, Verdict verdict) {
  return std::count_if(check.metrics.begin(), check.metrics.end(),
                       [&](const auto& metric) { return metric.verdict == verdict; });
}

std::string property(const char* name, const std::string& value) {
  return fmt::format("        <property name=\"{}\" value=\"{}\"/>\n", name, escape_markup(value));
}

std::string properties_of(const MetricCheck& metric) {
  std::string text = "      <properties>\n" + property("verdict", name_of(metric.verdict));
  if (metric.level) text += property("baseline", fmt::format("{}", *metric.level));
  if (metric.value) text += property("value", fmt::format("{}", *metric.value));
  if (metric.ratio) text += property("ratio", fmt::format("{}", *metric.ratio));
  if (metric.adjusted_p) text += property("adjusted_p", fmt::format("{}", *metric.adjusted_p));
  if (!metric.unit.empty()) text += property("unit", metric.unit);
  return text + "      </properties>\n";
}

std::string result_of(const Check& check, const MetricCheck& metric) {
  const std::string message = escape_markup(verdict_sentence(metric, check.threshold));
  switch (metric.verdict) {
    case Verdict::worse:
      return fmt::format("      <failure type=\"worse\" message=\"{}\">{} against {}; {} {}</failure>\n", message,
                         escape_markup(change_text(metric)), escape_markup(check.branch),
                         escape_markup(interval_text(metric)), escape_markup(method_text(check)));
    case Verdict::unreliable: return fmt::format("      <error type=\"unreliable\" message=\"{}\"/>\n", message);
    case Verdict::inconclusive: return fmt::format("      <skipped message=\"{}\"/>\n", message);
    case Verdict::better:
    case Verdict::same:
    case Verdict::different: break;
  }
  return "";
}

}  // namespace

std::string render_junit(const Check& check) {
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
                                         check.metrics.size(), count_of(check, Verdict::worse),
                                         count_of(check, Verdict::unreliable), count_of(check, Verdict::inconclusive));
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts + ">\n  <testsuite name=\"" +
                     escape_markup("warpmark check against " + check.branch) + "\" " + counts;
  if (check.started.size() == 20) text += " timestamp=\"" + escape_markup(check.started.substr(0, 19)) + "\"";
  text += ">\n";
  for (const auto& metric : check.metrics) {
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n", escape_markup(metric.label),
                        escape_markup(metric.metric));
    text += properties_of(metric) + result_of(check, metric) + "    </testcase>\n";
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace warpmark::report
