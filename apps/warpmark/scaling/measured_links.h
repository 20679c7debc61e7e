// Links as sweeps of `warpmark collective` measured them, which `warpmark plan` computes with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/alpha_beta.h"

namespace warpmark::apps {

/// A sweep, and the link that it shows.
struct MeasuredLink {
  std::vector<collectives::Row> rows;
  collectives::LinkFit fit;
};

/// By their number of ranks. Data error for a file that is no sweep of all_reduce, usage error for two of as many
/// ranks.
[[nodiscard]] Result<std::map<int, MeasuredLink>> read_sweeps(const std::vector<std::string>& files);

/// The one that knows most of more ranks than it has: that of the most.
[[nodiscard]] std::optional<MeasuredLink> widest(const std::map<int, MeasuredLink>& links);

}  // namespace warpmark::apps
