// Walking over all answers of all systems, in the order of the rows.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/scoring/examples.h"
#include "accuracy/scoring/metric.h"

namespace warpmark::accuracy {

/// Fewer rows than these for each thread are not worth one more.
inline constexpr std::size_t kRowsForAThread = 500;

/// Calls `work(first, last)` for consecutive pieces of 0 to `rows`, each on a thread of its own, as many as there are
/// processors for this process and at most 16; one on this thread where there are few rows. Returns when all are done;
/// an exception of one of them is thrown here then.
void share_rows(std::size_t rows, const std::function<void(std::size_t first, std::size_t last)>& work);

/// Calls `use(example, answer)`, which returns a Status; stops at the first error, which it names the example in.
template <typename Use>
[[nodiscard]] Status try_each_answer(const Examples& examples, Use use) {
  for (std::size_t s = 0; s < examples.systems.size(); ++s) {
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const Status done = use(examples.examples[i], examples.answer(s, i));
      if (done.ok()) continue;
      const auto& id = examples.examples[i].id;
      return Error{done.error().kind,
                   fmt::format("{}, example {}: {}", examples.systems[s], id.empty() ? std::to_string(i + 1) : id,
                               done.error().what),
                   done.error().hint};
    }
  }
  return {};
}

/// `width` numbers for each answer, row by row: what `count(example, answer, numbers)` writes into the span. Many
/// answers are shared among threads, each of which has a copy of `count`, with what that keeps.
template <typename Count>
[[nodiscard]] std::vector<double> numbers_of_answers(const Examples& examples, std::size_t width, const Count& count) {
  const std::size_t rows = examples.systems.size() * examples.size();
  std::vector<double> numbers(rows * width);
  share_rows(rows, [&](std::size_t first, std::size_t last) {
    Count own = count;
    for (std::size_t row = first; row < last; ++row) {
      const std::size_t system = row / examples.size(), i = row % examples.size();
      own(examples.examples[i], examples.answer(system, i), std::span(numbers).subspan(row * width, width));
    }
  });
  return numbers;
}

/// A value of these examples that is still to be set, with the settings that it depends on.
[[nodiscard]] inline Measured measured_of(const Examples& examples, std::string signature = {}) {
  return {.examples = examples.size(),
          .systems = examples.systems.size(),
          .value = {},
          .each = {},
          .signature = std::move(signature)};
}

/// The mean of `score(example, answer)`, a Result of a number, 0 where there is no answer. Stops as try_each_answer.
template <typename Score>
[[nodiscard]] Result<Measured> try_mean_of_answers(const Examples& examples, Score score) {
  std::vector<double> each;
  WM_TRY(try_each_answer(examples, [&](const Example& example, const Answer& answer) -> Status {
    each.push_back(0);
    if (!answer.problem.empty()) return {};
    WM_ASSIGN(each.back(), score(example, answer));
    return {};
  }));
  return mean_metric(examples.size(), examples.systems.size(), std::move(each));
}

/// The mean of `score(example, answer)`, 0 where there is no answer; each thread has a copy of `score`.
template <typename Score>
[[nodiscard]] Measured mean_of_answers(const Examples& examples, Score score) {
  auto each = numbers_of_answers(
      examples, 1, [score](const Example& example, const Answer& answer, std::span<double> number) mutable {
        number[0] = answer.problem.empty() ? static_cast<double>(score(example, answer)) : 0.0;
      });
  return mean_metric(examples.size(), examples.systems.size(), std::move(each));
}

/// The number of references that all examples have; 0 where it varies.
[[nodiscard]] inline std::size_t reference_count(const Examples& examples) {
  const std::size_t count = examples.examples.front().references.size();
  for (const auto& example : examples.examples) {
    if (example.references.size() != count) return 0;
  }
  return count;
}

}  // namespace warpmark::accuracy
