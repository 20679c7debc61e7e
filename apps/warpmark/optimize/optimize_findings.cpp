#include "warpmark/optimize/optimize_findings.h"

#include <filesystem>
#include <fstream>

#include "analyze/analyze.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "model/json/json_analysis.h"
#include "profile/read_session.h"

namespace warpmark::apps {
namespace {

constexpr std::int64_t kLargestAnalysis = 256 << 20;

/// Whether the file begins as one that `analyze --json` wrote. Profiles may be far larger than an analysis.
bool is_analysis(const std::string& path) {
  constexpr std::size_t kHeadBytes = 256;  // the schema comes first
  std::string head(kHeadBytes, '\0');
  std::ifstream(path, std::ios::binary).read(head.data(), kHeadBytes);
  return head.find(kAnalysisSchema) != std::string::npos;
}

Result<std::vector<Finding>> written_findings(const std::string& path) {
  WM_ASSIGN(const auto text, read_file(path, kLargestAnalysis));
  WM_ASSIGN(const auto json, parse_json(text, path));
  auto findings = findings_from_json(json);
  if (findings.ok()) return findings;
  return data_error(path + ": " + findings.error().what, "write it again: warpmark analyze PROFILE --json " + path);
}

Result<std::vector<Finding>> recorded_findings(const std::vector<std::string>& files) {
  const std::vector<std::filesystem::path> paths(files.begin(), files.end());
  WM_ASSIGN(const auto session, profile::read_session(paths));
  return analyze::analyze(session, {.tables = false}).findings;
}

}  // namespace

Result<std::vector<Finding>> findings_in(const std::vector<std::string>& files) {
  const bool written = files.size() == 1 && is_analysis(files.front());
  auto findings = written ? written_findings(files.front()) : recorded_findings(files);
  if (findings.ok() && findings->empty()) {
    return data_error(join(files, ", ") + ": the analysis has no finding to start from",
                      "leave the file out: warpmark optimize -- COMMAND looks for itself");
  }
  return findings;
}

}  // namespace warpmark::apps
