#include <warpmark/profiles.hpp>

#include <filesystem>

#include "analyze/analyze.h"
#include "base/json.h"
#include "library/convert.h"
#include "model/json/json_analysis.h"
#include "profile/read_session.h"
#include "report/build/analysis_report.h"
#include "report/formats/text.h"

namespace warpmark::library {
namespace {

v0::Finding public_finding(const Finding& finding) {
  v0::Finding shown{.rule = finding.rule,
                    .severity = finding.severity,
                    .title = finding.title,
                    .lost_s = static_cast<double>(finding.lost_ns) * 1e-9,
                    .gain_low = finding.gain.low,
                    .gain_high = finding.gain.high,
                    .gain_unknown = finding.gain.unknown,
                    .evidence = {},
                    .recommendations = {}};
  for (const auto& fact : finding.evidence) shown.evidence.push_back(fact.text);
  for (const auto& advice : finding.recommendations) {
    shown.recommendations.push_back(advice.snippet.empty() ? advice.text : advice.text + "\n" + advice.snippet);
  }
  return shown;
}

v0::Analysis public_analysis(const Analysis& analysis) {
  v0::Analysis shown;
  shown.verdict = analysis.verdict;
  shown.step_s = static_cast<double>(analysis.median_step_ns) * 1e-9;
  for (const auto& part : analysis.breakdown) shown.breakdown.push_back({part.id, part.group, part.share});
  for (const auto& finding : analysis.findings) shown.findings.push_back(public_finding(finding));
  shown.json = dump_json(to_json(analysis));
  shown.text = report::render_text(report::build_analysis_report(analysis), {.width = 100});
  return shown;
}

}  // namespace
}  // namespace warpmark::library

namespace warpmark::v0 {

Result<Analysis> analyze(std::span<const std::string> paths) {
  const std::vector<std::filesystem::path> files(paths.begin(), paths.end());
  const auto session = profile::read_session(files);
  if (!session.ok()) return library::to_public(session.error());
  return library::public_analysis(warpmark::analyze::analyze(*session));
}

}  // namespace warpmark::v0
