// `warpmark compare RUN RUN`: two stored sessions or result files of one machine, case by case.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "model/comparison.h"
#include "model/run.h"
#include "warpmark/command.h"

namespace warpmark::apps {

struct StoredOptions {
  double effect = 0.01;
  double alpha = 0.05;
  bool across_machines = false;  ///< the machine is what differs, and is named
};

/// "NVIDIA H200 x8 (node7)", "Xeon 6430 (box)": what a machine is called where two are compared.
[[nodiscard]] std::string machine_name(const Machine& machine);

/// The primary metric of every case that both have, unpaired, by the medians of rounds. Environment error where they
/// come from different machines; usage error where they have no case that can be compared.
[[nodiscard]] Result<Comparison> compare_stored(const Context& context, const ParsedOptions& options,
                                                const StoredOptions& stored);

/// The same of two sessions that are at hand; `not_compared` is told which cases only one of them has.
[[nodiscard]] Result<Comparison> compare_sessions(const Session& a, const Session& b, const StoredOptions& stored,
                                                  std::vector<std::string>& not_compared);

}  // namespace warpmark::apps
