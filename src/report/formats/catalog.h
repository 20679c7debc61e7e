// The formats that results can be shown in.
#pragma once

#include <string>

#include "base/catalog.h"
#include "model/report.h"
#include "model/run.h"
#include "report/draw/format.h"

namespace warpmark::report {

// A reporter turns a report into the bytes of one format; a session writer turns what was measured into data for
// programs. Adding one is a file that defines it and a line in catalog.cpp.

struct Reporter {
  const char* id;         ///< "text", "html", ...: the value of --format
  const char* summary;    ///< one line for `warpmark list`
  const char* extension;  ///< of a file, without a dot
  std::string (*write)(const Report& report, const RenderOptions& options);
};

struct SessionWriter {
  const char* id;  ///< "json", ...: the value of --format
  const char* summary;
  const char* extension;
  std::string (*write)(const Session& session);
};

/// For people, of any report: text, md, html.
[[nodiscard]] Catalog<Reporter> reporters();

/// For programs, of a session: json, google-benchmark.
[[nodiscard]] Catalog<SessionWriter> session_writers();

}  // namespace warpmark::report
