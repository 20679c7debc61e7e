#include "serving/reference/reference_loop.h"

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "serving/client/load_clock.h"
#include "serving/traffic/arrivals.h"

namespace warpmark::serving {
namespace {

constexpr std::uint32_t kListening = 0xFFFFFFFF;
constexpr std::size_t kMostBody = 256 << 20;
constexpr std::int64_t kServerSpin_ns = 60'000;
constexpr std::int64_t kLongestWait_ns = 50'000'000;
constexpr std::int64_t kPauseAfterFailure_ns = 100'000'000;
constexpr std::int64_t kBetweenSweeps_ns = 500'000'000;

}  // namespace

ReferenceLoop::ReferenceLoop(const ReferenceServerOptions& options, http::Socket listening,
                             std::shared_ptr<const http::TlsContext> tls, ReferenceCounts& counts)
    : options_(options),
      script_(options.script),
      listening_(std::move(listening)),
      tls_(std::move(tls)),
      counts_(counts),
      answers_(options.script.answers),
      random_(options.script.seed) {}

Status ReferenceLoop::open() {
  epoll_ = http::Socket(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListening;
  if (!epoll_.open() || ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, listening_.fd(), &event) != 0) {
    return environment_error("epoll cannot be used: " + http::errno_text(errno));
  }
  buffer_.resize(256 << 10);
  events_.resize(512);
  return {};
}

void ReferenceLoop::run(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    std::int64_t now_ns = load_now_ns();
    run_timers(now_ns);
    now_ns = load_now_ns();
    if (accepts_again_ns_ > 0 && now_ns >= accepts_again_ns_) listen(true);
    if (now_ns >= next_sweep_ns_) close_idle(now_ns);
    const std::int64_t until =
        timers_.empty() ? now_ns + kLongestWait_ns : std::min(timers_.top().due_ns, now_ns + kLongestWait_ns);
    const std::int64_t sleep_ns = std::max<std::int64_t>(until - now_ns - kServerSpin_ns, 0);
    const timespec timeout{0, sleep_ns};
    const auto most = static_cast<int>(events_.size());
    int count = precise_epoll_wait(epoll_.fd(), events_, timeout);
    if (count < 0 && errno != EINTR)
      count = ::epoll_wait(epoll_.fd(), events_.data(), most, static_cast<int>(sleep_ns / 1'000'000));
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events_[static_cast<std::size_t>(i)];
      const auto index = static_cast<std::uint32_t>(event.data.u64);
      if (index == kListening) {
        accept_all();
      } else if (peers_[index].generation == event.data.u64 >> 32) {
        on_event(index, event.events);
      }
    }
  }
}

void ReferenceLoop::accept_all() {
  for (;;) {
    http::Socket socket = http::accept_from(listening_);
    if (!socket.open()) {
      // At the limit of open files the next attempt fails at once, too, until some connection has ended.
      if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) listen(false);
      return;
    }
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(peers_.size()));
      peers_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    ReferencePeer& peer = peers_[index];
    const std::uint32_t generation = peer.generation + 1;
    peer = {};
    peer.generation = generation;
    peer.idle_since_ns = load_now_ns();
    std::unique_ptr<http::TlsSession> tls;
    if (tls_) tls = std::make_unique<http::TlsSession>(tls_, "");
    peer.connection = http::Connection(std::move(socket), std::move(tls), true);
    counts_.connections.fetch_add(1, std::memory_order_relaxed);
    watch(index, true);
  }
}

void ReferenceLoop::listen(bool on) {
  epoll_event event{};
  event.events = on ? EPOLLIN : 0U;
  event.data.u64 = kListening;
  (void)::epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, listening_.fd(), &event);
  accepts_again_ns_ = on ? 0 : load_now_ns() + kPauseAfterFailure_ns;
}

