// The formats that can be read, and those that can be written.
#pragma once

#include "base/catalog.h"
#include "profile/trace_reader.h"
#include "profile/writer.h"

namespace warpmark::profile {

[[nodiscard]] Catalog<TraceReader> readers();
[[nodiscard]] Catalog<Writer> writers();

}  // namespace warpmark::profile
