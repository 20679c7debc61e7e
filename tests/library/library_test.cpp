// The C++ interface for other programs (include/warpmark/*.hpp), as a program sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <warpmark/compare.hpp>
#include <warpmark/profiles.hpp>
#include <warpmark/results.hpp>
#include <warpmark/version.hpp>
#include <warpmark/watch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace {

using testing::HasSubstr;

constexpr const char* kTrace = WARPMARK_SOURCE_DIR "/examples/traces/resnet18_slow_loading.pt.trace.json.gz";
const warpmark::v0::MeasureOptions kShort{.name = "sum", .budget_s = 0.05, .most_samples = 50, .warmup_s = 0.02};

/// Values that are spread by a few per cent around `center`, the same at every call.
std::vector<double> around(double center, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(center * (1 + 0.01 * std::sin(static_cast<double>(i * i))));
  return values;
}

std::string folder() {
  std::string name = (std::filesystem::temp_directory_path() / "warpmark-library-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

TEST(Measuring, times_a_callable_and_tells_how_sure_it_is) {
  std::vector<int> numbers(1000, 1);
  auto options = kShort;
  options.bytes = 4000;
  const auto measured =
      warpmark::v0::measure([&] { return std::accumulate(numbers.begin(), numbers.end(), 0); }, options);
  ASSERT_TRUE(measured.ok()) << measured.error().what;
  EXPECT_EQ(measured->name, "sum");
  EXPECT_EQ(measured->device, "cpu");
  EXPECT_THAT(measured->outcome, testing::AnyOf("passed", "unreliable"));
  ASSERT_GE(measured->samples_s.size(), 6U);
  EXPECT_GT(measured->median_s.value, 0);
  EXPECT_LE(measured->median_s.low, measured->median_s.value);
  EXPECT_GE(measured->median_s.high, measured->median_s.value);
  EXPECT_GE(measured->calls_per_sample, 1);
  EXPECT_GT(measured->first_call_s, 0);
  ASSERT_TRUE(measured->bytes_per_s.has_value());
  EXPECT_NEAR(measured->bytes_per_s->value * measured->median_s.value, 4000, 400);
  EXPECT_FALSE(measured->flops_per_s.has_value());
  EXPECT_THAT(warpmark::v0::to_text(*measured), HasSubstr("sum on cpu: "));
}

TEST(Measuring, calls_again_and_again_whatever_the_callable_is) {
  std::int64_t calls = 0;
  const auto measured = warpmark::v0::measure([&calls] { ++calls; }, kShort);  // returns nothing
  ASSERT_TRUE(measured.ok());
  EXPECT_GE(calls, measured->calls_per_sample * static_cast<std::int64_t>(measured->samples_s.size()));
  EXPECT_GT(measured->calls_per_sample, 1) << "a nanosecond is below any timer's resolution";
  struct Functor {
    int state = 1;
    const Functor& operator()() { return ++state, *this; }
  } functor;
  ASSERT_TRUE(warpmark::v0::measure(functor, kShort).ok());
  EXPECT_GT(functor.state, 6);
}

TEST(Measuring, shows_no_speed_of_a_wrong_result) {
  auto options = kShort;
  options.is_right = [] { return false; };
  const auto measured = warpmark::v0::measure([] { return 1; }, options);
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->outcome, "failed");
  EXPECT_TRUE(measured->samples_s.empty());
  EXPECT_THAT(measured->reason, HasSubstr("wrong"));
  EXPECT_THAT(warpmark::v0::to_text(*measured), HasSubstr("failed"));
}

TEST(Measuring, refuses_options_that_make_no_sense) {
  const auto refused = [](auto change) {
    auto options = kShort;
    change(options);
    const auto measured = warpmark::v0::measure([] { return 1; }, options);
    return !measured.ok() && measured.error().kind == warpmark::v0::ErrorKind::usage;
  };
  EXPECT_TRUE(refused([](auto& options) { options.budget_s = 0; }));
  EXPECT_TRUE(refused([](auto& options) { options.budget_s = NAN; }));
  EXPECT_TRUE(refused([](auto& options) { options.precision = 1; }));
  EXPECT_TRUE(refused([](auto& options) { options.most_samples = 2; }));
  EXPECT_TRUE(refused([](auto& options) { options.bytes = -1; }));
}

TEST(Measuring, says_what_is_missing_of_a_gpu_that_is_not_there) {
  const auto measured = warpmark::v0::measure_on_gpu([](void*) {}, kShort, 4711);
  ASSERT_FALSE(measured.ok());
  EXPECT_FALSE(measured.error().what.empty());
  EXPECT_THROW((void)measured.value(), std::runtime_error);
}

TEST(Comparing, finds_a_difference_and_rules_one_out) {
  const auto a = around(1.0, 30), faster = around(0.8, 30), same = around(1.0, 31);
  const auto better = warpmark::v0::compare(a, faster, {.effect = 0.05});
  ASSERT_TRUE(better.ok());
  EXPECT_EQ(better->verdict, warpmark::v0::Verdict::better);
  ASSERT_TRUE(better->ratio.has_value());
  EXPECT_NEAR(better->ratio->value, 0.8, 0.01);
  EXPECT_LT(better->ratio->high, 0.85);
  EXPECT_THAT(warpmark::v0::to_text(*better), HasSubstr("better: 1.25x as fast [1.2"));
  const auto worse = warpmark::v0::compare(a, faster, {.effect = 0.05, .better = warpmark::v0::Better::higher});
  ASSERT_TRUE(worse.ok());
  EXPECT_EQ(worse->verdict, warpmark::v0::Verdict::worse);
  const auto equal = warpmark::v0::compare(a, same, {.effect = 0.05});
  ASSERT_TRUE(equal.ok());
  EXPECT_EQ(equal->verdict, warpmark::v0::Verdict::same);
}

TEST(Comparing, says_what_is_missing_where_it_cannot_tell) {
  const std::vector<double> a{1, 1.3, 0.7, 1.1}, b{1.02, 0.8, 1.25, 1};
  const auto compared = warpmark::v0::compare(a, b, {.effect = 0.01, .paired = true});
  ASSERT_TRUE(compared.ok());
  EXPECT_EQ(compared->verdict, warpmark::v0::Verdict::inconclusive);
  EXPECT_FALSE(compared->reason.empty());
}

TEST(Comparing, refuses_what_has_no_ratio) {
  const std::vector<double> good{1, 2, 3}, few{1, 2}, zero{0, 1, 2}, nan{1, NAN, 2};
  for (const auto& bad : {few, zero, nan}) EXPECT_FALSE(warpmark::v0::compare(good, bad).ok());
  EXPECT_FALSE(warpmark::v0::compare(good, std::vector<double>{1, 2, 3, 4}, {.paired = true}).ok());
  EXPECT_FALSE(warpmark::v0::compare(good, good, {.effect = 0}).ok());
  EXPECT_FALSE(warpmark::v0::compare(good, good, {.alpha = 1}).ok());
}

TEST(Comparing, at_a_tail_beyond_all_numbers_knows_nothing) {
  const auto compared =
      warpmark::v0::compare(std::vector<double>{1, 1.1, 1.2}, std::vector<double>{2, 2.1, 2.2}, {.alpha = 1e-300});
  ASSERT_TRUE(compared.ok());
  EXPECT_EQ(compared->verdict, warpmark::v0::Verdict::inconclusive);
}

TEST(Measuring, without_a_function_or_a_limit_ends) {
  EXPECT_FALSE(warpmark::v0::measure_calls({}, {}).ok());
  const auto measured = warpmark::v0::measure([] {}, {.budget_s = 0.01, .most_samples = INT64_MAX, .warmup_s = 0.01});
  EXPECT_TRUE(measured.ok());
}

TEST(Profiles, are_analyzed) {
  const auto analysis = warpmark::v0::analyze(kTrace);
  ASSERT_TRUE(analysis.ok()) << analysis.error().what;
  ASSERT_FALSE(analysis->findings.empty());
  EXPECT_EQ(analysis->findings[0].rule, "data_loading");
  EXPECT_GT(analysis->findings[0].gain_low, 1);
  EXPECT_LT(analysis->findings[0].gain_low, analysis->findings[0].gain_high);
  EXPECT_FALSE(analysis->findings[0].recommendations.empty());
  EXPECT_NEAR(analysis->step_s, 0.0866, 0.01);
  EXPECT_THAT(analysis->json, HasSubstr("warpmark.analysis/1"));
  EXPECT_THAT(analysis->text, HasSubstr(analysis->findings[0].title));
  double shares = 0;
  for (const auto& part : analysis->breakdown) shares += part.share;
  EXPECT_NEAR(shares, 1, 1e-6);
  EXPECT_FALSE(warpmark::v0::analyze("/no/such/profile").ok());
  EXPECT_FALSE(warpmark::v0::analyze(WARPMARK_SOURCE_DIR "/README.md").ok());
}

TEST(ResultFiles, are_read_back_as_they_were_written) {
  const auto path = folder() + "/results.json";
  const auto measured = warpmark::v0::measure([] { return 1; }, kShort);
  ASSERT_TRUE(measured.ok());
  const std::vector<warpmark::v0::Measurement> all{*measured, *measured};
  ASSERT_TRUE(warpmark::v0::write_results(path, all).ok());
  const auto read = warpmark::v0::read_results(path);
  ASSERT_TRUE(read.ok()) << read.error().what;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[1].samples_s, measured->samples_s);
  EXPECT_EQ((*read)[1].name, "sum");
  EXPECT_EQ((*read)[1].median_s.low, measured->median_s.low);
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

TEST(ResultFiles, that_are_none_are_refused) {
  const auto path = folder() + "/other.json";
  std::ofstream(path) << "{\"a\": 1";
  EXPECT_FALSE(warpmark::v0::read_results(path).ok());
  EXPECT_FALSE(warpmark::v0::read_results(path + ".missing").ok());
  EXPECT_FALSE(warpmark::v0::write_results("/no/such/folder/x.json", {}).ok());
  warpmark::v0::Measurement invented;
  invented.json = "{}";
  EXPECT_FALSE(warpmark::v0::write_results(path, std::vector{invented}).ok());
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

TEST(Watching, looks_at_the_begin_and_at_the_end_and_moves) {
  warpmark::v0::Watch watch({.interval_s = 10});
  warpmark::v0::Watch moved = std::move(watch);
  const auto seen = moved.stop();
  EXPECT_EQ(seen.polls, 2);
  EXPECT_GT(seen.seconds, 0);
  EXPECT_GT(seen.peak_memory_bytes, 0);
  EXPECT_TRUE(!seen.gpus.empty() || !seen.gpu_problem.empty());
  EXPECT_EQ(moved.stop().polls, 2) << "the same answer again";
  EXPECT_THAT(warpmark::v0::to_text(seen), HasSubstr("2 samples"));
  EXPECT_EQ(watch.stop().polls, 0);  // NOLINT(bugprone-use-after-move): it must not crash
}

TEST(Version, is_the_library_s) { EXPECT_THAT(warpmark::v0::version(), testing::MatchesRegex("[0-9]+.[0-9]+.[0-9]+")); }

}  // namespace
