// What libwarpmark does for a program: measures two ways of one work, says which is faster, writes the results for
// `warpmark compare` and `warpmark history`, tells what the machine did meanwhile, and reads a profile.
//
//     tour results.json [PROFILE]
#include <warpmark/warpmark.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

namespace {

std::vector<double> random_numbers(std::size_t count) {
  std::mt19937 random(1);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = std::generate_canonical<double, 53>(random);
  return numbers;
}

int fail(const warpmark::Error& error) {
  std::fprintf(stderr, "%s\n  %s\n", error.what.c_str(), error.hint.c_str());
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return std::fprintf(stderr, "usage: tour RESULTS.json [PROFILE]\n"), 2;
  warpmark::Watch watch;

  // The median of 20 000 numbers, by sorting all of them and by selecting one.
  const auto numbers = random_numbers(20'000);
  auto work = numbers;
  double median = 0;
  const auto by_sorting = [&] {
    work = numbers;
    std::sort(work.begin(), work.end());
    return median = work[work.size() / 2];
  };
  const auto by_selecting = [&] {
    work = numbers;
    std::nth_element(work.begin(), work.begin() + static_cast<std::ptrdiff_t>(work.size() / 2), work.end());
    return median = work[work.size() / 2];
  };
  const double right = by_sorting();
  warpmark::MeasureOptions options{.name = "sort", .budget_s = 0.5, .is_right = [&] { return median == right; }};
  const auto sorting = warpmark::measure(by_sorting, options);
  options.name = "nth_element";
  const auto selecting = warpmark::measure(by_selecting, options);
  if (!sorting.ok()) return fail(sorting.error());
  if (!selecting.ok()) return fail(selecting.error());
  std::printf("%s%s", warpmark::to_text(*sorting).c_str(), warpmark::to_text(*selecting).c_str());

  const auto compared = warpmark::compare(sorting->samples_s, selecting->samples_s, {.effect = 0.02});
  if (!compared.ok()) return fail(compared.error());
  std::printf("nth_element against sort: %s", warpmark::to_text(*compared).c_str());

  const std::vector<warpmark::Measurement> both{*sorting, *selecting};
  const auto written = warpmark::write_results(words[1], both);
  if (!written.ok()) return fail(written.error());
  const auto read = warpmark::read_results(words[1]);
  if (!read.ok()) return fail(read.error());
  std::printf("%zu results in %s\n", read->size(), words[1]);

  if (count > 2) {
    const auto analysis = warpmark::analyze(words[2]);
    if (!analysis.ok()) return fail(analysis.error());
    std::printf("%s\n", analysis->verdict.c_str());
    for (const auto& finding : analysis->findings) {
      std::printf("  %s: %.2fx to %.2fx as fast without it\n", finding.rule.c_str(), finding.gain_low,
                  finding.gain_high);
    }
  }
  std::printf("%s", warpmark::to_text(watch.stop()).c_str());
  return 0;
}
