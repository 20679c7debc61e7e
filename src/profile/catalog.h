// What a reader and a writer of profiles are, and all of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/catalog.h"
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

struct Writer {
  const char* id;         ///< "chrome", "sqlite", ...: the value of --to
  const char* summary;    ///< one line for --help
  const char* extension;  ///< of a file, without a dot
  /// Writes beside `path` first and renames, so that a failed conversion leaves no half file.
  Status (*write)(const ProfileSession& session, const std::filesystem::path& path);
  /// The files that write() makes; nullptr: just `path`.
  std::vector<std::filesystem::path> (*files)(const ProfileSession& session,
                                              const std::filesystem::path& path) = nullptr;
};

[[nodiscard]] Catalog<TraceReader> readers();
[[nodiscard]] Catalog<Writer> writers();

}  // namespace warpmark::profile
