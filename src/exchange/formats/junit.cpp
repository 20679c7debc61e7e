// JUnit XML, which CI systems show: one test case a run. The schema that Jenkins and GitLab read is windyroad's
// (github.com/windyroad/JUnit-Schema): "time" in seconds, <failure> for a wrong result, <error> for what could not run
// or is unreliable, as in the JUnit of a check, <skipped> for the rest; metrics are properties.
#include <fmt/format.h>

#include <algorithm>

#include "exchange/import.h"
#include "exchange/imported.h"
#include "model/names.h"
#include "model/run_query.h"
#include "report/draw/svg.h"
#include "report/results/build_parts.h"
#include "report/results/labels.h"

namespace warpmark::exchange {
namespace {

std::string attribute(const char* name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, report::escape_markup(clean_text(value)));
}

std::string clean_lines(std::string_view text) {
  const auto line = text.find('\n');
  if (line == std::string_view::npos) return clean_text(text);
  return clean_text(text.substr(0, line)) + '\n' + clean_text(text.substr(line + 1));
}

std::string property(std::string_view name, std::string_view value) {
  return "      <property" + attribute("name", name) + attribute("value", value) + "/>\n";
}

/// CI systems show the message in lists, and the text where one looks closer.
std::string element(const char* name, const Run& run) {
  std::string text = run.hint;
  if (!run.repro.empty()) text += (text.empty() ? "" : "\n") + run.repro;
  const std::string start = std::string("    <") + name + attribute("message", run.reason);
  return text.empty() ? start + "/>\n" : start + ">" + report::escape_markup(clean_lines(text)) + "</" + name + ">\n";
}

std::string outcome_element(const Run& run) {
  switch (run.outcome) {
    case Outcome::failed: return element("failure", run);
    case Outcome::error:
    case Outcome::unreliable: return element("error", run);
    case Outcome::unsupported:
    case Outcome::skipped: return element("skipped", run);
    case Outcome::passed: return {};
  }
  return {};
}

std::string test_case(const Run& run) {
  std::string text = "  <testcase" + attribute("classname", run.workload) + attribute("name", report::case_name(run));
  const Metric* time = metric_of(run, "time");
  if (time != nullptr && report::shows_speed(run)) {
    text += attribute("time", fmt::format("{:.9f}", time->summary.median));
  }
  std::string properties;
  if (report::shows_speed(run)) {
    for (const Metric& metric : run.metrics) {
      if (metric.summary.n == 0) continue;
      properties += property(metric.id,
                             fmt::format("{}{}{}", metric.summary.median, metric.unit.empty() ? "" : " ", metric.unit));
    }
  }
  const std::string inside =
      (properties.empty() ? "" : "    <properties>\n" + properties + "    </properties>\n") + outcome_element(run);
  return inside.empty() ? text + "/>\n" : text + ">\n" + inside + "  </testcase>\n";
}

Result<Exported> write_junit(const Session& session) {
  const auto count = [&](auto... wanted) {
    return std::count_if(session.runs.begin(), session.runs.end(),
                         [&](const Run& run) { return ((run.outcome == wanted) || ...); });
  };
  double total = 0;
  for (const Run& run : session.runs) {
    const Metric* time = metric_of(run, "time");
    if (time != nullptr && report::shows_speed(run)) total += time->summary.median;
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite";
  text += attribute("name", "warpmark " + session.id) + attribute("tests", std::to_string(session.runs.size())) +
          attribute("failures", std::to_string(count(Outcome::failed))) +
          attribute("errors", std::to_string(count(Outcome::error, Outcome::unreliable))) +
          attribute("skipped", std::to_string(count(Outcome::skipped, Outcome::unsupported))) +
          attribute("time", fmt::format("{:.9f}", total)) + attribute("hostname", session.machine.hostname);
  std::string started = session.started;
  if (started.ends_with('Z')) started.pop_back();  // the schema's dates have no time zone
  text += attribute("timestamp", started) + ">\n";
  for (const Run& run : session.runs) text += test_case(run);
  return Exported{text + "</testsuite>\n", {}};
}

}  // namespace

extern const Format kJunit{"junit", "JUnit XML for CI systems", nullptr, nullptr, write_junit};

}  // namespace warpmark::exchange
