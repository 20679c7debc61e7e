// Chrome trace (JSON) that Perfetto and chrome://tracing show and our own reader reads back without loss.
#pragma once

#include "profile/catalog.h"

namespace warpmark::profile {

extern const Writer kChromeWriter;

/// Path of one rank's file where a session has several: "trace.json" becomes "trace.rank3.json".
[[nodiscard]] std::filesystem::path rank_path(const std::filesystem::path& path, int rank);

}  // namespace warpmark::profile
