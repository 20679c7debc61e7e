// One request of the load client, from the moment it is due to the end of its answer. Part of LoadReactor.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "serving/client/load_reactor.h"
#include "serving/traffic/prompts.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kFirstBackoff_ns = 50'000'000;
constexpr std::int64_t kMostBackoff_ns = 1'000'000'000;
constexpr std::int64_t kMostRetryAfter_s = 10;
/// Requests on new connections that wait so many times as long as usual wait for another connection to end.
constexpr std::int64_t kStarvingWaits = 2;
constexpr std::int64_t kLeastStarving_ns = 10'000'000;
/// Of idle connections in an open loop, beside as many as requests are under way.
constexpr std::int64_t kMostIdle = 4;

void add(std::atomic<std::int64_t>& counter, std::int64_t value) {
  counter.fetch_add(value, std::memory_order_relaxed);
}

void add(std::array<std::atomic<std::uint32_t>, Histogram::kBuckets>& buckets, std::int64_t ns) {
  buckets[Histogram::bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void LoadReactor::submit(const Due& due, std::int64_t slot) {
  if (stopping_) return;  // the one before was the last
  if (plan_.most_requests > 0 && begun_ >= plan_.most_requests) return;
  if (!plan_.closed && plan_.users > 0 && in_flight_ >= plan_.users) {
    waiting_.push_back({due.prepared, due.intended_ns, true, due.talk});
    return;
  }
  if (slot < 0) return begin(free_slot(plan_.requests[due.prepared].endpoint), due, load_now_ns());
  Slot& taken = slots_[static_cast<std::size_t>(slot)];
  Due chosen = due;
  if (chosen.prepared == kNextHead) {
    if (plan_.most_heads > 0 && heads_begun_ >= plan_.most_heads) return;  // this user is done
    ++heads_begun_;
    chosen.prepared = next_head(taken.endpoint);
  }
  begin(taken, chosen, load_now_ns());
}

Slot& LoadReactor::free_slot(std::uint32_t endpoint) {
  while (const auto index = idle_.take(endpoint)) {
    if (slots_[*index].state == Slot::State::idle) return slots_[*index];
    idle_.free(*index);  // the server has closed it meanwhile
  }
  if (const auto index = idle_.take_free()) return slots_[*index];
  return slots_.emplace_back(plan_.format, static_cast<std::uint32_t>(slots_.size()));
}

void LoadReactor::begin(Slot& slot, const Due& due, std::int64_t now_ns) {
  const PreparedRequest& request = plan_.requests[due.prepared];
  if (!due.held_back) outcome_.send_lag.add(now_ns - due.intended_ns);
  slot.record = {};
  slot.record.prepared = due.prepared;
  slot.record.turn = request.turn;
  slot.record.user = static_cast<std::int32_t>(slot.index);
  slot.record.intended_ns = last_due_ns_ = due.intended_ns;
  slot.record.begun_ns = now_ns;
  slot.done_ns = 0;
  slot.talk = due.talk;
  if (slot.talk == nullptr && request.next != kNoNext) {
    slot.talk = std::make_shared<Conversation>(Conversation{.serial = serial_++, .said = {}});
  }
  ++in_flight_;
  ++begun_;
  if (plan_.live != nullptr) add(plan_.live->sent, 1), add(plan_.live->in_flight, 1);
  if (slot.state == Slot::State::idle && slot.endpoint == request.endpoint) return send(slot);
  if (slot.state != Slot::State::closed) drop_connection(slot, false);
  slot.endpoint = request.endpoint;
  connect(slot, now_ns);
}

void LoadReactor::connect(Slot& slot, std::int64_t now_ns) {
  const Endpoint& endpoint = plan_.endpoints[slot.endpoint];
  slot.connect_began_ns = now_ns;
  slot.used_before = false;
  auto socket = http::begin_connect(endpoint.address);
  if (!socket.ok()) {
    const bool of_request = slot.record.begun_ns != 0;
    if (of_request && http::open_files_are_used_up()) return give_up_connecting(slot, now_ns);
    return fail(slot, Fault::connect, socket.error().what, now_ns);
  }
  if (plan_.kernel_times && !http::ask_for_receive_times(*socket)) outcome_.kernel_times = false;
  std::unique_ptr<http::TlsSession> tls;
  if (!endpoint.host.empty()) tls = std::make_unique<http::TlsSession>(plan_.tls, endpoint.host);
  slot.connection = http::Connection(std::move(*socket), std::move(tls), false);
  slot.state = Slot::State::connecting;
  ++slot.generation;
  slot.watched = EPOLLIN | EPOLLOUT | EPOLLRDHUP;
  epoll_event event{};
  event.events = slot.watched;
  event.data.u64 = std::uint64_t{slot.generation} << 32 | slot.index;
  if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, slot.connection.fd(), &event) != 0) {
    fail(slot, Fault::connect, "the connection cannot be watched", now_ns);
  }
}

