// Lines and fields of the text formats: CSV records (RFC 4180) and words between blanks.
#pragma once

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

}  // namespace warpmark::profile
