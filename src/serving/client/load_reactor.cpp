#include "serving/client/load_reactor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace warpmark::serving {
namespace {

constexpr std::size_t kEventsAtOnce = 512;
constexpr std::int64_t kCheckEvery_ns = 20'000'000;
constexpr std::int64_t kSpin_ns = 60'000;  ///< as late as a sleep may end: the last part of a wait is spent looking
constexpr std::int64_t kNever = INT64_MAX;
constexpr std::int64_t kAfterDone_ns = 1'000'000'000;
constexpr int kStartAtOnce = 64;  ///< then answers are read: a schedule that cannot be kept must not stop the reading

std::int64_t ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

Status LoadReactor::open() {
  epoll_ = http::Socket(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.open()) return environment_error("epoll cannot be used: " + http::errno_text(errno));
  buffer_.resize(256 << 10);
  events_.resize(kEventsAtOnce);
  next_head_.assign(plan_.endpoints.size(), 0);
  heads_.resize(plan_.endpoints.size());
  for (const std::uint32_t head : plan_.heads) heads_[plan_.requests[head].endpoint].push_back(head);
  idle_ = IdleSlots(plan_.endpoints.size());
  serial_ = plan_.first_serial;
  outcome_.kernel_times = plan_.kernel_times;
  return {};
}

Status LoadReactor::connect_ahead() {
  const auto deadline = load_now_ns() + ns(plan_.connect_timeout_s);
  const auto wanted = static_cast<std::size_t>(plan_.connect_ahead);
  std::size_t asked = 0;
  // Some at a time: a burst of thousands overflows a server's queue, and the kernel then waits a second to try again.
  constexpr std::size_t kAtOnce = 64;
  for (;;) {
    std::size_t under_way = 0;
    for (const Slot& slot : slots_) under_way += slot.state == Slot::State::connecting ? 1U : 0U;
    for (; asked < wanted && under_way < kAtOnce; ++asked, ++under_way) {
      Slot& slot = slots_.emplace_back(plan_.format, static_cast<std::uint32_t>(slots_.size()));
      slot.endpoint = static_cast<std::uint32_t>(asked % plan_.endpoints.size());
      connect(slot, load_now_ns());
      if (slot.state == Slot::State::closed) return environment_error(slot.record.message);
    }
    if (under_way == 0) break;
    const std::int64_t now_ns = load_now_ns();
    const bool cancelled = plan_.interrupted != nullptr && plan_.interrupted->load(std::memory_order_relaxed);
    if (now_ns > deadline || cancelled) break;
    handle_events(wait_for_events(now_ns));
    const auto broken = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) {
      return slot.state == Slot::State::closed && !slot.record.message.empty();
    });
    const bool any =
        std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.state == Slot::State::idle; });
    if (broken != slots_.end() && !any) return environment_error(broken->record.message);
    if (broken != slots_.end()) break;  // the load will show how many it bears
  }
  for (Slot& slot : slots_) {
    if (slot.state == Slot::State::connecting) drop_connection(slot, true);
    slot.record = {};
  }
  return {};
}

void LoadReactor::run() {
  outcome_.began_ns = load_now_ns();
  last_check_ns_ = outcome_.began_ns;
  waited_ns_ = 0;
  if (plan_.closed) start_closed_loop();
  for (;;) {
    std::int64_t now_ns = load_now_ns();
    start_due(now_ns);
    if (now_ns - last_check_ns_ >= kCheckEvery_ns) {
      last_check_ns_ = now_ns;
      check_deadlines(now_ns);
      make_space_for_starving(now_ns);
    }
    check_stop(now_ns);
    if (stopping_ && in_flight_ == 0) break;
    handle_events(wait_for_events(now_ns));
  }
  outcome_.ended_ns = load_now_ns();
  const auto wall = static_cast<double>(std::max<std::int64_t>(outcome_.ended_ns - outcome_.began_ns, 1));
  outcome_.busy_share = std::clamp(1 - static_cast<double>(waited_ns_) / wall, 0.0, 1.0);
}

LoadOutcome LoadReactor::take_outcome() {
  for (Slot& slot : slots_) slot.connection.close();
  kept_.end();
  outcome_.gaps_of_one_in = kept_.one_in();
  return std::move(outcome_);
}

void LoadReactor::start_closed_loop() {
  while (static_cast<std::int64_t>(slots_.size()) < plan_.users) {
    slots_.emplace_back(plan_.format, static_cast<std::uint32_t>(slots_.size()));
  }
  for (Slot& slot : slots_) {
    const double after_s = plan_.users_per_s > 0 ? slot.index / plan_.users_per_s : 0;
    if (slot.state == Slot::State::closed)
      slot.endpoint = static_cast<std::uint32_t>(slot.index % plan_.endpoints.size());
    timers_.push({outcome_.began_ns + ns(after_s), slot.index, kNextHead, nullptr});
  }
}

