// A Check as JUnit XML, which GitLab, Jenkins and others show as tests: a test case a metric. Worse is a failure,
// unreliable an error, inconclusive is skipped with the reason.
// https://github.com/testmoapp/junitxml describes the format as tools read it.
#pragma once

#include <string>

#include "model/check.h"

namespace warpmark::report {

[[nodiscard]] std::string render_junit(const Check& check);

}  // namespace warpmark::report
