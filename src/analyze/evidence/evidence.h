// What the rules look at: the facts of a session, and who lost what.
#pragma once

#include "analyze/evidence/attribution.h"
#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

/// The facts with what follows from them alone: whoever needs no attribution takes Facts.
struct Evidence : Facts {
  Attribution attribution;
};

[[nodiscard]] Evidence gather_evidence(const ProfileSession& session);

}  // namespace warpmark::analyze
