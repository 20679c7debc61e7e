#include "model/finding.h"

namespace warpmark {

const char* severity_name(double severity) {
  if (severity > 0.7) return "critical";
  if (severity >= 0.4) return "warning";
  return "note";
}

}  // namespace warpmark
