// Parameters and FLOPs of the models against published ones.
#include <gtest/gtest.h>

#include <utility>

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
  EXPECT_EQ(shape_of("resnet50", "large").parameters, 60'192'808);        // torchvision's resnet152
  EXPECT_EQ(shape_of("bert", "base").parameters, 109'482'240 - 590'592);  // bert-base-uncased without its pooler
  EXPECT_EQ(shape_of("bert", "large").parameters, 334'092'288);
  EXPECT_EQ(shape_of("bert", "squad-large").parameters, 334'092'288);
  EXPECT_EQ(shape_of("gpt2", "base").parameters, 124'439'808);
  EXPECT_EQ(shape_of("gpt2", "medium").parameters, 354'823'168);
  EXPECT_EQ(shape_of("gpt2", "large").parameters, 774'030'080);
  EXPECT_EQ(shape_of("gpt2", "xl").parameters, 1'557'611'200);
  EXPECT_EQ(shape_of("llama", "base").parameters, 1'235'814'400);
  EXPECT_EQ(shape_of("llama", "large").parameters, 8'030'261'248);
  EXPECT_EQ(shape_of("vit", "base").parameters, 86'567'656);
  EXPECT_EQ(shape_of("vit", "large").parameters, 304'326'632);
  EXPECT_EQ(shape_of("unet3d", "base").parameters, 31'190'243);  // MLPerf's reference, layer by layer
}

/// Of DLRM what is not tables is little: layers of 13-512-256-128, then 479 or three crosses of 3456 by 512 and the
/// top.
TEST(ModelShape, of_recommendation_has_the_tables_and_layers_of_mlperf) {
  constexpr std::int64_t kTables = std::int64_t{204'184'588} * 128;
  constexpr std::int64_t kBottom = 14 * 512 + 513 * 256 + 257 * 128;
  constexpr std::int64_t kTop = 1025 * 1024 + 1025 * 512 + 513 * 256 + 257;
  EXPECT_EQ(shape_of("dlrm", "large").parameters, kTables + kBottom + 480 * 1024 + kTop);
  EXPECT_EQ(shape_of("dlrm", "dcnv2-large").parameters,
            kTables + kBottom + 3 * (2 * 3456 * 512 + 3456) + 3457 * 1024 + kTop);
}

TEST(ModelShape, has_the_published_operations) {
  EXPECT_NEAR(shape_of("resnet50", "base").forward_flops, 8.178e9, 0.5e6);
  constexpr std::pair<std::int64_t, double> kBert[] = {{128, 78.9e9}, {384, 246.4e9}, {512, 335.0e9}};
  for (const auto& [length, published] : kBert) {
    EXPECT_NEAR(shape_of("bert", "squad-large", length).forward_flops, published, 0.05e9) << length;
  }
  const double head = shape_of("bert", "large").forward_flops - shape_of("bert", "squad-large").forward_flops;
  EXPECT_NEAR(head / 57 * 20, 1.3e9, 0.05e9);
  EXPECT_NEAR(head / 57 * 76, 4.9e9, 0.05e9);
  constexpr std::pair<const char*, double> kGpt2[] = {
      {"base", 854.4e6}, {"medium", 2422.7e6}, {"large", 5198.9e6}, {"xl", 10273.5e6}};
  for (const auto& [preset, published] : kGpt2) {
    EXPECT_NEAR(3 * shape_of("gpt2", preset).forward_flops / 1024, published, 0.05e6) << preset;
  }
  EXPECT_NEAR(shape_of("vit", "base").forward_flops, 2 * 17.564e9, 1e6);   // torchvision's, of multiplications
  EXPECT_NEAR(shape_of("vit", "large").forward_flops, 2 * 61.555e9, 1e6);  // with their additions
  EXPECT_NEAR(3 * shape_of("dlrm", "base").forward_flops, 14.75e6, 0.005e6);
  EXPECT_NEAR(3 * shape_of("dlrm", "dcnv2").forward_flops, 96.2e6, 0.05e6);
}

/// 2 N + 4 L H S for a word (Kaplan et al. 2020), N being the published parameters that multiply: no norms, and of an
/// embedding that is not the head as well none.
TEST(ModelShape, of_llama_has_the_operations_of_its_published_parameters) {
  const double base = 1'235'814'400.0 - 33 * 2048, large = 8'030'261'248.0 - 65 * 4096 - 128'256.0 * 4096;
  EXPECT_DOUBLE_EQ(shape_of("llama", "base").forward_flops / 2048, 2 * base + 4.0 * 16 * 2048 * 2048);
  EXPECT_DOUBLE_EQ(shape_of("llama", "large").forward_flops / 2048, 2 * large + 4.0 * 32 * 4096 * 2048);
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
  EXPECT_TRUE(model_shape("gpt2", "tiny", 1 << 20, 0).ok()) << "the last batch of --sweep batch=auto";
  EXPECT_FALSE(model_shape("gpt2", "tiny", (1 << 20) + 1, 0).ok());
  EXPECT_TRUE(model_shape("gpt2", "tiny", 1, 64).ok());
  EXPECT_FALSE(model_shape("gpt2", "tiny", 0, 0, 255).ok());
  EXPECT_FALSE(model_shape("vit", "tiny", 0, 0, 320).ok());
  EXPECT_FALSE(model_shape("bert", "squad-tiny", 0, 2).ok());
  EXPECT_TRUE(model_shape("bert", "squad-tiny", 0, 3).ok());
  const auto unknown = model_shape("gpt2", "squad", 0, 0);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().hint, "tiny, base, medium, large, xl");
}

}  // namespace
}  // namespace warpmark::workloads
