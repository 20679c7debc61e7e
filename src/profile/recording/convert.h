// A session as one of warpmark's own recordings: the smallest of the formats, and the fastest to read.
#pragma once

#include "profile/writer.h"

namespace warpmark::profile {

extern const Writer kRecordingFormat;

}  // namespace warpmark::profile
