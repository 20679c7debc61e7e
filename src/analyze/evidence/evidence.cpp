#include "analyze/evidence/evidence.h"

#include <utility>

namespace warpmark::analyze {

Evidence gather_evidence(const ProfileSession& session) {
  Facts facts = gather_facts(session);
  Attribution attribution = attribute(facts);
  return {std::move(facts), std::move(attribution)};
}

}  // namespace warpmark::analyze
