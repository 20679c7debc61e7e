// Tables as text: RFC 4180, any separator.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark {

/// The rows of a table, one after another; empty lines are no rows. Quoted fields may hold separators, doubled quotes
/// and line ends. `text` outlives this. One thread.
class CsvRows {
 public:
  /// No more than `most_fields` of a row are kept.
  CsvRows(std::string_view text, char separator, std::size_t most_fields = std::string_view::npos)
      : text_(text), separator_(separator), most_fields_(most_fields) {}

  /// How many fields the next row has, and in `row`, whose memory is used again, the first of them; 0 after the last
  /// row. Data error for a quote that is not closed.
  [[nodiscard]] Result<std::size_t> next(std::vector<std::string>& row);

 private:
  std::string_view text_;
  char separator_;
  std::size_t most_fields_;
  std::size_t at_ = 0;
  std::string beyond_;  ///< a field that is not kept
};

/// All rows. Data error that begins with `name` for a quote that is not closed.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> parse_csv(std::string_view text, char separator,
                                                                      std::string_view name);

/// The field, quoted where it must be.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace warpmark
