// A reporter turns a session into one of the formats in report/catalog.h.
#pragma once

#include <string>

#include "model/run.h"
#include "report/options.h"

namespace warpmark::report {

struct Reporter {
  const char* id;         ///< "text", "html", ...: the value of --format
  const char* summary;    ///< one line for --help
  const char* extension;  ///< of a file, without a dot
  std::string (*render)(const Session& session, const RenderOptions& options);
};

}  // namespace warpmark::report
