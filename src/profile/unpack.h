// Streaming decompression behind ByteSource: ISA-L's igzip for gzip, libzstd for zstandard, nothing for plain bytes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark::profile {

/// Bytes as stored.
class PackedBytes {
 public:
  virtual ~PackedBytes() = default;
  /// At least one byte unless at the end.
  [[nodiscard]] virtual Result<std::size_t> read_some(std::span<char> into) = 0;
};

/// Not thread safe.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  /// At least one byte unless at the end, or where the archive is damaged: then damage() says so.
  [[nodiscard]] virtual Result<std::size_t> unpack(std::span<char> into) = 0;
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// The damage is that the end is missing.
  [[nodiscard]] bool is_cut() const { return cut_; }

 protected:
  std::string damage_;
  bool cut_ = false;
};

/// "gzip", "zstd" or "" by the first four bytes.
[[nodiscard]] std::string packing_of(std::string_view head);
[[nodiscard]] std::unique_ptr<Unpacker> make_unpacker(std::string_view packing, std::unique_ptr<PackedBytes> packed);

}  // namespace warpmark::profile
