// HealthCheck: one question about a machine's fitness for measuring ("is the CPU governor at performance?") with its
// answer, what it would do to a measurement, and how to fix it. Devices answer, `doctor` and the reports show.
#pragma once

#include <string>

namespace warpmark {

enum class HealthState {
  good,     ///< as it should be
  info,     ///< a fact worth knowing, nothing to fix
  warning,  ///< measurements will be noisier or slower than they could be
  bad,      ///< measurements cannot be trusted, or a part cannot be used
  unknown,  ///< it could not be read: `found` says why
};

struct HealthCheck {
  std::string id;
  std::string title;  ///< "CPU frequency governor"
  HealthState state = HealthState::unknown;
  std::string found;
  std::string why;  ///< what it does to measurements; may be empty when good
  std::string fix;  ///< a command or a sentence; empty when there is nothing to do
};

}  // namespace warpmark
