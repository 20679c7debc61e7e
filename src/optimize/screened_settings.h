// What the search knows of settings from screening within one process: which it discards, and what that says of the
// order of the rest. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "optimize/search.h"

namespace warpmark::optimize {

class ScreenedSettings {
 public:
  /// What can be screened of what is open: the user's own wishes are not.
  [[nodiscard]] std::vector<Setting> begin(const std::vector<Proposal>& open);
  /// Decisions for the log, one a setting. What was known before is forgotten, unless nothing could be screened.
  [[nodiscard]] std::vector<std::string> take(const std::vector<Screened>& settings);

  /// What blocks said of the setting when it was last screened; null: nothing.
  [[nodiscard]] const Screened* known(const Setting& setting) const;
  [[nodiscard]] bool discards(const Setting& setting) const;
  /// The proposal with what blocks showed instead of what was foretold: it orders trials, and proves nothing.
  [[nodiscard]] Proposal ordered(Proposal proposal) const;

  /// Steps of what was discarded when it was last screened, but of those for which `tried` holds.
  [[nodiscard]] std::vector<JourneyStep> discarded(const std::function<bool(const std::string&)>& tried) const;

 private:
  std::map<std::string, Screened> known_;      ///< by the last screening
  std::map<std::string, Screened> discarded_;  ///< beside any
  std::map<std::string, Proposal> proposals_;
};

}  // namespace warpmark::optimize
