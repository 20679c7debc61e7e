// Text as readers take it: in lines, and each different text kept once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile/timeline.h"
#include "profile/source.h"

namespace warpmark::profile {

/// Lines of a source of any size; memory is that of the longest line. Lines above 16 MB are cut, and counted.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(source) {}
  /// False at the end. The line has no line break, also no '\r'; the view is valid until the next call.
  [[nodiscard]] Result<bool> next(std::string_view& line);
  [[nodiscard]] std::int64_t cut_lines() const { return cut_lines_; }

 private:
  [[nodiscard]] Result<bool> fill();
  ByteSource& source_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t cut_lines_ = 0;
};

/// What the source and its lines had that could not be read as it stands there.
void count_line_issues(const ByteSource& source, const LineReader& lines, std::vector<DataQualityIssue>& quality);

/// Calls add(line) for every line of the source, then counts their issues.
template <typename Add>
[[nodiscard]] Status for_each_line(ByteSource& source, std::vector<DataQualityIssue>& quality, Add add) {
  LineReader lines(source);
  for (std::string_view line;;) {
    WM_ASSIGN(const bool more, lines.next(line));
    if (!more) break;
    add(line);
  }
  count_line_issues(source, lines, quality);
  return {};
}

/// Fields of a CSV record, the first 32768 of them. A field whose quote is not closed takes the rest.
[[nodiscard]] std::vector<std::string> csv_fields(std::string_view record);
/// Whether a quote is opened in the line and not closed, or closed and not opened.
[[nodiscard]] bool has_open_quote(std::string_view line);

/// Words between blanks, the first 4096 of them; views of `line`.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

// Texts of one parsing thread, each kept once, as raw as they stand in the file. Unescaping waits until the threads'
// results are joined, and so is done once for each different text.

/// Ids are dense and count from 0. What at() and drain() give points to memory that stays until clear(). Not thread
/// safe.
class TextTable {
 public:
  TextTable();
  [[nodiscard]] std::uint32_t intern(std::string_view text);
  /// Texts added since the last call, in the order of their ids.
  void drain(std::vector<std::string_view>& into);
  /// Memory held, bytes.
  [[nodiscard]] std::size_t memory() const { return memory_; }
  /// Forgets all texts and gives the memory that held them to the caller, who keeps it while views are in use.
  [[nodiscard]] std::vector<std::shared_ptr<char[]>> clear();

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = 0;  ///< plus one; 0 is free
  };
  std::string_view keep(std::string_view text);
  void grow();

  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;
  std::vector<std::shared_ptr<char[]>> chunks_;
  std::size_t chunk_left_ = 0;
  char* chunk_at_ = nullptr;
  std::size_t drained_ = 0;
  std::size_t memory_ = 0;
};

}  // namespace warpmark::profile
