// Walking over all answers of all systems, in the order of the rows.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "accuracy/scoring/examples.h"
#include "accuracy/scoring/measured.h"

namespace warpmark::accuracy {

/// Calls `use(example, answer)`.
template <typename Use>
void each_answer(const Examples& examples, Use use) {
  for (std::size_t s = 0; s < examples.systems.size(); ++s) {
    for (std::size_t i = 0; i < examples.size(); ++i) use(examples.examples[i], examples.answer(s, i));
  }
}

/// The same for a `use` that returns a Status; stops at the first error, which it names the example in.
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

/// The mean of `score(example, answer)`; 0 where there is no answer.
template <typename Score>
[[nodiscard]] Measured mean_of_answers(const Examples& examples, Score score) {
  std::vector<double> each;
  each_answer(examples, [&](const Example& example, const Answer& answer) {
    each.push_back(answer.problem.empty() ? static_cast<double>(score(example, answer)) : 0.0);
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