void ReferenceLoop::close_idle(std::int64_t now_ns) {
  next_sweep_ns_ = now_ns + kBetweenSweeps_ns;
  const auto longest_ns = static_cast<std::int64_t>(options_.idle_deadline_s * 1e9);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const ReferencePeer& peer = peers_[i];
    if (!peer.connection.open() || peer.answering || now_ns - peer.idle_since_ns < longest_ns) continue;
    close(static_cast<std::uint32_t>(i), false);
  }
}

void ReferenceLoop::watch(std::uint32_t index, bool add) {
  ReferencePeer& peer = peers_[index];
  epoll_event event{};
  event.events = EPOLLIN | (peer.connection.wants_write() ? EPOLLOUT : 0U);
  event.data.u64 = std::uint64_t{peer.generation} << 32 | index;
  if (::epoll_ctl(epoll_.fd(), add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, peer.connection.fd(), &event) != 0)
    close(index, true);
}

void ReferenceLoop::on_event(std::uint32_t index, std::uint32_t events) {
  ReferencePeer& peer = peers_[index];
  if (!peer.connection.ready()) {
    if (!peer.connection.advance({}).ok()) return close(index, false);
    if (!peer.connection.ready()) return;
  }
  if ((events & EPOLLOUT) != 0) {
    if (!peer.connection.flush().ok()) return close(index, false);
    watch(index, false);
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read(index);
}

void ReferenceLoop::read(std::uint32_t index) {
  const std::uint32_t generation = peers_[index].generation;
  for (;;) {
    const http::Received got = peers_[index].connection.receive(buffer_);
    if (got.state == http::Received::State::would_block) return;
    if (got.state != http::Received::State::data) return close(index, false);
    take(index, {buffer_.data(), got.bytes});
    if (peers_[index].generation != generation || !peers_[index].connection.secure()) return;
  }
}

void ReferenceLoop::take(std::uint32_t index, std::string_view bytes) {
  ReferencePeer& peer = peers_[index];
  if (peer.answering) {
    peer.unread.append(bytes);
    if (peer.unread.size() > kMostBody) close(index, true);
    return;
  }
  while (!bytes.empty() && !peer.parser.done() && !peer.parser.failed()) {
    const http::Decoded piece = peer.parser.take(bytes);
    peer.body.append(piece.body);
    bytes.remove_prefix(piece.consumed);
    if (peer.body.size() > kMostBody) return close(index, true);
  }
  if (peer.parser.failed()) {
    send(index, error_answer(400, peer.parser.problem()));
    return close(index, false);
  }
  if (!peer.parser.done()) return;
  peer.unread.assign(bytes);
  peer.answering = true;
  counts_.requests.fetch_add(1, std::memory_order_relaxed);
  answer(index);
}

int ReferenceLoop::refusal(const ReferencePeer& peer) {
  if (!script_.key.empty()) {
    const std::string* given = http::find_header(peer.parser.head().headers, "authorization");
    if (given == nullptr) given = http::find_header(peer.parser.head().headers, "x-api-key");
    if (given == nullptr || (*given != "Bearer " + script_.key && *given != script_.key)) return 401;
  }
  const double drawn = draw_unit(random_);
  if (drawn < script_.status_500) return 500;
  return drawn < script_.status_500 + script_.status_429 ? 429 : 0;
}

void ReferenceLoop::answer(std::uint32_t index) {
  ReferencePeer& peer = peers_[index];
  const http::RequestHead& head = peer.parser.head();
  const auto asked = parse_asked(head.method, head.target, peer.body, script_);
  if (!asked.ok()) {
    const bool no_path = asked.error().code == ErrorCode::no_such_path;
    send(index, error_answer(no_path ? 404 : 400, asked.error().what));
    return end_answer(index);
  }
  if (const int status = refusal(peer); status != 0) {
    send(index, error_answer(status, status == 401 ? "wrong key" : "scripted fault"));
    return end_answer(index);
  }
  peer.asked = *asked;
  if (peer.asked.kind == AnswerKind::models) {
    send(index, whole_answer(peer.asked));
    return end_answer(index);
  }
  if (is_scripted(peer.asked)) {
    peer.scripted = scripted_reply(answers_, peer.body);
    if (peer.scripted.bytes.empty()) return close(index, false);
    script_stream(peer);
  }
  if (script_.slots > 0 && streams_ >= script_.slots) {
    queue_.emplace_back(index, peer.generation);
    return;
  }
  start_answer(index, load_now_ns());
}

void ReferenceLoop::script_stream(ReferencePeer& peer) {
  peer.asked.stream = peer.asked.stream && !peer.scripted.tokens.empty();
  if (!peer.asked.stream) {
    peer.asked.output_tokens = 1;  // it comes at once
    return;
  }
  for (const auto& token : peer.scripted.tokens) {
    const std::string quoted = dump_json(token, -1);
    peer.asked.words.push_back(quoted.substr(1, quoted.size() - 2));
  }
  peer.asked.finish_reason = peer.scripted.finish_reason;
  peer.asked.output_tokens = static_cast<std::int64_t>(peer.asked.words.size());
}

bool ReferenceLoop::is_scripted(const Asked& asked) const {
  const bool scriptable =
      asked.kind == AnswerKind::chat || asked.kind == AnswerKind::completions || asked.kind == AnswerKind::embeddings;
  return !answers_.empty() && scriptable;
}

void ReferenceLoop::draw_fault(ReferencePeer& peer) {
  using Ending = ReferencePeer::Fault;
  const std::pair<Ending, double> faults[] = {{Ending::reset, script_.reset},
                                              {Ending::truncate, script_.truncate},
                                              {Ending::stall, script_.stall},
                                              {Ending::stream_error, script_.stream_error}};
  double drawn = draw_unit(random_);
  peer.fault = Ending::none;
  peer.ends_after = -1;
  for (const auto& [fault, share] : faults) {
    if (drawn < share) {
      peer.fault = fault;
      peer.ends_after = static_cast<std::int64_t>(draw_unit(random_) * static_cast<double>(peer.asked.output_tokens));
      return;
    }
    drawn -= share;
  }
}

void ReferenceLoop::start_answer(std::uint32_t index, std::int64_t now_ns) {
  ReferencePeer& peer = peers_[index];
  peer.holds_slot = true;
  ++streams_;
  if (streams_ > counts_.most_streams.load(std::memory_order_relaxed)) counts_.most_streams.store(streams_);
  draw_fault(peer);
  const bool thinks = peer.asked.kind != AnswerKind::completions && peer.asked.words.empty();
  peer.left = peer.asked.output_tokens;
  peer.reasoning = thinks ? std::min(script_.reasoning_tokens, peer.left) : 0;
  double first_s = varied(script_.ttft_s) + script_.prefill_s_per_token * static_cast<double>(peer.asked.prompt_tokens);
  const bool generates = peer.asked.kind != AnswerKind::embeddings && peer.asked.kind != AnswerKind::rerank;
  if (generates && !peer.asked.stream) first_s += script_.itl_s * static_cast<double>(peer.left - 1);
  if (peer.asked.words.empty()) peer.event = token_event(peer.asked, script_, false, script_.tokens_per_event, 0);
  timers_.push({now_ns + static_cast<std::int64_t>(first_s * 1e9), index, peer.generation});
}

double ReferenceLoop::varied(double seconds) {
  return script_.jitter > 0 && seconds > 0 ? draw_lognormal(random_, seconds, seconds * script_.jitter) : seconds;
}

void ReferenceLoop::run_timers(std::int64_t now_ns) {
  // Not more than a batch, so that requests are read between.
  for (int i = 0; i < 256 && !timers_.empty() && timers_.top().due_ns <= now_ns; ++i) {
    const Timer timer = timers_.top();
    timers_.pop();
    const ReferencePeer& peer = peers_[timer.peer];
    if (peer.generation == timer.generation && peer.answering) next_event(timer.peer, timer.due_ns);
  }
}

void ReferenceLoop::next_event(std::uint32_t index, std::int64_t due_ns) {
  ReferencePeer& peer = peers_[index];
  const bool whole =
      !peer.asked.stream || peer.asked.kind == AnswerKind::embeddings || peer.asked.kind == AnswerKind::rerank;
  if (whole) {
    send(index, is_scripted(peer.asked) ? peer.scripted.bytes : whole_answer(peer.asked));
    return end_answer(index);
  }
  const std::int64_t given = peer.asked.output_tokens - peer.left;
  if (peer.ends_after >= 0 && given >= peer.ends_after) return end_by_fault(index);
  if (given == 0) send(index, stream_head() + opening_events(peer.asked, script_));
  if (!peer.connection.open()) return;
  const bool reasons = given < peer.reasoning;
  const std::int64_t tokens = std::min(script_.tokens_per_event, reasons ? peer.reasoning - given : peer.left);
  peer.left -= tokens;
  if (reasons || !peer.asked.words.empty() || tokens != script_.tokens_per_event ||
      script_.usage == UsagePlace::every) {
    EventBytes event = token_event(peer.asked, script_, reasons, tokens, given + tokens);
    event.stamp(load_now_ns());
    send(index, event.bytes);
  } else {
    peer.event.stamp(load_now_ns());
    send(index, peer.event.bytes);
  }
  counts_.events.fetch_add(1, std::memory_order_relaxed);
  if (!peer.connection.open()) return;
  if (peer.left == 0) {
    send(index, closing_events(peer.asked, script_));
    return end_answer(index);
  }
  const double pause_s = varied(script_.itl_s) * static_cast<double>(tokens);
  timers_.push({due_ns + static_cast<std::int64_t>(pause_s * 1e9), index, peer.generation});
}

void ReferenceLoop::end_by_fault(std::uint32_t index) {
  ReferencePeer& peer = peers_[index];
  const bool begun = peer.left < peer.asked.output_tokens;
  switch (peer.fault) {
    case ReferencePeer::Fault::stall: return;  // nothing more, for ever: the client must give up
    case ReferencePeer::Fault::reset: return close(index, true);
    case ReferencePeer::Fault::truncate:
      if (!begun) send(index, stream_head());
      return close(index, false);
    default: send(index, (begun ? "" : stream_head()) + error_event(script_)); return end_answer(index);
  }
}

void ReferenceLoop::end_answer(std::uint32_t index) {
  ReferencePeer& peer = peers_[index];
  if (!peer.connection.open()) return;
  counts_.answered.fetch_add(1, std::memory_order_relaxed);
  release_slot(peer);
  const bool keep = http::keeps_alive(peer.parser.head().minor_version, peer.parser.head().headers);
  peer.answering = false;
  peer.idle_since_ns = load_now_ns();
  peer.body.clear();
  peer.parser.begin();
  if (!keep) return close(index, false);
  const std::string unread = std::move(peer.unread);
  peer.unread.clear();
  if (!unread.empty()) take(index, unread);
}

void ReferenceLoop::release_slot(ReferencePeer& peer) {
  if (!peer.holds_slot) return;
  peer.holds_slot = false;
  --streams_;
  while (!queue_.empty()) {
    const auto [index, generation] = queue_.front();
    queue_.pop_front();
    if (peers_[index].generation != generation) continue;  // it gave up
    return start_answer(index, load_now_ns());
  }
}

void ReferenceLoop::send(std::uint32_t index, std::string_view bytes) {
  ReferencePeer& peer = peers_[index];
  if (!peer.connection.send(bytes).ok()) return close(index, false);
  if (peer.connection.wants_write()) watch(index, false);
}

void ReferenceLoop::close(std::uint32_t index, bool reset) {
  ReferencePeer& peer = peers_[index];
  if (!peer.connection.open()) return;
  if (reset) {
    peer.connection.reset();
  } else {
    peer.connection.close();
  }
  ++peer.generation;
  peer.answering = false;
  free_.push_back(index);
  release_slot(peer);
}

}  // namespace warpmark::serving
