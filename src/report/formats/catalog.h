// The formats that results can be shown in.
#pragma once

#include "base/catalog.h"
#include "report/formats/reporter.h"

namespace warpmark::report {

/// For people, of any report: text, md, html.
[[nodiscard]] Catalog<Reporter> reporters();

/// For programs, of a session: json, google-benchmark.
[[nodiscard]] Catalog<SessionWriter> session_writers();

}  // namespace warpmark::report
