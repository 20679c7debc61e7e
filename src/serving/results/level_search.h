// The highest load that still meets its objectives: doubling until one is missed, then halving the distance, then the
// answer once more, since the best of several looks is a lucky one. Pure: measuring is the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::serving {

/// Of one level: "undecided" counts as not met, as nothing was shown. "unreliable": of the client, which says
/// nothing about the server: the level is measured again, and where it stays so, it bounds the search and is no miss.
enum class LevelVerdict { met, missed, undecided, unreliable, stopped };

struct LevelLook {
  double level = 0;
  LevelVerdict verdict = LevelVerdict::undecided;
};

struct LevelSearch {
  double least = 1;
  double most = 4096;
  bool whole = true;         ///< users; else rates
  double resolution = 0.05;  ///< of rates: ends when the distance is below this share
};

struct LevelFound {
  double met = 0;         ///< 0: not even the least
  double missed = 0;      ///< the lowest that was not met; 0: none was
  double unreliable = 0;  ///< the lowest at which the client was unreliable; 0: nowhere
  bool confirmed = false;
  std::vector<LevelLook> looks;
  [[nodiscard]] std::string sentence(const std::string& unit) const;
};

/// `look` measures at a level; an error ends the search.
[[nodiscard]] Result<LevelFound> search_level(const LevelSearch& search,
                                              const std::function<Result<LevelVerdict>(double)>& look);

}  // namespace warpmark::serving
