// What `warpmark load server` and `warpmark load selftest` are asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serving/reference/reference_server.h"
#include "serving/selftest.h"

namespace warpmark::apps {

struct LoadServerRequest {
  serving::ReferenceServerOptions server{.port = 8000};
  std::vector<std::string> faults;
  std::string answers;   ///< file
  std::string key_file;  ///< with the key to demand
  std::string network;   ///< instead of scripted times
  double duration_s = 0;
};

struct SelftestRequest {
  double seconds = 5;
  std::optional<std::int64_t> streams;
  std::optional<double> events_per_s;
};

}  // namespace warpmark::apps
