// The bytes of the reference server's answers, in the forms of the APIs it speaks. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serving/reference/scripted_answers.h"

namespace warpmark::serving {

enum class AnswerKind { chat, completions, messages, responses, embeddings, rerank, models };

struct Asked {
  AnswerKind kind = AnswerKind::chat;
  std::string model = "reference";
  bool stream = false;
  bool usage_in_stream = false;    ///< stream_options.include_usage
  std::int64_t prompt_tokens = 0;  ///< words of all texts, and 7 for a template
  std::int64_t output_tokens = 0;
  std::int64_t documents = 1;
  std::vector<std::string> words;  ///< of a scripted stream, as JSON writes them; empty: " word" again and again
  std::string finish_reason = "length";
};

/// Data error for what is no request of these APIs, with what a server would answer.
[[nodiscard]] Result<Asked> parse_asked(std::string_view method, std::string_view target, std::string_view body,
                                        const ReferenceScript& script);

/// A chunk of a stream's body with a place for the time at which it is sent.
struct EventBytes {
  std::string bytes;
  std::size_t time_at = 0;  ///< twenty places; 0: none
  void stamp(std::int64_t now_ns);
};

[[nodiscard]] std::string stream_head();
/// Before the first token; empty if there is nothing.
[[nodiscard]] std::string opening_events(const Asked& asked, const ReferenceScript& script);
/// `tokens_so_far` with this event; of usage in every event.
[[nodiscard]] EventBytes token_event(const Asked& asked, const ReferenceScript& script, bool reasoning,
                                     std::int64_t tokens, std::int64_t tokens_so_far);
/// Reason, usage, end mark and the last chunk.
[[nodiscard]] std::string closing_events(const Asked& asked, const ReferenceScript& script);
[[nodiscard]] std::string error_event(const ReferenceScript& script);
/// A whole answer that is no stream.
[[nodiscard]] std::string whole_answer(const Asked& asked);
[[nodiscard]] std::string error_answer(int status, std::string_view message);

}  // namespace warpmark::serving
