#include "serving/results/request_values.h"

namespace warpmark::serving {
namespace {

/// No model makes a token in so little time, and one read of a socket takes less.
constexpr std::int64_t kLeastTokenTime_ns = 20'000;

std::optional<double> span_of(std::int64_t from_ns, std::int64_t to_ns) {
  if (from_ns == 0 || to_ns == 0) return std::nullopt;
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

}  // namespace

std::int64_t answer_end_ns(const RequestRecord& record) {
  return record.last_token_ns > 0 ? record.last_token_ns : record.ended_ns;
}

double output_tokens_of(const RequestRecord& record) {
  return static_cast<double>(record.output_tokens >= 0 ? record.output_tokens : record.events);
}

bool is_buffered(const RequestRecord& record) {
  if (record.first_token_ns == 0 || record.events < 2) return false;
  return record.last_token_ns - record.first_token_ns < kLeastTokenTime_ns * (record.events - 1);
}

std::optional<double> ttft_of(const RequestRecord& record) { return span_of(record.sent_ns, record.first_visible_ns); }

std::optional<double> tpot_of(const RequestRecord& record) {
  const double tokens = output_tokens_of(record);
  if (record.first_token_ns == 0 || tokens < 2 || record.events < 2 || is_buffered(record)) return std::nullopt;
  return *span_of(record.first_token_ns, record.last_token_ns) / (tokens - 1);
}

std::optional<double> e2e_of(const RequestRecord& record) { return span_of(record.sent_ns, answer_end_ns(record)); }

std::optional<double> value_of_request(const RequestRecord& record, std::string_view metric) {
  if (metric == "ttft") return ttft_of(record);
  if (metric == "tpot") return tpot_of(record);
  if (metric == "e2e") return e2e_of(record);
  if (metric == "ttfb") return span_of(record.sent_ns, record.first_byte_ns);
  if (metric == "queue_delay") return span_of(record.intended_ns, record.sent_ns);
  if (metric == "itl" && record.events > 1 && !is_buffered(record)) return span_of(1, record.longest_gap_ns + 1);
  return std::nullopt;
}

}  // namespace warpmark::serving
