// Command lines of genai-bench (`genai-bench benchmark`) and vLLM (`vllm bench serve`) as `warpmark load run` takes
// them: what their options are called here, which go into the request, and which have nothing to do. Pure but for
// asking whether a tokenizer is a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::apps {

struct PeerOption {
  enum class Takes { flag, value, values };
  enum class Fate { taken, passed_over, refused };
  const char* tool;  ///< "genai-bench", "vLLM"
  const char* name;
  Takes takes;
  const char* own;        ///< our option for it; empty where it has none, or is put together with others
  const char* parameter;  ///< key of the request body that it sets; empty for none
  const char* use;        ///< for people: what becomes of it; of what is not taken, why, or empty
  Fate fate = Fate::taken;
};

[[nodiscard]] std::span<const PeerOption> peer_options();
/// "refused: one model at a time".
[[nodiscard]] std::string peer_option_text(const PeerOption& option);

struct OwnWords {
  std::vector<std::string> words;
  std::vector<std::string> notes;  ///< about options that are passed over
};

/// The words behind the verb. Those that begin with "run" are translated, others are given back as they are. Usage
/// error for what cannot be done here, and for secrets.
[[nodiscard]] Result<OwnWords> own_words(std::span<const std::string> words);

/// The table for people, in markdown.
[[nodiscard]] std::string peer_options_table();

}  // namespace warpmark::apps
