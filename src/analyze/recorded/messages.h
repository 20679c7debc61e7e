// Messages from one rank to another (send and receive), as the stages of a pipeline exchange them: no collective in
// which all ranks meet.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/recorded/work_list.h"

namespace warpmark::analyze {

struct Message {
  std::size_t work = 0;       ///< into WorkList::works
  std::int64_t elements = 0;  ///< 0 if unknown
};

/// Ascending by work.
[[nodiscard]] std::vector<Message> messages_of(const Timeline& timeline, const WorkList& list);

}  // namespace warpmark::analyze
