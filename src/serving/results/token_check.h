// Whose token counts the numbers of a load rest on, and who disagrees. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warpmark::serving {

/// Counted by a tokenizer of our own: means of a request, of those that the server has counted too.
struct OwnTokens {
  std::string tokenizer;
  double template_tokens = 0;  ///< in `input`: what the server adds to the words of a prompt
  std::optional<double> input, output;
  std::int64_t tokens = 0;  ///< counted in all, before and after the load
  double seconds = 0;       ///< that took; in no latency
};

struct TokenCheck {
  std::string source;                                   ///< "usage", "events", "tokenizer", "mixed", "none"
  std::optional<double> input_asked, input_reported;    ///< mean per request
  std::optional<double> output_asked, output_reported;  ///< mean per request
  std::optional<double> tokens_per_event;
  std::vector<std::string> disagreements;  ///< beyond 2 %
  std::optional<OwnTokens> own;
};

/// Whether prompts can have been in the server's prefix cache.
struct PromptCheck {
  std::string kind;  ///< "unique", "shared prefix", "conversation", "data set", "trace"
  std::uint64_t seed = 0;
  bool repeats = false;          ///< --seed was given: another run of it sends the same prompts
  std::optional<double> cached;  ///< share of the prompts' tokens that the server says it had cached
  std::string warning;           ///< what contradicts the kind; empty if nothing does
};

}  // namespace warpmark::serving
