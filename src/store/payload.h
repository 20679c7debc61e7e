// A Run as bytes: its JSON without the samples, and the samples as raw doubles, which take 8 bytes instead of about 20
// and need no parsing.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/run.h"

namespace warpmark::store {

struct Payload {
  std::string document;  ///< one line of JSON as to_json(Run) gives it, every metric's "samples" empty
  std::string samples;   ///< for each metric of the document: count (uint64), then that many doubles; little-endian
};

[[nodiscard]] Payload to_payload(const Run& run);

/// Data error that names `name` if the bytes are not what to_payload wrote.
[[nodiscard]] Result<Run> run_from_payload(std::string_view document, std::string_view samples, std::string_view name);

}  // namespace warpmark::store
