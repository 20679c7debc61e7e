// Lines of MLPerf's logging (mlcommons/logging): ":::MLLOG " and a JSON object of namespace, time_ms, event_type, key,
// value and metadata, in whatever else a program prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace warpmark::exchange {

struct MlLogEvent {
  std::int64_t line = 0;  ///< in the file, from 1
  double time_ms = 0;     ///< since 1970
  std::string type;       ///< INTERVAL_START, INTERVAL_END or POINT_IN_TIME
  std::string key;
  Json value;
  Json metadata;  ///< an object
};

/// All events in the order of the file. What stands before ":::MLLOG " on a line is dropped, as ranks and times often
/// do. Data error with file and line for one that is no JSON object or lacks a part, and where there is none at all.
[[nodiscard]] Result<std::vector<MlLogEvent>> read_mllog(const std::string& name, std::string_view text);

}  // namespace warpmark::exchange
