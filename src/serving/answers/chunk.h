// What one piece of an answer says: a chunk of a stream or a whole body of OpenAI's chat, completions, responses and
// embeddings, Anthropic's messages, and rerankers. One pass over the text with no document and no allocation, as a load
// client reads a hundred thousand of them a second. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warpmark::serving {

/// Counts of tokens are -1 where not told.
struct ChunkFacts {
  bool content = false;            ///< text that a user sees, not empty
  bool reasoning = false;          ///< text of the model's thinking, not empty
  bool tool_call = false;          ///< a part of a call of a tool
  bool finished = false;           ///< a finish or stop reason, or an event that says so
  std::string_view finish_reason;  ///< as the server names it, escapes left as they are; empty where it says none
  bool cut_off = false;            ///< the reason is the limit of tokens
  bool answers = false;            ///< embeddings or a ranking
  std::int64_t prompt_tokens = -1;
  std::int64_t output_tokens = -1;  ///< all of them, reasoning included
  std::int64_t reasoning_tokens = -1;
  std::int64_t cached_tokens = -1;
  std::int64_t sent_ns = -1;  ///< when the reference server sent it: CLOCK_MONOTONIC
  bool error = false;
  std::int64_t error_code = 0;
  std::string_view error_message;  ///< of the JSON text, escapes left as they are

  [[nodiscard]] bool has_token() const { return content || reasoning || tool_call; }
};

/// The words themselves, as the JSON text has them, with its escapes: what is cut between two pieces may be half a
/// character.
struct ChunkTexts {
  std::string visible, reasoning;
};

/// False if it is no JSON object. Adds to `texts`, if they are wanted.
[[nodiscard]] bool scan_chunk(std::string_view json, ChunkFacts& facts, ChunkTexts* texts = nullptr);

}  // namespace warpmark::serving