/// No fault of the server, and no request of it: what is under way has all the files that this process may open.
void LoadReactor::give_up_connecting(Slot& slot, std::int64_t now_ns) {
  --in_flight_;
  --begun_;
  ++outcome_.never_sent;
  if (plan_.live != nullptr) add(plan_.live->sent, -1), add(plan_.live->in_flight, -1);
  slot.record = {};
  drop_connection(slot, false);
  if (!plan_.closed) idle_.free(slot.index);
  stop(now_ns, fmt::format("no more connections: {} requests are under way, and {} files may be open (raise it with "
                           "ulimit -n, or bound the requests with --max-in-flight)",
                           in_flight_, http::limit_of_open_files()));
}

void LoadReactor::watch(Slot& slot) {
  const std::uint32_t wanted = EPOLLIN | EPOLLRDHUP | (slot.connection.wants_write() ? EPOLLOUT : 0U);
  if (wanted == slot.watched) return;
  slot.watched = wanted;
  epoll_event event{};
  event.events = wanted;
  event.data.u64 = std::uint64_t{slot.generation} << 32 | slot.index;
  (void)::epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, slot.connection.fd(), &event);  // it is watched: it cannot fail
}

void LoadReactor::send(Slot& slot) {
  PreparedRequest& request = plan_.requests[slot.record.prepared];
  if (request.serial_at != kNoSerial) {
    write_serial(request.bytes, request.serial_at, slot.talk != nullptr ? slot.talk->serial : serial_++);
  }
  std::string with_history;
  if (request.holds_answers) with_history = with_answers(request, slot.talk->said);
  std::string& bytes = request.holds_answers ? with_history : request.bytes;
  if (plan_.signer != nullptr) plan_.signer->sign(bytes, clock_ns(CLOCK_REALTIME) / 1'000'000'000);
  slot.state = Slot::State::waiting;
  slot.reader.begin(slot.record);
  // The time before the call: over loopback, the call itself carries the bytes to the server.
  slot.record.sent_ns = load_now_ns();
  slot.last_byte_ns = slot.record.sent_ns;
  const Status sent = slot.connection.send(bytes);
  if (!sent.ok()) {
    if (!send_again(slot)) fail(slot, Fault::reset, sent.error().what, load_now_ns());
    return;
  }
  watch(slot);
}

void LoadReactor::on_event(Slot& slot, std::uint32_t events) {
  if (slot.state == Slot::State::connecting) return on_connecting(slot);
  if (slot.state == Slot::State::closed) return;
  if ((events & EPOLLOUT) != 0 && slot.state == Slot::State::waiting && slot.connection.wants_write()) {
    if (slot.record.first_byte_ns == 0) slot.record.sent_ns = load_now_ns();
    if (const Status sent = slot.connection.flush(); !sent.ok() && (events & EPOLLIN) == 0) {
      if (!send_again(slot)) fail(slot, Fault::reset, sent.error().what, load_now_ns());
      return;
    }
    watch(slot);
  }
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) on_readable(slot);
}

