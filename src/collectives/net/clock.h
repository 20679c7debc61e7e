// Clocks of two machines compared by exchanged messages: of many round trips the shortest tells best (Cristian,
// "Probabilistic clock synchronization", Distributed Computing 3, 1989; the filter of NTP, RFC 5905, section 10).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/net/session.h"

namespace warpmark::collectives::net {

/// One message and its answer. Times by each side's own clock, ns.
struct ClockExchange {
  std::int64_t sent_ns = 0;
  std::int64_t answered_ns = 0;  ///< by the server's clock
  std::int64_t received_ns = 0;
};

struct ClockOffset {
  std::int64_t offset_ns = 0;       ///< add it to this clock to get the server's
  std::int64_t uncertainty_ns = 0;  ///< half of the shortest round trip: the offset cannot be off by more
  std::int64_t at_ns = 0;           ///< when it was so, by this clock
};

/// Nothing for no exchange. Pure.
[[nodiscard]] std::optional<ClockOffset> estimate_offset(std::span<const ClockExchange> exchanges);

/// The offset at `at_ns`, on the line through two estimates (clocks drift by up to 100 us a second), or the one there
/// is. Its uncertainty is the larger of the two. Pure.
[[nodiscard]] ClockOffset offset_at(const ClockOffset& before, const std::optional<ClockOffset>& after,
                                    std::int64_t at_ns);

/// `count` round trips with a server, by this clock.
[[nodiscard]] Result<std::vector<ClockExchange>> exchange_clocks(const ClientOptions& options, int count,
                                                                 std::int64_t (*clock_ns)());

/// The other side, on a connection of that kind: until the client ends it.
[[nodiscard]] Status answer_clock(Socket& socket, std::int64_t (*clock_ns)());

}  // namespace warpmark::collectives::net
