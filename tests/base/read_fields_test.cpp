#include "base/untrusted/read_fields.h"

#include <gtest/gtest.h>

namespace warpmark {
namespace {

Result<int> number_in(const Json& json) {
  return read_fields("results.json", [&]() -> Result<int> { return json.at("number").get<int>(); });
}

TEST(ReadFields, gives_what_is_read_or_says_what_is_wrong_in_no_words_of_the_library) {
  EXPECT_EQ(*number_in({{"number", 3}}), 3);
  for (const Json& wrong : {Json{{"number", "3"}}, Json::object(), Json(5), Json::array()}) {
    const auto read = number_in(wrong);
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_EQ(read.error().kind, ErrorKind::data);
    EXPECT_TRUE(read.error().what.starts_with("results.json ")) << read.error().what;
    EXPECT_EQ(read.error().what.find("json.exception"), std::string::npos) << read.error().what;
  }
  const auto message = [](const Json& json) { return number_in(json).error().what; };
  EXPECT_NE(message({{"number", "3"}}).find(": a string where a number is expected"), std::string::npos)
      << message({{"number", "3"}});
  EXPECT_NE(message(Json::object()).find(": the field 'number' is missing"), std::string::npos)
      << message(Json::object());
  EXPECT_NE(message({{"number", Json::array()}}).find(": a list where a number is expected"), std::string::npos)
      << message({{"number", Json::array()}});
  EXPECT_NE(message({{"number", Json::object()}}).find(": an object where a number is expected"), std::string::npos);
  EXPECT_NE(message({{"number", nullptr}}).find(": null where a number is expected"), std::string::npos);
  EXPECT_NE(message(Json(5)).find(": a number where an object or a list is expected"), std::string::npos)
      << message(Json(5));
}

}  // namespace
}  // namespace warpmark
