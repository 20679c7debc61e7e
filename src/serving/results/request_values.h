// What is said of one request: its latencies and token counts, in one place for statistics, objectives and files. What
// a request does not show has no value, and is not 0. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "serving/answers/record.h"

namespace warpmark::serving {

/// Of the last token, else of the answer.
[[nodiscard]] std::int64_t answer_end_ns(const RequestRecord& record);

/// Tokens of the answer: as the server counts them, else the events that arrived.
[[nodiscard]] double output_tokens_of(const RequestRecord& record);

/// A stream whose events arrived all at once: the server, or a proxy before it, had kept them. It shows when the answer
/// was there, and nothing of the time between its tokens.
[[nodiscard]] bool is_buffered(const RequestRecord& record);

/// Seconds from sending to the first token that a user sees; of a stream.
[[nodiscard]] std::optional<double> ttft_of(const RequestRecord& record);
/// Seconds a token after the first; undefined for one token, and where the answer was buffered.
[[nodiscard]] std::optional<double> tpot_of(const RequestRecord& record);
/// Seconds from sending to the last token.
[[nodiscard]] std::optional<double> e2e_of(const RequestRecord& record);

/// By an objective's metric: "ttft", "tpot", "itl" (the longest gap), "e2e", "ttfb", "queue_delay".
[[nodiscard]] std::optional<double> value_of_request(const RequestRecord& record, std::string_view metric);

}  // namespace warpmark::serving
