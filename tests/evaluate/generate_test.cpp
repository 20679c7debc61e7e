#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "accuracy/columns.h"
#include "base/json.h"
#include "base/pictures/jpeg.h"
#include "base/text.h"
#include "evaluate/generate/generated_data.h"

namespace warpmark::evaluate {
namespace {

template <typename Options>
std::string made(Status (*generate)(const Options&, const Sink&), const Options& options) {
  std::string all;
  const Status done = generate(options, [&](std::string_view bytes) {
    all += bytes;
    return Status();
  });
  EXPECT_TRUE(done.ok()) << done.error().what;
  return all;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

TEST(Generate, fasta_has_ids_lengths_and_motifs_and_depends_on_the_seed_alone) {
  const FastaOptions options{.n = 400, .motif = "TATAAAGGC", .motif_share = 0.25, .seed = 3};
  const std::string text = made(generate_fasta, options);
  EXPECT_EQ(text, made(generate_fasta, options));
  EXPECT_NE(text, made(generate_fasta, FastaOptions{.n = 400, .motif = "TATAAAGGC", .motif_share = 0.25, .seed = 4}));
  const auto all = lines(text);
  ASSERT_EQ(all.size(), 800U);
  EXPECT_EQ(all[0], ">synthetic_000000");
  EXPECT_EQ(all[798], ">synthetic_000399");
  int with_motif = 0;
  for (std::size_t i = 1; i < all.size(); i += 2) {
    EXPECT_EQ(all[i].size(), 300U);
    EXPECT_EQ(all[i].find_first_not_of("ACGT"), std::string::npos);
    with_motif += all[i].find("TATAAAGGC") != std::string::npos;
  }
  EXPECT_NEAR(with_motif, 100, 40);
}

TEST(Generate, reads_come_from_their_sequences_with_the_error_rate_asked_for) {
  const FastaOptions sequences{.n = 50, .length = 200, .seed = 9};
  FastaOptions reads = sequences;
  reads.reads = 500;
  reads.read_length = 80;
  reads.error_rate = 0.05;
  const auto genome = lines(made(generate_fasta, sequences)), text = lines(made(generate_fasta, reads));
  ASSERT_EQ(text.size(), 1000U);
  int wrong = 0;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto source = std::stoul(text[i].substr(text[i].find("synthetic_") + 10, 6));
    const auto at = std::stoul(text[i].substr(text[i].rfind(':') + 1));
    const std::string from = genome[2 * source + 1].substr(at, 80);
    for (std::size_t k = 0; k < 80; ++k) wrong += from[k] != text[i + 1][k];
  }
  EXPECT_NEAR(wrong / 40000.0, 0.05, 0.006);
  EXPECT_FALSE(generate_fasta({.n = 5, .length = 3, .motif = "ACGT"}, [](std::string_view) { return Status(); }).ok());
}

TEST(Generate, prompts_have_exactly_the_tokens_asked_for) {
  const std::string vocabulary =
      R"({"model": {"type": "BPE", "vocab": {"hello": 0, "Ġhello": 1, "world": 2, "Ġworld": 3, "odd": 4, "Ġ": 5,
                                                "a": 6, "Ġa": 7}}})";
  const auto words = whole_word_tokens(vocabulary, "tokenizer.json");
  ASSERT_TRUE(words.ok()) << words.error().what;
  EXPECT_EQ(*words, (std::vector<std::string>{"hello", "world"}));
  std::string all;
  ASSERT_TRUE(generate_prompts({.n = 20, .tokens = 33, .seed = 2}, *words, [&](std::string_view bytes) {
                all += bytes;
                return Status();
              }).ok());
  for (const auto& line : lines(all)) {
    const Json record = Json::parse(line);
    EXPECT_EQ(split(record["prompt"].get<std::string>(), ' ').size(), 33U);
    EXPECT_EQ(record["tokens"].get<int>(), 33);
  }
  EXPECT_FALSE(whole_word_tokens("{\"a\": 1}", "v.json").ok());
  EXPECT_FALSE(whole_word_tokens("[]", "v.json").ok());
}

TEST(Generate, ids_follow_zipfs_law) {
  std::map<std::int64_t, double> counts;
  const auto all = lines(made(generate_ids, IdStreamOptions{.n = 100'000, .ids = 1000, .exponent = 1, .seed = 5}));
  ASSERT_EQ(all.size(), 100'000U);
  for (const auto& line : all) ++counts[std::stoll(line)];
  double harmonic = 0;
  for (int i = 1; i <= 1000; ++i) harmonic += 1.0 / i;
  for (const int rank : {1, 2, 5, 10}) {
    const double expected = 100'000 / harmonic / rank;
    EXPECT_NEAR(counts[rank - 1], expected, 6 * std::sqrt(expected)) << rank;
  }
  EXPECT_LT(counts.rbegin()->first, 1000);
}

TEST(Generate, click_logs_have_criteos_columns) {
  const auto all = lines(made(generate_clicks, ClickLogOptions{.n = 2000, .seed = 1}));
  int clicks = 0;
  for (const auto& line : all) {
    EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 39);
    clicks += line[0] == '1';
  }
  EXPECT_NEAR(clicks, 500, 100);
}

TEST(Generate, embeddings_are_read_back_with_length_one) {
  const std::string bytes = made(generate_embeddings, EmbeddingOptions{.n = 30, .width = 17, .clusters = 3, .seed = 8});
  const auto columns = accuracy::parse_npy(bytes, "e.npy");
  ASSERT_TRUE(columns.ok()) << columns.error().what;
  EXPECT_EQ((*columns)[0].shape, (std::vector<std::int64_t>{30, 17}));
  for (std::size_t row = 0; row < 30; ++row) {
    double squares = 0;
    for (std::size_t c = 0; c < 17; ++c) squares += std::pow((*columns)[0].numbers[row * 17 + c], 2);
    EXPECT_NEAR(squares, 1, 1e-5);
  }
}

TEST(Generate, pictures_are_files_of_their_formats) {
  const PictureOptions options{.width = 40, .height = 30, .seed = 2};
  const std::string pixels = picture_pixels(options, 7);
  EXPECT_EQ(pixels.size(), 3600U);
  EXPECT_EQ(pixels, picture_pixels(options, 7));
  EXPECT_NE(pixels, picture_pixels(options, 8));
  const std::string png = png_of(pixels, 40, 30);
  EXPECT_EQ(png.substr(0, 8), std::string("\x89PNG\r\n\x1a\n", 8));
  EXPECT_EQ(png.substr(png.size() - 8, 4), "IEND");
  const auto jpeg = jpeg_of(pixels, 40, 30, 85);
  if (!jpeg.ok()) GTEST_SKIP() << jpeg.error().what;
  EXPECT_EQ(jpeg->substr(0, 2), "\xFF\xD8");
  EXPECT_EQ(jpeg->substr(jpeg->size() - 2), "\xFF\xD9");
}

}  // namespace
}  // namespace warpmark::evaluate
