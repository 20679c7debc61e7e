#include "collectives/net/clock.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/json.h"

namespace warpmark::collectives::net {
namespace {

using Message =
    std::array<char, sizeof(std::int64_t)>;  // the answer's time; both ends of a session have one byte order

}  // namespace

std::optional<ClockOffset> estimate_offset(std::span<const ClockExchange> exchanges) {
  const ClockExchange* best = nullptr;
  for (const auto& one : exchanges) {
    const std::int64_t round_trip = one.received_ns - one.sent_ns;
    if (round_trip < 0) continue;  // the clock was set back meanwhile
    if (best == nullptr || round_trip < best->received_ns - best->sent_ns) best = &one;
  }
  if (best == nullptr) return std::nullopt;
  const std::int64_t half = (best->received_ns - best->sent_ns + 1) / 2;
  return ClockOffset{best->answered_ns - (best->sent_ns + half), half, best->sent_ns + half};
}

ClockOffset offset_at(const ClockOffset& before, const std::optional<ClockOffset>& after, std::int64_t at_ns) {
  if (!after || after->at_ns <= before.at_ns) return before;
  const double share = static_cast<double>(at_ns - before.at_ns) / static_cast<double>(after->at_ns - before.at_ns);
  const double change = share * static_cast<double>(after->offset_ns - before.offset_ns);
  return {before.offset_ns + static_cast<std::int64_t>(change), std::max(before.uncertainty_ns, after->uncertainty_ns),
          at_ns};
}

Result<std::vector<ClockExchange>> exchange_clocks(const ClientOptions& options, int count,
                                                   std::int64_t (*clock_ns)()) {
  WM_ASSIGN(auto opened, open_connection(options, Json{{"kind", "clock"}}));
  WM_TRY(opened.socket.send_at_once());
  std::vector<ClockExchange> exchanges;
  Message message{};
  for (int i = 0; i < count; ++i) {
    ClockExchange one;
    one.sent_ns = clock_ns();
    WM_TRY(opened.socket.send_all(message));
    WM_TRY(opened.socket.receive_all(message));
    one.received_ns = clock_ns();
    std::memcpy(&one.answered_ns, message.data(), message.size());
    exchanges.push_back(one);
  }
  opened.socket.end_sending();
  return exchanges;
}

Status answer_clock(Socket& socket, std::int64_t (*clock_ns)()) {
  WM_TRY(socket.send_line(Json{{"ok", true}}));
  WM_TRY(socket.send_at_once());
  Message message{};
  while (true) {
    WM_ASSIGN(const auto first, socket.receive_some(message));
    if (first == 0) return {};
    WM_TRY(socket.receive_all(std::span(message).subspan(first)));
    const std::int64_t now = clock_ns();
    std::memcpy(message.data(), &now, sizeof now);
    WM_TRY(socket.send_all(message));
  }
}

}  // namespace warpmark::collectives::net
