// A Check for people: a sentence, a table, and what each metric was compared with.
#pragma once

#include <string>

#include "model/check.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Check& check);

/// "2 worse, 1 better, 37 unchanged, 3 inconclusive".
[[nodiscard]] std::string verdict_counts(const Check& check);

/// "worse by 6.2 %", "no change of 5.0 % for the worse", "inconclusive: ...".
[[nodiscard]] std::string verdict_sentence(const MetricCheck& metric, double threshold);

/// The change for people: "+6.2 %"; "n/a" where there is none.
[[nodiscard]] std::string change_text(const MetricCheck& metric);
/// "[+4.1 %, +8.3 %]", or nothing.
[[nodiscard]] std::string interval_text(const MetricCheck& metric);

/// Why the baseline begins where it does; empty if it was never restarted.
[[nodiscard]] std::string restart_sentence(const MetricCheck& metric);

/// Who is suspected, and what a search found.
[[nodiscard]] std::string suspects_sentence(const Suspects& suspects);

/// What decides, in one paragraph.
[[nodiscard]] std::string method_text(const Check& check);

}  // namespace warpmark::report
