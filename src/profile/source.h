// Bytes of a profile, whatever it is packed in: plain, gzip (also several members) or zstandard, told apart by their
// first bytes. Memory is bounded and files may be larger than 4 GB. A damaged archive gives the bytes before the
// damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark::profile {

/// One pass over the unpacked bytes. Not thread safe; may be moved to another thread between calls.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Up to `bytes` of the beginning, without consuming them. Valid until the next call of head() or read().
  [[nodiscard]] Result<std::string_view> head(std::size_t bytes);

  /// Fills `into` as far as bytes are left; returns how many. 0 only at the end (or for an empty span).
  [[nodiscard]] Result<std::size_t> read(std::span<char> into);

  /// What the bytes came from, for messages and for formats that a library opens itself (SQLite). Empty for text in
  /// memory.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// "", "gzip" or "zstd".
  [[nodiscard]] const std::string& packing() const { return packing_; }
  /// Size of the file as stored (packed); -1 for a pipe.
  [[nodiscard]] std::int64_t stored_bytes() const { return stored_bytes_; }
  /// After the end: why bytes may be missing ("the gzip data ends in the middle"); empty if all is well.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// Whether the damage is that the end is missing: all bytes that are there are right.
  [[nodiscard]] bool is_cut() const { return cut_; }
  /// The damage as the id of a DataQualityIssue.
  [[nodiscard]] const char* damage_id() const { return cut_ ? "cut_archive" : "damaged_archive"; }

 protected:
  /// Reads at least one byte unless at the end.
  [[nodiscard]] virtual Result<std::size_t> read_some(std::span<char> into) = 0;

  std::filesystem::path path_;
  std::string packing_;
  std::int64_t stored_bytes_ = -1;
  std::string damage_;
  bool cut_ = false;

 private:
  std::string head_;
  std::size_t head_used_ = 0;
};

/// Errors: environment (cannot be opened or read).
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_source(const std::filesystem::path& path);

/// The same over bytes in memory, unpacked if they are packed. `bytes` must outlive the source.
[[nodiscard]] std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::filesystem::path name = {});

/// Everything that is left, for small formats. Errors: data if there are more than `cap_bytes`.
[[nodiscard]] Result<std::string> read_all(ByteSource& source, std::size_t cap_bytes);

}  // namespace warpmark::profile
