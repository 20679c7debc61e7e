// What may be tried next: the catalog's knobs as far as they fit the program, those that the user named, and the user's
// own. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/search.h"
#include "optimize/user_knob.h"

namespace warpmark::optimize {

struct ProposalOptions {
  std::vector<Setting> asked;     ///< --try ID=VALUE
  std::vector<std::string> only;  ///< --only: ids or globs; empty: all
  std::vector<std::string> skip;  ///< --skip
  std::vector<UserKnob> own;
  bool asked_only = false;  ///< nothing but `asked` and `own`
};

[[nodiscard]] std::vector<Proposal> proposals(const ProgramFacts& facts, const Settings& settings,
                                              const ProposalOptions& options);

/// Usage error for names and globs that mean no knob, and for values that a knob does not take.
[[nodiscard]] Status check_names(const ProposalOptions& options);

/// A row of --list-knobs.
struct KnobOffer {
  std::string id;
  std::string title;
  std::string numerics;
  std::string breaks;
  Offer offer;
};
[[nodiscard]] std::vector<KnobOffer> offers(const ProgramFacts& facts, const ProposalOptions& options);

}  // namespace warpmark::optimize
