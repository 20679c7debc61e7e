#include "serving/results/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "serving/results/evaluate_load.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kMostTurnsShown = 16;

double turn_seconds(std::int64_t from_ns, std::int64_t to_ns) { return static_cast<double>(to_ns - from_ns) * 1e-9; }
std::int64_t turn_end(const RequestRecord& record) {
  return record.last_token_ns > 0 ? record.last_token_ns : record.ended_ns;
}

}  // namespace

void add_sessions(const std::vector<RequestRecord>& records, const LoadPlan& plan, std::int64_t turns,
                  double confidence, ScenarioResult& result) {
  if (turns < 2) return;
  // The turns of a conversation are prepared requests that follow one another: its first is `prepared - turn`. The same
  // prepared conversation may be held several times, by several users: the next turn is the earliest after the last.
  std::map<std::uint32_t, std::vector<const RequestRecord*>> by_conversation;
  for (const auto& record : records) {
    by_conversation[record.prepared - static_cast<std::uint32_t>(record.turn)].push_back(&record);
  }
  std::vector<double> whole, server, external, tool, transfer;
  std::vector<std::vector<double>> by_turn(static_cast<std::size_t>(std::min(turns, kMostTurnsShown)));
  for (auto& [head, said] : by_conversation) {
    std::stable_sort(said.begin(), said.end(),
                     [](const auto* a, const auto* b) { return a->intended_ns < b->intended_ns; });
    std::vector<std::vector<const RequestRecord*>> open;
    for (const auto* record : said) {
      if (record->fault != Fault::none) continue;
      if (record->turn == 0) {
        open.push_back({record});
        continue;
      }
      const auto found = std::find_if(open.begin(), open.end(), [&](const auto& session) {
        return session.back()->turn + 1 == record->turn && session.back()->ended_ns <= record->intended_ns;
      });
      if (found != open.end()) found->push_back(record);
    }
    for (const auto& session : open) {
      if (static_cast<std::int64_t>(session.size()) != turns) continue;
      double generating = 0, tools = 0, between = 0;
      for (std::size_t i = 0; i < session.size(); ++i) {
        const auto* record = session[i];
        if (i > 0) {
          const PreparedRequest& request = plan.requests[record->prepared];
          tools += turn_seconds(0, request.tool_ns);
          between += turn_seconds(turn_end(*session[i - 1]) + request.pause_ns, record->sent_ns);
        }
        const double took = turn_seconds(record->sent_ns, turn_end(*record));
        generating += took;
        if (record->turn < kMostTurnsShown) by_turn[static_cast<std::size_t>(record->turn)].push_back(took);
      }
      whole.push_back(turn_seconds(session.front()->intended_ns, turn_end(*session.back())));
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
    result.metrics.push_back(
        request_metric(fmt::format("e2e_turn_{}", i + 1), "s", Better::lower, std::move(by_turn[i]), confidence));
  }
}

}  // namespace warpmark::serving
