// `warpmark compare RUN RUN`: two stored sessions or result files of one machine, case by case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "model/comparison.h"
#include "model/run.h"
#include "store/store.h"
#include "warpmark/command.h"

namespace warpmark::apps {

struct StoredOptions {
  std::optional<double> effect, alpha;  ///< default: of the comparison that measured both, else 1 % and 0.05
  bool across_machines = false;         ///< the machine is what differs, and is named
};

/// "NVIDIA H200 x8 (node7)", "Xeon 6430 (box)": what a machine is called where two are compared.
[[nodiscard]] std::string machine_name(const Machine& machine);

/// The results that the words of the command line name; see compare_sessions().
[[nodiscard]] Result<Comparison> compare_stored(const Context& context, const ParsedOptions& options,
                                                const StoredOptions& stored);

/// Two stored sessions: the comparison that measured both in pairs, judged again; without one the primary metric of
/// every case that both have, unpaired, by the medians of rounds. `not_compared` receives the cases that only one of
/// them has. Environment error where they come from different machines; usage error where they have no case that can
/// be compared.
[[nodiscard]] Result<Comparison> compare_sessions(store::Store& store, const Session& a, const Session& b,
                                                  const StoredOptions& stored, std::vector<std::string>& not_compared);

}  // namespace warpmark::apps
