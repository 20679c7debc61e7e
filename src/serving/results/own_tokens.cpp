#include "serving/results/own_tokens.h"

#include <fmt/format.h>

#include <cmath>

#include "serving/client/load_clock.h"
#include "serving/records/record_spool.h"

namespace warpmark::serving {
namespace {

constexpr double kMostOwnShare = 0.02;
/// The mark of an answer's end is a token that has no words.
constexpr double kEndMark = 1;

/// Of the same requests.
struct TwoCounts {
  double requests = 0, own = 0, reported = 0;
  void add(std::int64_t ours, std::int64_t theirs) {
    requests += 1;
    own += static_cast<double>(ours);
    reported += static_cast<double>(theirs);
  }
};

void disagree(const char* what, const TwoCounts& counts, double most_apart, TokenCheck& check) {
  const double own = counts.own / counts.requests, reported = counts.reported / counts.requests,
               apart = std::abs(reported - own);
  if (!(apart > most_apart) || !(apart > kMostOwnShare * own)) return;
  check.disagreements.push_back(fmt::format("{} tokens: {:.4g} by {}, {:.4g} reported by the server ({:+.1f} %)", what,
                                            own, check.own->tokenizer, reported, 100 * (reported - own) / own));
}

}  // namespace

Status count_answers(const Tokenizer& tokenizer, const LoadPlan& plan, LoadOutcome& outcome) {
  const std::int64_t began_ns = load_now_ns();
  WM_ASSIGN(const auto spool, RecordSpool::open({}));
  RecordWriter counted(*spool);
  for (const auto& record : outcome.records) {
    RequestRecord with_count = record;
    const std::int64_t asked = plan.requests[record.prepared].own_tokens;
    if (record.prompt_tokens < 0 && asked >= 0 && record.fault == Fault::none) {
      with_count.prompt_tokens = asked + std::llround(plan.template_tokens);
      with_count.prompt_counted_here = true;
    }
    if (record.said == nullptr || record.said->tool_calls) {
      counted.add(with_count);
      continue;
    }
    WM_ASSIGN(const auto visible, tokenizer.encode(record.said->visible));
    WM_ASSIGN(const auto reasoning, tokenizer.encode(record.said->reasoning));
    with_count.own_tokens = static_cast<std::int64_t>(visible.size() + reasoning.size());
    outcome.tokenizing.tokens += with_count.own_tokens;
    if (record.output_tokens < 0 && record.fault == Fault::none) {
      with_count.output_tokens = with_count.own_tokens;
      with_count.counted_here = true;
    }
    counted.add(with_count);
  }
  WM_TRY(outcome.records.status());
  counted.flush();
  WM_ASSIGN(auto with_counts, spool->finish(outcome.gaps_of_one_in));
  outcome.records.remove_name();  // they are in another file now
  outcome.records = std::move(with_counts);
  outcome.tokenizing.seconds += static_cast<double>(load_now_ns() - began_ns) * 1e-9;
  return {};
}

void compare_own_tokens(const RequestRecords& records, const CountedRequest& counted, const LoadPlan& plan,
                        TokenCheck& check) {
  if (plan.tokenizer.empty()) return;
  TwoCounts input, output;
  for (const auto& record : records) {
    if (!counted(record)) continue;
    const PreparedRequest& request = plan.requests[record.prepared];
    if (request.own_tokens >= 0 && record.turn == 0 && record.prompt_tokens >= 0 && !record.prompt_counted_here) {
      input.add(request.own_tokens, record.prompt_tokens);
    }
    if (record.own_tokens >= 0 && record.output_tokens >= 0 && !record.counted_here) {
      output.add(record.own_tokens, record.output_tokens);
    }
  }
  check.own = OwnTokens{.tokenizer = plan.tokenizer, .template_tokens = plan.template_tokens};
  input.own += plan.template_tokens * input.requests;
  if (input.requests > 0) check.own->input = input.own / input.requests;
  if (output.requests > 0) check.own->output = output.own / output.requests;
  if (input.own > 0) disagree("input", input, kEndMark, check);
  if (output.own > 0) disagree("output", output, kEndMark, check);
}

}  // namespace warpmark::serving
