#include "profile/readers/text/line_reader.h"

#include <algorithm>

#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kReadBytes = 1 << 18;
constexpr std::size_t kMostLineBytes = 16 << 20;
// No tool prints more; a line of nothing but separators would take 32 times its size.
constexpr std::size_t kMostFields = 1 << 15;
constexpr std::size_t kMostWords = 1 << 12;

}  // namespace

Result<bool> LineReader::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t have = buffer_.size();
  buffer_.resize(have + kReadBytes);
  const auto got = source_.read({buffer_.data() + have, kReadBytes});
  buffer_.resize(have + (got.ok() ? *got : 0));
  if (!got.ok()) return got.error();
  return *got > 0;
}

Result<bool> LineReader::next(std::string_view& line) {
  std::size_t searched = at_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    const bool too_long = end == std::string::npos && buffer_.size() - at_ >= kMostLineBytes;
    if (end != std::string::npos || too_long) {
      const std::size_t stop = too_long ? buffer_.size() : end;
      line = std::string_view(buffer_).substr(at_, stop - at_);
      at_ = too_long ? stop : stop + 1;
      cut_lines_ += too_long ? 1 : 0;
      break;
    }
    searched = buffer_.size() - at_;
    WM_ASSIGN(const bool more, fill());
    if (more) continue;
    if (buffer_.size() == at_) return false;
    line = std::string_view(buffer_).substr(at_);
    at_ = buffer_.size();
    break;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

void count_line_issues(const ByteSource& source, const LineReader& lines, std::vector<DataQualityIssue>& quality) {
  if (lines.cut_lines() > 0) {
    count_issue(quality, "long_line", "lines above 16 MB: each was read as several", {}, lines.cut_lines());
  }
  if (!source.damage().empty()) count_issue(quality, source.damage_id(), source.damage());
}

std::vector<std::string> csv_fields(std::string_view record) {
  std::vector<std::string> fields;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < record.size() && fields.size() < kMostFields; ++i) {
    const char c = record[i];
    if (quoted && c == '"' && i + 1 < record.size() && record[i + 1] == '"') {
      field += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.push_back(std::move(field));
      field.clear();
    } else {
      field += c;
    }
  }
  if (fields.size() < kMostFields) fields.push_back(std::move(field));
  return fields;
}

bool has_open_quote(std::string_view line) { return std::count(line.begin(), line.end(), '"') % 2 != 0; }

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r";
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos && words.size() < kMostWords;
       at = line.find_first_not_of(kBlanks, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace warpmark::profile
