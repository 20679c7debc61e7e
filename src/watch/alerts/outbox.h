// Messages that are on their way, one queue for each sink: in order, tried again after a failure ever more slowly, and
// never given up. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "watch/alerts/alert.h"

namespace warpmark::watch {

/// Messages that wait for one sink, at most: some weeks of a sink that is gone. The oldest go first then.
inline constexpr std::size_t kMostWaiting = 1000;
inline constexpr double kFirstRetry_s = 1;
inline constexpr double kLongestRetry_s = 300;

class Outbox {
 public:
  struct Queue {
    std::deque<Message> messages;
    std::int64_t attempts = 0;  ///< of the first one, that failed
    double next_s = 0;          ///< watch time before which it is not tried
    std::int64_t dropped = 0;   ///< since the start
    bool sending = false;
  };

  /// False if the oldest message of the sink had to go for it.
  bool add(Message message);
  /// The message to send now; nullptr if there is none, it is not time yet, or one is being sent.
  [[nodiscard]] const Message* due(const std::string& sink, double watch_s) const;
  void sending(const std::string& sink) { queues_[sink].sending = true; }
  void delivered(const std::string& sink);
  /// Tried again after 1 s, 2 s, 4 s, ... 5 min, but not before the sink says so.
  void failed(const std::string& sink, double watch_s, double retry_after_s);
  [[nodiscard]] bool waits(const std::string& sink, const Labels& group) const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::optional<double> next_s() const;

  [[nodiscard]] std::map<std::string, Queue>& queues() { return queues_; }
  [[nodiscard]] const std::map<std::string, Queue>& queues() const { return queues_; }

 private:
  std::map<std::string, Queue> queues_;
};

}  // namespace warpmark::watch
