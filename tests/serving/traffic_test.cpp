// Scenarios, arrivals, prompts, objectives: what a load asks for.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "http/url.h"
#include "serving/client/histogram.h"
#include "serving/results/evaluate_load.h"
#include "serving/results/slo.h"
#include "serving/results/verdicts.h"
#include "serving/traffic/api.h"
#include "serving/traffic/arrivals.h"
#include "serving/traffic/prompts.h"
#include "serving/traffic/scenario.h"

namespace warpmark::serving {
namespace {

TEST(Scenario, is_read_as_genai_bench_writes_it) {
  for (const char* text : {"D(100,100)", "N(480,240)/(300,150)", "U(50,100)/(200,250)", "U(50,100)", "E(64)",
                           "R(1024,100)", "I(512,512)", "I(512,512,2)", "dataset", "L(100,50)/(10,5)"}) {
    EXPECT_TRUE(parse_scenario(text).ok()) << text;
  }
}

TEST(Scenario, is_refused_where_it_is_none) {
  for (const char* text :
       {"", "D", "D(100)", "D(100, 100)", "D(1,2,3)", "N(1,2)", "N(1,2)/", "N(1,2)/(3)", "U(5,2)/(1,2)", "X(1,2)",
        "D(-1,2)", "D(1,2)x", "D(0,5)", "E()", "I(1,2,0)", "D(99999999999,1)", "datasets"}) {
    const auto scenario = parse_scenario(text);
    ASSERT_FALSE(scenario.ok()) << text;
    EXPECT_EQ(scenario.error().kind, ErrorKind::usage);
  }
}

TEST(Scenario, draws_lengths_of_the_law) {
  stats::Random random(1);
  const auto fixed = parse_scenario("D(7,9)");
  EXPECT_EQ(draw_lengths(*fixed, random), (Lengths{7, 9}));
  const auto uniform = parse_scenario("U(3,4)/(5,6)");
  bool most = false;
  double input = 0;
  const auto normal = parse_scenario("N(480,24)/(300,1)");
  for (int i = 0; i < 4000; ++i) {
    const Lengths drawn = draw_lengths(*uniform, random);
    EXPECT_TRUE(drawn.input >= 3 && drawn.input <= 4 && drawn.output >= 5 && drawn.output <= 6);
    most = most || drawn.input == 4;
    input += static_cast<double>(draw_lengths(*normal, random).input) / 4000;
  }
  EXPECT_TRUE(most) << "the upper bound can be reached";
  EXPECT_NEAR(input, 480, 2);
}

TEST(Scenario, names_its_file_as_genai_bench_does) {
  EXPECT_EQ(scenario_file_name("N(480,240)/(300,150)"), "N480_240_300_150");
}

TEST(Draws, have_the_moments_of_their_laws) {
  stats::Random random(3);
  constexpr int kDraws = 40'000;
  double gamma = 0, lognormal = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    gamma += draw_gamma(random, 0.5) / kDraws;
    const double value = draw_lognormal(random, 100, 30);
    lognormal += value / kDraws;
    squares += (value - 100) * (value - 100) / kDraws;
  }
  EXPECT_NEAR(gamma, 0.5, 0.02);
  EXPECT_NEAR(lognormal, 100, 1);
  EXPECT_NEAR(std::sqrt(squares), 30, 1);
}

TEST(Arrivals, have_their_rate_and_their_burstiness) {
  for (const char* law : {"constant", "poisson", "gamma:0.25"}) {
    const auto arrivals = parse_arrivals(law, 100);
    ASSERT_TRUE(arrivals.ok());
    const auto times = due_times_ns(*arrivals, 100, 1'000'000, 1);
    EXPECT_NEAR(static_cast<double>(times.size()), 10'000, 600) << law;
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    double mean = 0, squares = 0;
    const auto n = static_cast<double>(times.size() - 1);
    for (std::size_t i = 1; i < times.size(); ++i) {
      const double gap = static_cast<double>(times[i] - times[i - 1]) * 1e-9;
      mean += gap / n;
      squares += gap * gap / n;
    }
    const double cv = std::sqrt(std::max(squares - mean * mean, 0.0)) / mean;
    EXPECT_NEAR(cv, law[0] == 'c' ? 0 : law[0] == 'p' ? 1 : 2, 0.1) << law;
  }
}

TEST(Arrivals, of_a_ramp_grow_in_a_straight_line) {
  const auto arrivals = parse_arrivals("ramp:300", 100);
  ASSERT_TRUE(arrivals.ok());
  const auto times = due_times_ns(*arrivals, 100, 1'000'000, 2);
  EXPECT_NEAR(static_cast<double>(times.size()), 20'000, 600);
  const auto half = std::count_if(times.begin(), times.end(), [](auto ns) { return ns < 50'000'000'000; });
  EXPECT_NEAR(static_cast<double>(half), 7'500, 400);
}

TEST(Arrivals, are_refused_where_the_law_is_none) {
  for (const char* law : {"", "gamma", "gamma:0", "gamma:-1", "ramp:x", "poisson:3", "uniform"})
    EXPECT_FALSE(parse_arrivals(law, 1).ok()) << law;
}

TEST(Prompt, has_its_words_and_repeats_with_its_seed) {
  const std::string text = words_text(100, 5);
  EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 99);
  EXPECT_EQ(text, words_text(100, 5));
  EXPECT_NE(text, words_text(100, 6));
}

TEST(TokenFit, learns_what_a_server_counts) {
  const TokenProbe probes[] = {{10, 27}, {100, 162}, {1000, 1512}};  // 12 + 1.5 words
  const TokenFit fit = fit_tokens(probes);
  EXPECT_TRUE(fit.measured);
  EXPECT_NEAR(fit.per_word, 1.5, 1e-9);
  EXPECT_NEAR(fit.fixed, 12, 1e-6);
  EXPECT_EQ(fit.words_for(312), 200);
  EXPECT_EQ(fit.words_for(1), 1);
  EXPECT_FALSE(fit_tokens(std::span(probes, 1)).measured);
}

TEST(Serial, is_written_over_its_mark) {
  std::string body = R"({"prompt":")" + std::string(kSerialMark) + R"( word"})";
  const auto at = find_serial(body);
  ASSERT_NE(at, std::string::npos);
  write_serial(body, at, 1234);
  EXPECT_EQ(body, R"({"prompt":"65394366 word"})");
}

TEST(Serial, of_requests_in_a_row_begins_with_different_digits) {
  // llama.cpp's server keeps the common beginning of two prompts, token by token.
  std::set<std::string> all;
  std::string before(8, ' '), text(8, ' ');
  for (std::uint64_t serial = 99'990'000; serial < 100'010'000; ++serial) {
    write_serial(text, 0, serial);
    ASSERT_NE(text[0], before[0]) << before << " and " << text;
    all.insert(before = text);
  }
  EXPECT_EQ(all.size(), 20'000U);
}

TEST(Slo, is_read_clause_by_clause) {
  const auto slo = parse_slo("ttft:p99<500ms,tpot<50ms,e2e:mean<2s,errors<1%");
  ASSERT_TRUE(slo.ok());
  ASSERT_EQ(slo->size(), 4U);
  EXPECT_EQ((*slo)[0].p, 0.99);
  EXPECT_EQ((*slo)[0].limit, 0.5);
  EXPECT_EQ((*slo)[1].p, 0.99);
  EXPECT_EQ((*slo)[2].p, -1);
  EXPECT_EQ((*slo)[3].limit, 0.01);
  for (const auto& preset : slo_presets()) EXPECT_TRUE(parse_slo(preset.name).ok()) << preset.name;
  for (const char* text :
       {"", "ttft", "ttft<", "ttft:p0<1s", "ttft:p100<1s", "foo:p99<1s", "errors<2", "ttft:p99<-1s"}) {
    EXPECT_FALSE(parse_slo(text).ok()) << text;
  }
}

TEST(Slo, is_missed_where_the_median_breaks_the_limit_of_a_high_percentile) {
  ScenarioResult few;
  few.metrics.push_back(
      {.id = "ttft", .n = 20, .percentiles = {{.p = 0.5, .value = 0.8, .interval = Interval{0.7, 0.9}}, {.p = 0.99}}});
  const auto slo = parse_slo("ttft:p99<500ms,ttft:p99<850ms");
  ASSERT_TRUE(slo.ok());
  const auto outcomes = judge_slo(*slo, few);
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].verdict, "missed");
  EXPECT_EQ(outcomes[1].verdict, "undecided");
}

TEST(Histogram, tells_quantiles_within_its_width_and_merges_exactly) {
  Histogram one, two, all;
  stats::Random random(9);
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) {
    const auto ns = static_cast<std::int64_t>(draw_lognormal(random, 1e6, 2e6));
    (i % 2 == 0 ? one : two).add(ns);
    all.add(ns);
    values.push_back(static_cast<double>(ns));
  }
  std::sort(values.begin(), values.end());
  one.merge(two);
  EXPECT_EQ(one.n(), all.n());
  for (const double p : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = values[static_cast<std::size_t>(p * 19'999)];
    EXPECT_NEAR(all.quantile_ns(p), exact, 0.016 * exact) << p;
    EXPECT_EQ(one.quantile_ns(p), all.quantile_ns(p));
  }
  EXPECT_EQ(static_cast<double>(all.most_ns()), values.back());
}

TEST(Warmup, is_the_part_that_differs_and_nothing_where_none_does) {
  stats::Random random(4);
  std::vector<double> series;
  for (int i = 0; i < 400; ++i) series.push_back(1 + 0.05 * draw_normal(random));
  EXPECT_LE(warmup_length(series), 200U);
  for (int i = 0; i < 60; ++i) series[static_cast<std::size_t>(i)] += 3;
  EXPECT_GE(warmup_length(series), 60U);
  EXPECT_LE(warmup_length(series), 130U);
  EXPECT_EQ(warmup_length(std::span(series).first(40)), 0U);
}

TEST(Percentiles, have_intervals_only_where_the_samples_support_them) {
  std::vector<double> samples(299);
  std::iota(samples.begin(), samples.end(), 1.0);
  const LoadMetric metric = request_metric("ttft", "s", Better::lower, samples, 0.95);
  EXPECT_TRUE(percentile_of(metric, 0.99)->interval.has_value());
  EXPECT_FALSE(percentile_of(metric, 0.999)->interval.has_value());
  EXPECT_TRUE(percentile_of(metric, 0.999)->value.has_value()) << "of the sample";
  EXPECT_NE(percentile_of(metric, 0.999)->reason.find("2995"), std::string::npos);
  EXPECT_EQ(percentile_of(metric, 0.5)->value, 150);
  samples.pop_back();
  EXPECT_FALSE(percentile_of(request_metric("ttft", "s", Better::lower, samples, 0.95), 0.99)->interval.has_value());
}

TEST(ApiPath, is_joined_without_repeating_the_version) {
  EXPECT_EQ(path_below("/", "/v1/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(path_below("/v1", "/v1/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(path_below("/openai/v1/", "/v1/chat/completions"), "/openai/v1/chat/completions");
  EXPECT_EQ(path_below("/openai/deployments/d?api-version=2024-02-01", "/chat/completions"),
            "/openai/deployments/d/chat/completions?api-version=2024-02-01");
}

TEST(Image, is_a_png_of_its_size) {
  const std::string png = png_image({.width = 3, .height = 2});
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  EXPECT_EQ(png.substr(png.size() - 4), "\xAE\x42\x60\x82");  // the CRC of IEND, in every PNG
  EXPECT_EQ(http::base64("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
  EXPECT_EQ(http::base64("any carnal pleasu"), "YW55IGNhcm5hbCBwbGVhc3U=");
  EXPECT_EQ(http::base64("any carnal pleasur"), "YW55IGNhcm5hbCBwbGVhc3Vy");
  for (const char* bytes : {"", "any carnal pleas", "any carnal pleasu", "any carnal pleasur", "\xFF\xFB\xEF"}) {
    EXPECT_EQ(http::bytes_of_base64(http::base64(bytes)), bytes);
  }
  for (const char* damaged : {"YQ", "YQ=", "Y===", "YQ==YQ==", "Y?==", "YQ==\n"}) {
    EXPECT_EQ(http::bytes_of_base64(damaged), std::nullopt) << damaged;
  }
}

}  // namespace
}  // namespace warpmark::serving