void LoadReactor::on_connecting(Slot& slot) {
  const bool was_connected = slot.connection.connected();
  const Status advanced = slot.connection.advance(plan_.endpoints[slot.endpoint].address);
  const std::int64_t now_ns = load_now_ns();
  if (!advanced.ok()) {
    const bool in_tls = was_connected || slot.connection.connected();
    return fail(slot, in_tls ? Fault::tls : Fault::connect, advanced.error().what, now_ns);
  }
  watch(slot);
  if (!slot.connection.ready()) return;
  slot.state = Slot::State::idle;
  if (slot.record.begun_ns == 0) return;  // made ahead
  slot.record.connect_ns = now_ns - slot.connect_began_ns;
  send(slot);
}

void LoadReactor::on_readable(Slot& slot) {
  for (;;) {
    const http::Received got = slot.connection.receive(buffer_);
    if (got.state == http::Received::State::would_block) return;
    const std::int64_t now_ns = load_now_ns();
    if (slot.state != Slot::State::waiting) return drop_connection(slot, false);  // the server gave it up
    if (got.state == http::Received::State::data) {
      const std::int64_t arrived = std::max(receive_time(got.kernel_time_ns, now_ns), slot.last_byte_ns);
      slot.last_byte_ns = arrived;
      slot.reader.take({buffer_.data(), got.bytes}, arrived);
      if (slot.reader.last_server_ns() > 0) outcome_.server_delay.add(arrived - slot.reader.last_server_ns());
      if (slot.reader.done_seen() && slot.done_ns == 0) slot.done_ns = arrived;
    } else {
      if (slot.record.first_byte_ns == 0 && send_again(slot)) return;
      if (got.state == http::Received::State::ended) slot.reader.end_of_connection(now_ns);
      if (!slot.reader.ended() && slot.reader.done_seen()) slot.reader.close_after_done(now_ns);
      if (!slot.reader.ended()) slot.reader.fail(Fault::reset, slot.connection.problem(), now_ns);
    }
    if (slot.reader.ended()) return finish(slot);
    // Decrypted bytes may wait inside; of a plain socket epoll tells.
    if (!slot.connection.secure()) return;
  }
}

bool LoadReactor::send_again(Slot& slot) {
  if (!slot.used_before || slot.record.retried || outcome_.interrupted) return false;
  drop_connection(slot, false);
  slot.record.retried = true;
  connect(slot, load_now_ns());
  return true;
}

void LoadReactor::fail(Slot& slot, Fault fault, const std::string& message, std::int64_t now_ns) {
  if (slot.record.begun_ns == 0) {  // a connection made ahead
    slot.record.message = message;
    return drop_connection(slot, true);
  }
  if (slot.state != Slot::State::waiting) slot.reader.begin(slot.record);
  slot.reader.fail(fault, message, now_ns);
  finish(slot);
}

void LoadReactor::finish(Slot& slot) {
  RequestRecord done = std::move(slot.record);
  slot.record = {};
  --in_flight_;
  if (plan_.live != nullptr) count(done);
  if (done.first_byte_ns > 0) {
    const std::int64_t waited_ns = done.first_byte_ns - done.sent_ns;
    typical_wait_ns_ += typical_wait_ns_ == 0 ? waited_ns : (waited_ns - typical_wait_ns_) / 8;
  }
  ended_ += done.fault != Fault::censored ? 1 : 0;
  failed_ += done.fault != Fault::censored && done.fault != Fault::none ? 1 : 0;
  if (may_stay_open(slot)) {
    slot.state = Slot::State::idle;
    slot.used_before = true;
    watch(slot);
  } else {
    drop_connection(slot, done.fault != Fault::none);
  }
  failures_in_a_row_ = done.fault == Fault::none ? 0 : failures_in_a_row_ + (done.fault != Fault::censored ? 1 : 0);
  if (!stopping_) continue_user(slot, done);
  kept_.add(std::move(done));
  if (plan_.closed) return;
  slot.state == Slot::State::idle ? idle_.keep(slot.endpoint, slot.index) : idle_.free(slot.index);
}

bool LoadReactor::may_stay_open(const Slot& slot) {
  if (stopping_ || slot.state != Slot::State::waiting || !plan_.keep_connections || !slot.reader.reusable())
    return false;
  if (starving_ > 0) return --starving_, false;
  return plan_.closed || static_cast<std::int64_t>(idle_.connected()) < std::max(kMostIdle, in_flight_);
}

