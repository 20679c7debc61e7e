// Rows of tables, one after another.
#include "base/csv.h"

#include <gmock/gmock.h>

namespace warpmark {
namespace {

using testing::ElementsAre;

TEST(CsvRows, are_fields_with_quotes_and_any_line_ends) {
  CsvRows rows("a,\"b,\"\"c\"\"\n\"\r\n\n\r\n,\n\"\"\nlast", ',');
  std::vector<std::string> row{"what", "was", "there"};
  EXPECT_EQ(*rows.next(row), 2U);
  EXPECT_THAT(row, ElementsAre("a", "b,\"c\"\n"));
  EXPECT_EQ(*rows.next(row), 2U);
  EXPECT_THAT(row, ElementsAre("", ""));
  EXPECT_EQ(*rows.next(row), 1U);
  EXPECT_THAT(row, ElementsAre(""));
  EXPECT_EQ(*rows.next(row), 1U);
  EXPECT_THAT(row, ElementsAre("last"));
  EXPECT_EQ(*rows.next(row), 0U);
  EXPECT_EQ(*rows.next(row), 0U);
}

TEST(CsvRows, count_the_fields_that_are_not_kept) {
  CsvRows rows("a;b;\"c;\";d\ne\n", ';', 2);
  std::vector<std::string> row;
  EXPECT_EQ(*rows.next(row), 4U);
  EXPECT_THAT(row, ElementsAre("a", "b"));
  EXPECT_EQ(*rows.next(row), 1U);
  EXPECT_THAT(row, ElementsAre("e"));
}

TEST(CsvRows, complain_of_an_open_quote) {
  std::vector<std::string> row;
  CsvRows rows("a\n\"b\n", ',');
  EXPECT_EQ(*rows.next(row), 1U);
  EXPECT_EQ(rows.next(row).error().what, "a quote is not closed");
  EXPECT_EQ(parse_csv("a\n\"b\n", ',', "file").error().what, "file: a quote is not closed");
}

}  // namespace
}  // namespace warpmark
