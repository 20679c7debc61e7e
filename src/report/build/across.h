// What a person reads of many nodes set against each other: who is slow, by how much, in what, and what differs.
#pragma once

#include <string>

#include "model/across.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Across& across);

}  // namespace warpmark::report
