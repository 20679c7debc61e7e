#include "analyze/recommendations/amd.h"

#include <algorithm>

#include "analyze/names/amd_tools.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

bool is_of_amd(const ProfileSession& session) {
  return std::ranges::any_of(session.ranks, [](const Timeline& one) { return any_name(one.names, names_hip_launch); });
}

void name_tools_of_amd(Analysis& analysis) {
  for (Finding& finding : analysis.findings) {
    for (Recommendation& one : finding.recommendations) one.snippet = of_amd(one.snippet);
  }
  for (MissingData& missing : analysis.missing) missing.how = of_amd(missing.how);
}

}  // namespace warpmark::analyze
