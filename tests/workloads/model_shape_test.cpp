// Parameters and FLOPs of the models against published ones.
#include <gtest/gtest.h>

#include "workloads/catalog.h"
#include "workloads/models/model_shape.h"

namespace warpmark::workloads {
namespace {

ModelShape shape_of(const char* model, const char* preset, std::int64_t length = 0) {
  auto shape = model_shape(model, preset, 0, length);
  EXPECT_TRUE(shape.ok()) << model << ' ' << preset;
  return shape.ok() ? *shape : ModelShape{};
}

TEST(ModelShape, has_the_published_numbers_of_parameters) {
  EXPECT_EQ(shape_of("resnet50", "base").parameters, 25'557'032);
  EXPECT_EQ(shape_of("resnet50", "large").parameters, 60'192'808);  // torchvision's resnet152
  EXPECT_EQ(shape_of("bert", "large").parameters, 334'092'288);
  EXPECT_EQ(shape_of("gpt2", "base").parameters, 124'439'808);
  EXPECT_EQ(shape_of("gpt2", "large").parameters, 1'557'611'200);
  EXPECT_EQ(shape_of("llama", "base").parameters, 1'235'814'400);
  EXPECT_EQ(shape_of("llama", "large").parameters, 8'030'261'248);
  EXPECT_EQ(shape_of("vit", "base").parameters, 86'567'656);
}

TEST(ModelShape, has_the_published_operations) {
  EXPECT_NEAR(shape_of("resnet50", "base").forward_flops, 8.178e9, 0.5e6);
  EXPECT_NEAR(shape_of("bert", "large").forward_flops - shape_of("bert", "large", 128).forward_flops, 246.4e9 - 78.9e9,
              0.1e9);
  EXPECT_NEAR(3 * shape_of("gpt2", "base").forward_flops / 1024, 854.4e6, 0.05e6);
  EXPECT_NEAR(3 * shape_of("gpt2", "large").forward_flops / 1024, 10273.5e6, 0.05e6);
  EXPECT_NEAR(3 * shape_of("dlrm", "base").forward_flops, 14.75e6, 0.005e6);
  EXPECT_NEAR(3 * shape_of("dlrm", "dcnv2").forward_flops, 96.2e6, 0.05e6);
}

/// One generation of "tiny" by hand: 3 layers of width 64, 256 words, a prompt of 16 and 16 new words.
TEST(ModelShape, of_decoding_has_the_operations_of_each_word) {
  const auto* gpt2 = find_in(catalog(), std::string_view("gpt2"));
  const auto params = resolve_params(gpt2->params, {{"preset", "tiny"}, {"pass", "decode"}});
  const auto shape = model_shape("gpt2", *params);
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->new_tokens, 16);
  const double layers = 3.0 * 2 * 12 * 64 * 64, head = 2.0 * 64 * 256, attention = 3.0 * 4 * 64;
  double expected = 16 * layers + head + attention * 16 * 16;
  for (int i = 1; i < 16; ++i) expected += layers + head + attention * (16 + i);
  EXPECT_EQ(shape->forward_flops, expected);
  const auto longer = resolve_params(gpt2->params, {{"preset", "tiny"}, {"pass", "decode"}, {"new_tokens", "60"}});
  EXPECT_FALSE(model_shape("gpt2", *longer).ok());
  const auto images = resolve_params(gpt2->params, {{"preset", "tiny"}, {"pass", "decode"}});
  EXPECT_FALSE(model_shape("vit", *images).ok());
}

TEST(ModelShape, of_dlrm_has_the_tables_of_criteo) {
  const auto shape = shape_of("dlrm", "large");
  std::int64_t rows = 0;
  for (const auto table : shape.rows) rows += table;
  EXPECT_EQ(rows, 204'184'588);
  std::int64_t lookups = 0;
  for (const auto hot : shape_of("dlrm", "dcnv2").hots) lookups += hot;
  EXPECT_EQ(lookups, 214);
}

TEST(ModelShape, takes_more_rows_of_the_vocabulary) {
  const auto padded = model_shape("gpt2", "base", 0, 0, 50304), own = model_shape("gpt2", "base", 0, 0);
  ASSERT_TRUE(padded.ok() && own.ok());
  EXPECT_EQ(padded->parameters - own->parameters, (50304 - 50257) * 768);
  EXPECT_DOUBLE_EQ(padded->forward_flops - own->forward_flops, 2.0 * (50304 - 50257) * 768 * 1024);
}

TEST(ModelShape, refuses_lengths_that_a_model_does_not_have) {
  EXPECT_FALSE(model_shape("gpt2", "tiny", 0, 65).ok());
  EXPECT_FALSE(model_shape("vit", "tiny", 0, 33).ok());
  EXPECT_FALSE(model_shape("dlrm", "tiny", 0, 8).ok());
  EXPECT_FALSE(model_shape("gpt2", "tiny", -1, 0).ok());
  EXPECT_TRUE(model_shape("gpt2", "tiny", 1, 64).ok());
  EXPECT_FALSE(model_shape("gpt2", "tiny", 0, 0, 255).ok());
  EXPECT_FALSE(model_shape("vit", "tiny", 0, 0, 320).ok());
}

}  // namespace
}  // namespace warpmark::workloads
