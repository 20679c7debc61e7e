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
  std::string key;
  Json value;
  Json metadata;  ///< an object, or null
};

/// All events in the order of the file. Text before ":::MLLOG " on a line is dropped (ranks and
/// times often are). Data error with file and line where JSON or a part is missing, and where there is no event.
[[nodiscard]] Result<std::vector<MlLogEvent>> read_mllog(const std::string& name, std::string_view text);

}  // namespace warpmark::exchange
