#include "model/finding.h"

namespace warpmark {

const char* severity_name(double severity) {
  if (severity > kCritical) return "critical";
  if (severity >= kWarning) return "warning";
  return "note";
}

}  // namespace warpmark
