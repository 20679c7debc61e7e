#include "serving/results/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "serving/results/evaluate_load.h"
#include "serving/results/request_values.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kMostTurnsShown = 16;

double turn_seconds(std::int64_t from_ns, std::int64_t to_ns) { return static_cast<double>(to_ns - from_ns) * 1e-9; }

/// What is asked of the records of conversations.
struct Turn {
  std::uint32_t prepared = 0;
  std::int32_t number = 0;
  std::int64_t intended_ns = 0, sent_ns = 0, said_ns = 0, ended_ns = 0;
  std::optional<double> ttft_s, tpot_s;
};

/// Of one step of the sessions.
struct StepValues {
  std::vector<double> e2e, ttft, tpot;
};

/// The answered turns of each conversation, by its first prepared request, in the order in which they were due.
std::map<std::uint32_t, std::vector<Turn>> answered_turns(const RequestRecords& records) {
  std::map<std::uint32_t, std::vector<Turn>> by_conversation;
  for (const auto& record : records) {
    if (record.fault != Fault::none) continue;
    by_conversation[record.prepared - static_cast<std::uint32_t>(record.turn)].push_back(
        {record.prepared, record.turn, record.intended_ns, record.sent_ns, answer_end_ns(record), record.ended_ns,
         ttft_of(record), tpot_of(record)});
  }
  return by_conversation;
}

}  // namespace

void add_sessions(const RequestRecords& records, const LoadPlan& plan, std::int64_t turns, double confidence,
                  ScenarioResult& result) {
  if (turns < 2) return;
  std::vector<double> whole, server, external, tool, transfer;
  std::vector<StepValues> by_turn(static_cast<std::size_t>(std::min(turns, kMostTurnsShown)));
  // The turns of a conversation are prepared requests that follow one another: its first is `prepared - turn`. The same
  // prepared conversation may be held several times, by several users: the next turn is the earliest after the last.
  for (const auto& [head, said] : answered_turns(records)) {
    std::vector<std::vector<const Turn*>> open;
    for (const Turn& turn : said) {
      if (turn.number == 0) {
        open.push_back({&turn});
        continue;
      }
      const auto found = std::find_if(open.begin(), open.end(), [&](const auto& session) {
        return session.back()->number + 1 == turn.number && session.back()->ended_ns <= turn.intended_ns;
      });
      if (found != open.end()) found->push_back(&turn);
    }
    for (const auto& session : open) {
      if (static_cast<std::int64_t>(session.size()) != turns) continue;
      double generating = 0, tools = 0, between = 0;
      for (std::size_t i = 0; i < session.size(); ++i) {
        const Turn& turn = *session[i];
        if (i > 0) {
          const PreparedRequest& request = plan.requests[turn.prepared];
          tools += turn_seconds(0, request.tool_ns);
          between += turn_seconds(session[i - 1]->said_ns + request.pause_ns, turn.sent_ns);
        }
        const double took = turn_seconds(turn.sent_ns, turn.said_ns);
        generating += took;
        if (turn.number >= kMostTurnsShown) continue;
        StepValues& step = by_turn[static_cast<std::size_t>(turn.number)];
        step.e2e.push_back(took);
        if (turn.ttft_s) step.ttft.push_back(*turn.ttft_s);
        if (turn.tpot_s) step.tpot.push_back(*turn.tpot_s);
      }
      whole.push_back(turn_seconds(session.front()->intended_ns, session.back()->said_ns));
      server.push_back(generating);
      external.push_back(std::clamp(1 - generating / whole.back(), 0.0, 1.0));
      tool.push_back(tools / whole.back());
      transfer.push_back(std::clamp(between / whole.back(), 0.0, 1.0));
    }
  }
  if (whole.empty()) return;
  result.metrics.push_back(request_metric("session", "s", Better::lower, std::move(whole), confidence));
  result.metrics.push_back(request_metric("session_server", "s", Better::lower, std::move(server), confidence));
  result.metrics.push_back(
      request_metric("session_external_share", "1", Better::neither, std::move(external), confidence));
  const bool with_tools = std::any_of(tool.begin(), tool.end(), [](double share) { return share > 0; });
  if (with_tools) {
    result.metrics.push_back(request_metric("session_tool_share", "1", Better::neither, std::move(tool), confidence));
  }
  result.metrics.push_back(
      request_metric("session_transfer_share", "1", Better::lower, std::move(transfer), confidence));
  for (std::size_t i = 0; i < by_turn.size(); ++i) {
    const auto add = [&](const char* id, std::vector<double>& values) {
      if (values.empty()) return;
      result.metrics.push_back(
          request_metric(fmt::format("{}_turn_{}", id, i + 1), "s", Better::lower, std::move(values), confidence));
    };
    add("ttft", by_turn[i].ttft);
    add("tpot", by_turn[i].tpot);
    add("e2e", by_turn[i].e2e);
  }
}

}  // namespace warpmark::serving
