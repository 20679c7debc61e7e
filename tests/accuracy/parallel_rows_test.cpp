#include "accuracy/scoring/each_answer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "accuracy/scoring/metric.h"
#include "accuracy/text/bleu_chrf.h"

namespace warpmark::accuracy {
namespace {

TEST(ParallelRows, take_every_row_once) {
  for (const std::size_t rows : {0UL, 1UL, 499UL, 500UL, 1001UL, 20'011UL}) {
    std::vector<std::atomic<int>> seen(rows);
    share_rows(rows, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) ++seen[i];
    });
    for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(seen[i], 1) << "row " << i << " of " << rows;
  }
}

TEST(ParallelRows, hand_on_an_exception_when_all_have_ended) {
  std::atomic<int> ended = 0;
  const auto fails = [&] {
    share_rows(10'000, [&](std::size_t first, std::size_t last) {
      ++ended;
      if (last == 10'000) throw std::runtime_error("from row " + std::to_string(first));
    });
  };
  EXPECT_THROW(fails(), std::runtime_error);
  EXPECT_GE(ended, 1);
}

TEST(ParallelRows, score_what_one_thread_scores) {
  const std::vector<std::string> words{"the", "cat", "sat", "on", "a", "mat", ",", "café", "3.14", "(as", "it)"};
  Examples examples{.examples = {}, .systems = {"a", "b"}, .answers = {{}, {}}};
  std::uint64_t state = 7;
  const auto text = [&] {
    std::string line;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      line += words[(state >> 33) % words.size()] + " ";
    }
    return line;
  };
  for (int i = 0; i < 3000; ++i) {
    examples.examples.push_back({.references = {text()}});
    for (auto& system : examples.answers) system.push_back({.text = text()});
  }
  const auto metrics = metrics_named({"sentence_bleu", "rouge2", "wer"}, {});
  ASSERT_TRUE(metrics.ok());
  for (const auto& metric : *metrics) {
    const auto all = measure(metric, examples);
    ASSERT_TRUE(all.ok()) << all.error().what;
    for (const std::size_t system : {0UL, 1UL}) {
      for (const std::size_t i : {0UL, 749UL, 1500UL, 2999UL}) {
        const Examples one{
            .examples = {examples.examples[i]}, .systems = {"one"}, .answers = {{examples.answers[system][i]}}};
        const auto alone = measure(metric, one);
        ASSERT_TRUE(alone.ok());
        const std::vector<std::uint32_t> row{static_cast<std::uint32_t>(system * examples.size() + i)};
        EXPECT_DOUBLE_EQ(all->value(row), value_of(*alone, 0)) << metric.name << " of answer " << i;
      }
    }
  }
}

}  // namespace
}  // namespace warpmark::accuracy
