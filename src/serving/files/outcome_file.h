// An outcome as bytes that another process reads, exact to the nanosecond: a line of JSON with everything but the
// requests, then these in blocks (record_bytes.h). Times are nanoseconds after the start of the load, so that outcomes
// of machines whose clocks differ can be merged. It comes and goes piece by piece: an outcome may be larger than
// memory. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "serving/client/load_plan.h"

namespace warpmark::serving {

/// Of the client on `host`; `send` takes the pieces, and its error ends it.
[[nodiscard]] Status send_outcome(const LoadOutcome& outcome, const std::string& host,
                                  const std::function<Status(std::string_view)>& send);

/// Takes the bytes of one outcome as they arrive.
class OutcomeReader {
 public:
  /// `keep` takes each block of records.
  explicit OutcomeReader(std::function<void(std::string)> keep) : keep_(std::move(keep)) {}
  /// Data error for what is no outcome.
  [[nodiscard]] Status take(std::string_view bytes);
  /// At the end of the bytes; without its records. Data error if something is missing.
  [[nodiscard]] Result<LoadOutcome> finish();

 private:
  [[nodiscard]] Status take_line(std::string_view& bytes);
  [[nodiscard]] Status take_blocks();
  std::function<void(std::string)> keep_;
  std::string waiting_;  ///< not yet whole
  std::optional<LoadOutcome> outcome_;
  std::size_t wanted_ = 0, taken_ = 0;  ///< records
};

}  // namespace warpmark::serving
