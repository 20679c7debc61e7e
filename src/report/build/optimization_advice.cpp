// What a report of `optimize` says of the recorded original, and of changes that the program needs itself.
#include <fmt/format.h>

#include "report/build/optimization.h"
#include "report/draw/format.h"

namespace warpmark::report {

Section findings_section(const Optimization& optimization) {
  Table table{{{"found in recorded steps"}, {"estimated speedup if fixed", Align::right}, {"where", Align::left, 1}},
              {}};
  for (const auto& finding : optimization.findings) {
    const auto gain = finding.is_gain_known() ? fmt::format("{:.2f}x-{:.2f}x", finding.low, finding.high) : "not known";
    table.rows.push_back({{finding.title}, {gain}, {finding.where, Tone::quiet}});
  }
  Section section{.heading = "Bottlenecks of the original", .blocks = {table}};
  constexpr double kNoteworthy = 1.2;
  const double recorded_s = optimization.recorded_seconds_per_step.value_or(0);
  const double plain_s = optimization.baseline.seconds_per_step;
  if (plain_s > 0 && recorded_s > kNoteworthy * plain_s) {
    section.blocks.push_back(Paragraph{
        fmt::format(
            "While they were recorded, steps took {} instead of {}. Times above are of recorded steps; speedups "
            "are estimated against a step that is not recorded.",
            format_seconds(recorded_s), format_seconds(plain_s)),
        Tone::quiet});
  }
  return section;
}

Section advice_section(const Optimization& optimization) {
  Section section{.heading = "Changes to make in the program"};
  for (const auto& advice : optimization.advice) {
    std::string text = (advice.where.empty() ? "" : advice.where + ": ") + advice.text;
    if (advice.predicted) {
      text += fmt::format(" Estimated speedup {:.2f}x-{:.2f}x (not proven).", advice.predicted->low,
                          advice.predicted->high);
    }
    section.blocks.push_back(Paragraph{std::move(text)});
    if (!advice.code.empty()) section.blocks.push_back(Paragraph{.text = advice.code, .code = true});
  }
  return section;
}

}  // namespace warpmark::report
