// The formats a session can be shown in.
#pragma once

#include "base/catalog.h"
#include "report/reporter.h"

namespace warpmark::report {

/// text, md, html, json, google-benchmark.
[[nodiscard]] Catalog<Reporter> reporters();

}  // namespace warpmark::report
