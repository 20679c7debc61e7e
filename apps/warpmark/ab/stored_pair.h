// What is known of two stored results beyond their values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/comparison.h"
#include "model/run.h"
#include "store/store.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// The comparison that measured `a` as A and `b` as B and is stored with them: it knows the rounds, which pair the
/// runs.
[[nodiscard]] Result<std::optional<Comparison>> measured_together(store::Store& store, const Session& a,
                                                                  const Session& b);
/// Names on stderr the command that shows the comparison that measured them as B and A, where there is one.
[[nodiscard]] Status warn_of_other_order(const Context& context, store::Store& store, const Session& a,
                                         const Session& b);

/// Says on stderr what files of results leave open, and how the tool that wrote them measures more. `words` are the
/// files, or the one that holds both.
void warn_of_files(const Context& context, const Session& a, const Session& b, const Comparison& comparison,
                   const std::vector<std::string>& words);

}  // namespace warpmark::apps
