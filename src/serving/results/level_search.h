// Searches over loads. Pure: measuring is the caller's.
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

struct LevelProbe {
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
  std::vector<LevelProbe> polls;
  [[nodiscard]] std::string sentence(const std::string& unit) const;
};

/// `look` measures at a level; an error ends the search.
[[nodiscard]] Result<LevelFound> search_level(const LevelSearch& search,
                                              const std::function<Result<LevelVerdict>(double)>& probe);

// From an idle server to a saturated one: one user for the latency of an idle server, twice as many users until the
// answers per second no longer grow, then open-loop rates spread evenly between. Pure: measuring is the caller's.

struct SweepProbe {
  double level = 0;  ///< users, or requests/s
  bool open_loop = false;
  double requests_per_s = 0;  ///< that were answered
  bool stopped = false;       ///< interrupted: the sweep ends
};

struct Sweep {
  std::int64_t rates = 5;          ///< open-loop loads between idle and saturation
  std::int64_t most_users = 1024;  ///< where saturation is not found before
  double growth = 0.05;            ///< less than this at twice the users is none
};

struct SweepFound {
  std::vector<SweepProbe> polls;
  double idle_per_s = 0;
  double saturated_per_s = 0;
  double saturated_users = 0;  ///< the fewest that reach it
  bool saturated = false;
  [[nodiscard]] std::string sentence() const;
};

[[nodiscard]] Result<SweepFound> sweep_loads(
    const Sweep& sweep, const std::function<Result<SweepProbe>(double level, bool open_loop)>& probe);

}  // namespace warpmark::serving
