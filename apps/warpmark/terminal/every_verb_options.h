// Options that every verb takes and that mean the same in all of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

struct CommonOptions {
  bool quiet = false;
  bool verbose = false;
  bool version = false;
  std::string color;  ///< auto, always, never; empty: not given
};

/// Takes them out of the words before "--". Usage error for a --color that is none of its words.
[[nodiscard]] Result<CommonOptions> take_every_verb_options(std::vector<std::string>& words);

/// As rows of a help: "-q, --quiet".
[[nodiscard]] std::span<const OptionSpec> every_verb_options();
/// "--quiet" of that.
[[nodiscard]] const char* long_name(const OptionSpec& option);

/// Words that people try, of other tools and of documents, with the option or the sentence that is meant.
/// Last, the verbs that have an option which this one lacks.
[[nodiscard]] std::vector<Synonym> option_synonyms(const Command& command);
/// "run, compare and 12 more"; empty if no verb has it.
[[nodiscard]] std::string verbs_with(std::string_view option);

}  // namespace warpmark::apps
