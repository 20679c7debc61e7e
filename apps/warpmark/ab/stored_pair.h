// What is known of two stored results beyond their values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "model/comparison.h"
#include "model/run.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// The comparison that measured both sessions and is kept with them: it knows the rounds, which pair the runs. None
/// where none did; where the order is the other one, says so on stderr.
[[nodiscard]] Result<std::optional<Comparison>> measured_together(const Context& context, const ParsedOptions& options,
                                                                  const Session& a, const Session& b);

/// Says on stderr what files of results leave open, and how the tool that wrote them measures more. `words` are the
/// files, or the one that holds both.
void tell_of_files(const Context& context, const Session& a, const Session& b, const Comparison& comparison,
                   const std::vector<std::string>& words);

}  // namespace warpmark::apps
