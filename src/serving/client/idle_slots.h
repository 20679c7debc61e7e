// The slots of an open loop that no request is on. Connections wait by endpoint, and the one that has waited longest is
// taken first: a server with a thread for each connection has a thread for that one. Indices only. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace warpmark::serving {

class IdleSlots {
 public:
  explicit IdleSlots(std::size_t endpoints = 0) : connected_(endpoints) {}

  void keep(std::uint32_t endpoint, std::uint32_t slot) {
    connected_[endpoint].push_back(slot);
    ++count_;
  }
  /// A slot without a connection.
  void free(std::uint32_t slot) { free_.push_back(slot); }

  /// The oldest connection to the endpoint.
  [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t endpoint) {
    auto& waiting = connected_[endpoint];
    if (waiting.empty()) return std::nullopt;
    const std::uint32_t slot = waiting.front();
    waiting.pop_front();
    --count_;
    return slot;
  }
  [[nodiscard]] std::optional<std::uint32_t> take_free() {
    if (free_.empty()) return std::nullopt;
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  [[nodiscard]] std::size_t connected() const { return count_; }

 private:
  std::vector<std::deque<std::uint32_t>> connected_;
  std::vector<std::uint32_t> free_;
  std::size_t count_ = 0;
};

}  // namespace warpmark::serving