/// The next of its endpoint; where those have all been asked, one of another endpoint that has not; then again.
std::uint32_t LoadReactor::next_head(std::uint32_t endpoint) {
  const bool each_once = plan_.most_requests > 0 || plan_.most_heads > 0;
  for (std::size_t i = 0; i < (each_once ? heads_.size() : 0); ++i) {
    const std::size_t of = (endpoint + i) % heads_.size();
    if (next_head_[of] < heads_[of].size()) return heads_[of][next_head_[of]++];
  }
  const std::size_t of = heads_[endpoint].empty() ? plan_.requests[plan_.heads.front()].endpoint : endpoint;
  return heads_[of][next_head_[of]++ % heads_[of].size()];
}

void LoadReactor::start_due(std::int64_t now_ns) {
  if (stopping_) return;
  int left = kStartAtOnce;
  // Those that wait for a place come before those that are due only now, which else would keep them waiting for ever.
  while (!waiting_.empty() && in_flight_ < plan_.users && left-- > 0) {
    const Due due = waiting_.front();
    waiting_.pop_front();
    submit(due, -1);
  }
  while (!timers_.empty() && timers_.top().due_ns <= now_ns && left-- > 0) {
    const Timer timer = timers_.top();
    timers_.pop();
    submit({timer.prepared, timer.due_ns, false, timer.talk}, timer.slot);
  }
  while (!plan_.closed && next_due_ < plan_.due_ns.size() && outcome_.began_ns + plan_.due_ns[next_due_] <= now_ns &&
         left-- > 0) {
    const std::int64_t intended = outcome_.began_ns + plan_.due_ns[next_due_++];
    const std::uint32_t head = plan_.heads[(next_due_ - 1) % plan_.heads.size()];
    submit({head, intended, plan_.all_at_once, nullptr}, -1);
  }
}

std::int64_t LoadReactor::next_due_ns() const {
  if (stopping_) return kNever;
  std::int64_t next = timers_.empty() ? kNever : timers_.top().due_ns;
  if (!waiting_.empty() && in_flight_ < plan_.users) return 0;
  if (!plan_.closed && next_due_ < plan_.due_ns.size()) {
    next = std::min(next, outcome_.began_ns + plan_.due_ns[next_due_]);
  }
  return next;
}

int LoadReactor::wait_for_events(std::int64_t now_ns) {
  const std::int64_t until = std::min(next_due_ns(), last_check_ns_ + kCheckEvery_ns);
  const std::int64_t sleep_ns = until - now_ns - kSpin_ns;
  const auto most = static_cast<int>(events_.size());
  int count = -1;
  if (sleep_ns > 0 && precise_wait_) {
    const timespec timeout{sleep_ns / 1'000'000'000, sleep_ns % 1'000'000'000};
    count = precise_epoll_wait(epoll_.fd(), events_, timeout);
    precise_wait_ = count >= 0 || errno == EINTR;  // a kernel before 5.11, or a container that forbids it
  }
  if (count < 0) {
    const auto whole_ms = static_cast<int>(std::max<std::int64_t>(sleep_ns, 0) / 1'000'000);
    count = ::epoll_wait(epoll_.fd(), events_.data(), most, precise_wait_ ? 0 : whole_ms);
  }
  waited_ns_ += load_now_ns() - now_ns;
  return std::max(count, 0);
}

void LoadReactor::handle_events(int count) {
  if (count > 0) realtime_offset_ns_ = realtime_offset_ns();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events_[static_cast<std::size_t>(i)];
    Slot& slot = slots_[static_cast<std::uint32_t>(event.data.u64)];
    if (slot.generation == event.data.u64 >> 32) on_event(slot, event.events);
  }
}

std::int64_t LoadReactor::receive_time(std::int64_t kernel_time_ns, std::int64_t now_ns) {
  if (!plan_.kernel_times) return now_ns;
  const std::int64_t arrived = kernel_time_ns - realtime_offset_ns_;
  // No time from the kernel, or one that a step of the clock made useless.
  if (kernel_time_ns == 0 || arrived > now_ns + 1'000'000 || arrived < now_ns - 60'000'000'000) {
    outcome_.kernel_times = outcome_.kernel_times && kernel_time_ns != 0;
    return now_ns;
  }
  outcome_.receive_lag.add(now_ns - arrived);
  return std::min(arrived, now_ns);
}

