// What `cargo bench` prints with Rust's own harness, or Criterion's --output-format bencher:
// "test name ... bench:   4,720,415 ns/iter (+/- 498,541)". The median of the samples and their spread.
#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

constexpr std::string_view kTest = "test ", kBench = " ... bench:";

bool is_bench_line(std::string_view line) {
  return line.starts_with(kTest) && line.find(kBench) != std::string_view::npos;
}

bool detect_cargo_bench(const Document& document) {
  if (document.json || document.text.find(kBench) == std::string_view::npos) return false;
  for (const auto& line : split(document.text.substr(0, 1 << 16), '\n')) {
    if (is_bench_line(line)) return true;
  }
  return false;
}

/// "4,720,415" or "148.70".
Result<double> number_in(std::string_view text) {
  std::string digits;
  for (const char c : trim(text)) {
    if (c != ',') digits += c;
  }
  return parse_number(digits);
}

Status add_line(std::string_view line, Session& session) {
  const auto bench = line.find(kBench);
  const auto values = trim(line.substr(bench + kBench.size()));
  const auto blank = values.find(' '), spread = values.find("(+/- ");
  if (blank == std::string_view::npos) return data_error("a line ends early: " + clean_text(line));
  WM_ASSIGN(const double value, number_in(values.substr(0, blank)));
  const Unit unit =
      unit_of(trim(values.substr(blank, (spread == std::string_view::npos ? values.size() : spread) - blank)));
  Run& run = add_run(session, trim(line.substr(kTest.size(), bench - kTest.size())), "cpu");
  keep_name(run);
  run.timing.method = "cargo bench";
  const Better better = unit.si == "cycles/iter" ? Better::lower : direction_of_unit(unit.si);
  WM_TRY(
      add_summary_metric(run, {metric_for(unit.si), unit.si.c_str(), better}, unit.to_si(value), "the median alone"));
  if (spread == std::string_view::npos) return {};
  const auto rate = values.find(") = ", spread);  // of benchmarks that tell how many bytes they handle
  if (rate != std::string_view::npos) {
    const auto text = trim(values.substr(rate + 4));
    const auto amount = number_in(text.substr(0, text.find(' ')));
    const Unit per_second = unit_of(text.substr(std::min(text.find(' '), text.size())));
    if (amount.ok()) WM_TRY(add_metric(run, {"bandwidth", "B/s", Better::higher}, {per_second.to_si(*amount)}));
  }
  const auto deviation = number_in(values.substr(spread + 5, values.find(')', spread) - spread - 5));
  if (deviation.ok()) run.notes.emplace_back("spread", "+/- " + Json(unit.to_si(*deviation)).dump() + " " + unit.si);
  return {};
}

Result<std::vector<Session>> read_cargo_bench(const Document& document) {
  Session session = foreign_session("cargo bench");
  ResultLimit limit(document.text);
  for (const auto& line : split(document.text, '\n')) {
    if (!is_bench_line(line)) continue;
    WM_TRY(add_line(line, session));
    WM_TRY(limit.add(session.runs.back()));
  }
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kCargoBench{"cargo-bench", "what cargo bench prints", detect_cargo_bench, read_cargo_bench};

}  // namespace warpmark::exchange
