// A reader turns one file of one format into parts of a session: a timeline, kernel metrics, counters or collectives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "profile/source.h"

namespace warpmark::profile {

struct ReadOptions {
  int threads = 0;              ///< that parse; 0 is as many as are useful
  std::size_t block_bytes = 0;  ///< of text that a thread parses at once; 0 is a good one. Small ones are for tests
};

/// How sure a reader is that the bytes are its format.
struct Sniff {
  int score = 0;       ///< 0 is no; 100 is certain (a magic number); the highest wins
  std::string reason;  ///< for a file that is near to the format but cannot be read: what it is and what to do
};

struct TraceReader {
  const char* id;       ///< "kineto", "nsys_sqlite", ...: Timeline::format
  const char* summary;  ///< one line for lists
  /// Judges the first bytes, unpacked (up to kSniffBytes).
  Sniff (*sniff)(std::string_view head);
  /// Appends what the file holds to the session, Timeline::source and ::format excepted. Fails only if nothing can be
  /// made of the file; smaller flaws are counted in `quality`.
  Status (*read)(ByteSource& source, const ReadOptions& options, ProfileSession& session);
};

inline constexpr std::size_t kSniffBytes = 1 << 16;

}  // namespace warpmark::profile
