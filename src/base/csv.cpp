#include "base/csv.h"

#include <algorithm>

namespace warpmark {

Result<std::size_t> CsvRows::next(std::vector<std::string>& row) {
  std::size_t count = 0;
  const auto begin_field = [&] {
    if (count < most_fields_ && count == row.size()) row.emplace_back();
    std::string* field = count < most_fields_ ? &row[count] : &beyond_;
    field->clear();
    return field;
  };
  std::string* field = begin_field();
  bool quoted = false, any = false;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (quoted) {
      if (c != '"') {
        *field += c;
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        *field += text_[++at_];
      } else {
        quoted = false;
      }
      continue;
    }
    if (c == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') continue;
    if (c == '\n' && any) break;
    if (c == '\n') continue;
    any = true;
    if (c == '"' && field->empty()) {
      quoted = true;
    } else if (c == separator_) {
      ++count;
      field = begin_field();
    } else {
      *field += c;
    }
  }
  if (quoted) return data_error("a quote is not closed");
  if (any) ++count;
  row.resize(std::min(count, most_fields_));
  return count;
}

Result<std::vector<std::vector<std::string>>> parse_csv(std::string_view text, char separator, std::string_view name) {
  std::vector<std::vector<std::string>> rows;
  CsvRows reader(text, separator);
  for (;;) {
    std::vector<std::string> row;
    const auto fields = reader.next(row);
    if (!fields.ok()) return data_error(std::string(name) + ": " + fields.error().what);
    if (*fields == 0) return rows;
    rows.push_back(std::move(row));
  }
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",;\t\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char letter : text) {
    if (letter == '"') field += '"';
    field += letter;
  }
  return field + '"';
}

}  // namespace warpmark
