// What needs attention, grouped: one cause often hits many benchmarks.
#include <algorithm>
#include <functional>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "model/names.h"
#include "report/draw/format.h"
#include "report/results/build_parts.h"

namespace warpmark::report {
namespace {

/// A sentence with its numbers taken out, so that sentences that differ only in them can be told as one.
struct Sentence {
  std::vector<std::string> words;                            // around the numbers: one more than there are numbers
  std::vector<std::pair<std::string, std::string>> numbers;  // smallest and largest of each, as written
};

Sentence sentence_of(const std::string& text) {
  Sentence sentence{{""}, {}};
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (is_digit(text[end]) || (end > i && text[end] == '.'))) ++end;
    while (end > i && text[end - 1] == '.') --end;  // the end of the sentence, not of a number
    if (end == i) {
      sentence.words.back() += text[i++];
      continue;
    }
    const auto number = text.substr(i, end - i);
    sentence.numbers.emplace_back(number, number);
    sentence.words.emplace_back();
    i = end;
  }
  return sentence;
}

double value_of(const std::string& number) { return parse_number(number).ok() ? *parse_number(number) : 0; }

void widen(Sentence& known, const Sentence& more) {
  for (std::size_t i = 0; i < known.numbers.size(); ++i) {
    auto& [low, high] = known.numbers[i];
    const auto& number = more.numbers[i].first;
    if (value_of(number) < value_of(low)) low = number;
    if (value_of(number) > value_of(high)) high = number;
  }
}

/// "other processes used 39–90 % of the CPU time".
std::string text_of(const Sentence& sentence) {
  std::string text = sentence.words.front();
  for (std::size_t i = 0; i < sentence.numbers.size(); ++i) {
    const auto& [low, high] = sentence.numbers[i];
    text += (low == high ? low : low + "–" + high) + sentence.words[i + 1];
  }
  return text;
}

struct Problem {
  std::string title;
  Tone tone;
  std::vector<std::string> benchmarks;
  Sentence what;
  std::string fix;
};

/// Adds to the group with the same words, or begins one. Measured numbers may differ within a group; those of a wrong
/// parameter or result are the point, and may not.
void add(std::vector<Problem>& problems, Problem problem, bool numbers_may_differ) {
  for (auto& known : problems) {
    if (std::tie(known.title, known.what.words, known.fix) !=
            std::tie(problem.title, problem.what.words, problem.fix) ||
        (!numbers_may_differ && known.what.numbers != problem.what.numbers)) {
      continue;
    }
    known.benchmarks.push_back(problem.benchmarks.front());
    widen(known.what, problem.what);
    return;
  }
  problems.push_back(std::move(problem));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMost) text += " and " + format_count(static_cast<std::int64_t>(names.size() - kMost)) + " more";
  return text;
}

std::string wrong_result(const Run& run) {
  if (!run.reason.empty() || !run.error) return run.reason;
  return run.error->norm + " is " + format_scientific(run.error->value) + ", tolerance " +
         format_scientific(run.error->tolerance);
}

std::string distrust(const Run& run) {
  if (!run.reason.empty()) return run.reason;
  std::string text;
  for (const auto& event : run.environment.disturbances) {
    if (event.invalidates) text += (text.empty() ? "" : "; ") + event.cause;
  }
  return text;
}

std::string looseness(const Run& run) {
  const Summary& summary = run.metrics.front().summary;
  std::string text = format_plural(static_cast<std::size_t>(summary.n), "sample", "samples");
  text += summary.median_interval
              ? " give the median to " + format_half_width(summary.median, *summary.median_interval)
              : std::string(summary.n == 1 ? " is" : " are") + " too few for an interval of the median";
  return text + (run.stopped_because.empty() ? "" : "; sampling stopped: " + run.stopped_because);
}

bool not_converged(const Run& run) { return run.outcome == Outcome::passed && shows_speed(run) && !run.converged; }

/// A block of lines a group, as sentences do not fit into narrow columns.
Section section_of(const char* heading, const std::vector<Problem>& problems) {
  Table table{{{""}, {""}}, {}};
  for (const auto& problem : problems) {
    table.rows.push_back({{problem.title, problem.tone}, {listed(problem.benchmarks)}});
    if (const auto what = text_of(problem.what); !what.empty()) table.rows.push_back({{}, {what}});
    if (!problem.fix.empty()) table.rows.push_back({{}, {"→ " + problem.fix, Tone::quiet}});
  }
  return {heading, {std::move(table)}};
}

}  // namespace

std::optional<Section> problems_section(const Session& session, const RunLabels& labels) {
  std::vector<Problem> problems;
  const auto collect = [&](const std::function<bool(const Run&)>& wanted, const char* title, Tone tone,
                           const std::function<std::string(const Run&)>& what) {
    for (const auto& run : session.runs) {
      if (!wanted(run)) continue;
      add(problems, {title, tone, {labels.full(run)}, sentence_of(what(run)), run.hint}, tone == Tone::warning);
    }
  };
  const auto with = [](Outcome outcome) { return [outcome](const Run& run) { return run.outcome == outcome; }; };
  collect(with(Outcome::failed), "wrong result", Tone::bad, wrong_result);
  collect(with(Outcome::error), "error", Tone::bad, [](const Run& run) { return run.reason; });
  collect(with(Outcome::unreliable), "unreliable", Tone::warning, distrust);
  collect(not_converged, "not converged", Tone::warning, looseness);
  if (problems.empty()) return std::nullopt;
  return section_of("Problems", problems);
}

std::optional<Section> unmeasured_section(const Session& session, const RunLabels& labels) {
  std::vector<Problem> groups;
  for (const auto& run : session.runs) {
    if (run.outcome != Outcome::unsupported && run.outcome != Outcome::skipped) continue;
    add(groups, {name_of(run.outcome), Tone::quiet, {labels.full(run)}, sentence_of(run.reason), run.hint}, false);
  }
  if (groups.empty()) return std::nullopt;
  return section_of("Not measured", groups);
}

}  // namespace warpmark::report
