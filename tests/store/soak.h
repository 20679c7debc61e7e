// Two writers and a reader on one store, each a process of its own, for as long as one likes.
#pragma once

#include <cstdint>
#include <string>

namespace warpmark::store {

struct SoakResult {
  std::int64_t acknowledged = 0;  ///< runs whose append returned without error, of both writers
  std::int64_t found = 0;         ///< runs that are there afterwards, complete and bit for bit
  std::int64_t reads = 0;         ///< passes of the reader, each over a whole session and a series
  std::string problem;            ///< the first thing that went wrong; empty if nothing did
};

/// Writes sessions of `runs_per_session` runs, each first as a round, until `seconds` are over; then reads everything.
[[nodiscard]] SoakResult soak(const std::string& location, double seconds, std::int64_t runs_per_session = 50);

}  // namespace warpmark::store