/// A server with a fixed number of threads, one for each connection, answers none on a new connection before another
/// ends: those that are idle make room, and so do those that become idle meanwhile (may_stay_open).
void LoadReactor::make_space_for_starving(std::int64_t now_ns) {
  const std::int64_t patience_ns = std::max(kStarvingWaits * typical_wait_ns_, kLeastStarving_ns);
  starving_ = 0;
  if (typical_wait_ns_ == 0) return;
  for (const Slot& slot : slots_) {
    const bool unanswered = slot.state == Slot::State::waiting && !slot.used_before && slot.record.first_byte_ns == 0;
    if (unanswered && now_ns - slot.record.sent_ns > patience_ns) ++starving_;
  }
  for (std::uint32_t endpoint = 0; endpoint < plan_.endpoints.size(); ++endpoint) {
    while (starving_ > 0) {
      const auto index = idle_.take(endpoint);
      if (!index) break;
      starving_ -= slots_[*index].state == Slot::State::idle ? 1 : 0;
      drop_connection(slots_[*index], false);
      idle_.free(*index);
    }
  }
}

void LoadReactor::continue_user(Slot& slot, const RequestRecord& done) {
  const PreparedRequest& request = plan_.requests[done.prepared];
  const bool goes_on = done.fault == Fault::none && request.next != kNoNext;
  std::shared_ptr<Conversation> talk = goes_on ? std::move(slot.talk) : nullptr;
  slot.talk = nullptr;
  if (goes_on) talk->said.push_back(slot.reader.said_json());
  const std::int64_t think_ns = goes_on ? plan_.requests[request.next].pause_ns : 0;
  if (!plan_.closed) {
    if (goes_on) timers_.push({done.ended_ns + think_ns, -1, request.next, std::move(talk)});
    return;
  }
  // A server that refuses is not asked again at once: its users would not, and nothing but errors would be measured.
  slot.backoff_ns = done.fault == Fault::none ? 0 : std::clamp(2 * slot.backoff_ns, kFirstBackoff_ns, kMostBackoff_ns);
  std::int64_t pause_ns = slot.backoff_ns;
  if (done.retry_after_s > 0 && done.fault != Fault::none) {
    pause_ns = std::max(pause_ns, std::min(done.retry_after_s, kMostRetryAfter_s) * 1'000'000'000);
  }
  const Timer timer{done.ended_ns + pause_ns + think_ns, slot.index, goes_on ? request.next : kNextHead,
                    std::move(talk)};
  if (!plan_.together) return timers_.push(timer);
  together_.push_back(timer);
  if (in_flight_ > 0) return;
  std::int64_t last_ns = 0;
  for (const Timer& waiting : together_) last_ns = std::max(last_ns, waiting.due_ns);
  for (const Timer& waiting : together_) timers_.push({last_ns, waiting.slot, waiting.prepared, waiting.talk});
  together_.clear();
}

void LoadReactor::drop_connection(Slot& slot, bool at_once) {
  if (slot.connection.open()) {
    if (at_once) {
      slot.connection.reset();
    } else {
      slot.connection.close();
    }
  }
  ++slot.generation;
  slot.state = Slot::State::closed;
  slot.watched = 0;
}

void LoadReactor::count(const RequestRecord& record) {
  LiveCounters& live = *plan_.live;
  add(live.in_flight, -1);
  if (record.fault == Fault::censored) return;
  add(record.fault == Fault::none ? live.completed : live.failed, 1);
  if (record.fault != Fault::none) {
    live.faults[static_cast<std::size_t>(record.fault)].fetch_add(1, std::memory_order_relaxed);
    return;
  }
  add(live.events, record.events);
  add(live.output_tokens, std::max<std::int64_t>(record.output_tokens, 0));
  add(live.input_tokens, std::max<std::int64_t>(record.prompt_tokens, 0));
  add(live.e2e, record.ended_ns - record.sent_ns);
  if (record.first_visible_ns > 0) add(live.ttft, record.first_visible_ns - record.sent_ns);
  for (const float gap : record.gaps_s) add(live.gaps, static_cast<std::int64_t>(static_cast<double>(gap) * 1e9));
}

}  // namespace warpmark::serving
