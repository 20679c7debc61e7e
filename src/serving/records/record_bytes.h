// Records of requests as bytes, for a file and for another process: fields of one size, then what only some records
// have (gaps between tokens, a message, words). They come in blocks, each with its length and its number of records
// before it, so that what was cut off is told from what is whole. Little-endian. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serving/answers/record.h"

namespace warpmark::serving {

/// What is before the records of a block.
struct BlockHead {
  std::uint32_t bytes = 0;  ///< of the records
  std::uint32_t records = 0;
};
inline constexpr std::size_t kBlockHeadBytes = 12;
inline constexpr std::size_t kUsualBlockBytes = 64 << 10;  ///< of a file
/// Larger ones are damaged: a block ends with the record that fills it.
inline constexpr std::uint32_t kMostBlockBytes = 1U << 30;

void append_record(const RequestRecord& record, std::string& bytes);

/// Gathers records.
class RecordBlock {
 public:
  void add(const RequestRecord& record);
  [[nodiscard]] bool empty() const { return records_ == 0; }
  /// With its head.
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  /// The whole block; then the next one begins.
  [[nodiscard]] std::string take();

 private:
  std::string bytes_;
  std::uint32_t records_ = 0;
};

/// Nothing where no block begins.
[[nodiscard]] std::optional<BlockHead> read_block_head(std::string_view bytes);
/// The length in bytes of the record at the front of `bytes`, which is read into `record`; 0 where none is.
[[nodiscard]] std::size_t read_record(std::string_view bytes, RequestRecord& record);
/// When the record at the front of `bytes` was due, without reading all of it, and its length; as read_record.
[[nodiscard]] std::size_t read_due(std::string_view bytes, std::int64_t& intended_ns);

/// All of its times counted from `began_ns`, which becomes 1, as 0 is "did not happen".
void count_from(std::int64_t began_ns, RequestRecord& record);

}  // namespace warpmark::serving
