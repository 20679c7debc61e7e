#include "model/params.h"

#include <gtest/gtest.h>

namespace warpmark {
namespace {

constexpr ParamSpec kTable[] = {
    {"m", ParamKind::integer, "1024", "rows"},
    {"size", ParamKind::bytes, "4KiB", "bytes"},
    {"dtype", ParamKind::text, "f32", "data type", "f32|f64|bf16"},
};

TEST(ResolveParams, fills_defaults_and_lets_the_last_override_win) {
  const auto params = resolve_params(kTable, {{"m", "8"}, {"m", "16"}, {"dtype", "bf16"}});
  ASSERT_TRUE(params.ok());
  EXPECT_EQ(params->integer("m"), 16);
  EXPECT_EQ(params->integer("size"), 4096);
  EXPECT_EQ(to_text(*params), "m=16 size=4096 dtype=bf16");
}

TEST(ResolveParams, names_an_unknown_parameter_and_suggests) {
  const auto params = resolve_params(kTable, {{"dtyp", "f32"}});
  ASSERT_FALSE(params.ok());
  EXPECT_EQ(params.error().what, "there is no parameter 'dtyp'");
  EXPECT_NE(params.error().hint.find("did you mean 'dtype'?"), std::string::npos);
}

TEST(ResolveParams, names_a_bad_value) {
  const auto choice = resolve_params(kTable, {{"dtype", "f31"}});
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.error().what, "dtype cannot be 'f31'");
  const auto number = resolve_params(kTable, {{"m", "many"}});
  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().what, "m: 'many' is not a whole number");
}

}  // namespace
}  // namespace warpmark