void LoadReactor::check_deadlines(std::int64_t now_ns) {
  for (Slot& slot : slots_) {
    if (slot.state == Slot::State::connecting && now_ns - slot.connect_began_ns > ns(plan_.connect_timeout_s)) {
      fail(slot, Fault::connect, "no connection within the deadline", now_ns);
    } else if (slot.state == Slot::State::waiting) {
      const auto since_byte = now_ns - std::max(slot.last_byte_ns, slot.record.sent_ns);
      if (slot.done_ns != 0) {
        if (now_ns - slot.done_ns < kAfterDone_ns) continue;
        slot.reader.close_after_done(slot.done_ns);
        finish(slot);
      } else if (now_ns - slot.record.begun_ns > ns(plan_.request_timeout_s)) {
        fail(slot, Fault::timeout, "not ended within the deadline", now_ns);
      } else if (since_byte > ns(plan_.stall_timeout_s)) {
        fail(slot, Fault::stall, "nothing arrived for the longest pause allowed", now_ns);
      }
    }
  }
}

void LoadReactor::check_stop(std::int64_t now_ns) {
  if (plan_.interrupted != nullptr && plan_.interrupted->load(std::memory_order_relaxed)) {
    outcome_.interrupted = true;
    stop(now_ns, "interrupted");
    return censor_all(now_ns);
  }
  if (stopping_) {
    if (in_flight_ > 0 && now_ns - outcome_.stopped_ns > ns(plan_.drain_s)) censor_all(now_ns);
    return;
  }
  if (spool_.failed()) {
    outcome_.problem = spool_.problem();
    return stop(now_ns, outcome_.problem);
  }
  if (plan_.enough != nullptr && plan_.enough->load(std::memory_order_relaxed)) return stop(now_ns, "precise enough");
  check_error_rate(now_ns);
  const bool late = plan_.duration_s > 0 && now_ns - outcome_.began_ns >= ns(plan_.duration_s);
  // With a least number, the last one is begun when the time is up, not before.
  const bool after =
      plan_.least_requests == 0 || !plan_.closed || last_due_ns_ - outcome_.began_ns >= ns(plan_.duration_s);
  if (late && after && begun_ >= plan_.least_requests) return stop(now_ns, "time is up");
  if (plan_.most_requests > 0 && begun_ >= plan_.most_requests) return stop_complete(now_ns, "all requests were sent");
  if (failures_in_a_row_ >= std::max<std::int64_t>(100, 3 * plan_.users)) {
    return stop(now_ns, "too many failures in a row");
  }
  const bool scheduled = !timers_.empty() || !waiting_.empty() || next_due_ < plan_.due_ns.size();
  if (scheduled || in_flight_ > 0) return;
  if (!plan_.closed) stop_complete(now_ns, "the schedule has ended");
  if (plan_.closed && plan_.most_heads > 0) stop_complete(now_ns, "all requests were sent");
}

void LoadReactor::check_error_rate(std::int64_t now_ns) {
  constexpr std::int64_t kLeastEnded = 20;
  if (plan_.max_error_rate <= 0 || ended_ < kLeastEnded) return;
  const double rate = static_cast<double>(failed_) / static_cast<double>(ended_);
  if (rate <= plan_.max_error_rate) return;
  outcome_.too_many_errors = true;
  stop(now_ns, fmt::format("{} of {} requests failed: more than --max-error-rate {:g}%", failed_, ended_,
                           100 * plan_.max_error_rate));
}

void LoadReactor::stop_complete(std::int64_t now_ns, std::string why) {
  outcome_.everything_sent = true;
  stop(now_ns, std::move(why));
}

void LoadReactor::stop(std::int64_t now_ns, std::string why) {
  if (stopping_) return;
  stopping_ = true;
  outcome_.stopped_ns = now_ns;
  outcome_.stopped_because = std::move(why);
  outcome_.never_sent += static_cast<std::int64_t>(waiting_.size());
  while (next_due_ < plan_.due_ns.size() && outcome_.began_ns + plan_.due_ns[next_due_] <= now_ns) {
    ++next_due_;
    ++outcome_.never_sent;
  }
  waiting_.clear();
  for (Slot& slot : slots_) {  // what is idle now stays so, and may hold a thread that others wait for
    if (slot.state == Slot::State::idle) drop_connection(slot, false);
  }
}

void LoadReactor::censor_all(std::int64_t now_ns) {
  for (Slot& slot : slots_) {
    if (slot.record.begun_ns != 0) fail(slot, Fault::censored, "under way when the load ended", now_ns);
  }
}

}  // namespace warpmark::serving
