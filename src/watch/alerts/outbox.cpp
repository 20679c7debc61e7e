#include "watch/alerts/outbox.h"

#include <algorithm>
#include <cmath>

namespace warpmark::watch {

bool Outbox::add(Message message) {
  Queue& queue = queues_[message.sink];
  queue.messages.push_back(std::move(message));
  if (queue.messages.size() <= kMostWaiting) return true;
  // The one that is being sent stays, as its outcome is about it.
  queue.messages.erase(queue.messages.begin() + (queue.sending ? 1 : 0));
  ++queue.dropped;
  return false;
}

const Message* Outbox::due(const std::string& sink, double watch_s) const {
  const auto found = queues_.find(sink);
  if (found == queues_.end() || found->second.messages.empty() || found->second.sending) return nullptr;
  return found->second.next_s <= watch_s ? &found->second.messages.front() : nullptr;
}

void Outbox::delivered(const std::string& sink) {
  Queue& queue = queues_[sink];
  queue.sending = false;
  queue.attempts = 0;
  queue.next_s = 0;
  if (!queue.messages.empty()) queue.messages.pop_front();
}

void Outbox::failed(const std::string& sink, double watch_s, double retry_after_s) {
  Queue& queue = queues_[sink];
  queue.sending = false;
  const double wait_s = kFirstRetry_s * std::pow(2.0, static_cast<double>(std::min<std::int64_t>(queue.attempts, 20)));
  ++queue.attempts;
  queue.next_s = watch_s + std::max(std::min(wait_s, kLongestRetry_s), retry_after_s);
}

bool Outbox::waits(const std::string& sink, const Labels& group) const {
  const auto found = queues_.find(sink);
  if (found == queues_.end()) return false;
  const auto& waiting = found->second.messages;
  return std::any_of(waiting.begin(), waiting.end(), [&](const Message& message) { return message.group == group; });
}

std::size_t Outbox::size() const {
  std::size_t count = 0;
  for (const auto& [sink, queue] : queues_) count += queue.messages.size();
  return count;
}

std::optional<double> Outbox::next_s() const {
  std::optional<double> next;
  for (const auto& [sink, queue] : queues_) {
    if (queue.messages.empty() || queue.sending) continue;
    if (!next || queue.next_s < *next) next = queue.next_s;
  }
  return next;
}

}  // namespace warpmark::watch
