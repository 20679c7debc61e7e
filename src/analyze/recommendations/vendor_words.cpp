#include "analyze/recommendations/vendor_words.h"

#include <algorithm>

#include "analyze/names/vendors.h"

namespace warpmark::analyze {

namespace {

Vendor vendor_of_all(const ProfileSession& session) {
  Vendor vendor = Vendor::nvidia;
  for (const Timeline& timeline : session.ranks) vendor = std::max(vendor, vendor_of(timeline));
  return vendor;
}

}  // namespace

void use_words_of_vendor(const ProfileSession& session, Analysis& analysis) {
  const Vendor vendor = vendor_of_all(session);
  if (vendor == Vendor::nvidia) return;
  analysis.verdict = text_for(vendor, analysis.verdict);
  for (std::string& caution : analysis.cautions) caution = text_for(vendor, caution);
  for (Finding& finding : analysis.findings) {
    finding.title = text_for(vendor, finding.title);
    for (Fact& fact : finding.evidence) fact.text = text_for(vendor, fact.text);
    for (Recommendation& one : finding.recommendations) {
      one.text = text_for(vendor, one.text);
      one.snippet = snippet_for(vendor, one.snippet);
    }
  }
  for (MissingData& missing : analysis.missing) missing.how = snippet_for(vendor, missing.how);
  std::erase_if(analysis.missing, [](const MissingData& missing) { return missing.how.empty(); });
}

}  // namespace warpmark::analyze
