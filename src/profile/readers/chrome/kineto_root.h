// What stands around the list of events in a Chrome trace: the GPUs, the rank, the base of the times.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/source.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {

/// Reads up to the '[' of the list of events. Returns the text read behind it; an error if there is no such list, which
/// `builder` has then the facts of nevertheless.
[[nodiscard]] Result<std::string> read_kineto_head(ByteSource& source, TimelineBuilder& builder);

/// `text` follows the list, from its ']' on.
void read_kineto_tail(std::string_view text, TimelineBuilder& builder);

}  // namespace warpmark::profile
