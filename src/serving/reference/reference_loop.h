// The event loop of the reference server. One thread; use ReferenceServer.
#pragma once

#include <sys/epoll.h>

#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "http/connection.h"
#include "http/parser.h"
#include "serving/reference/reference_answer.h"
#include "serving/reference/reference_server.h"
#include "stats/random.h"

namespace warpmark::serving {

/// A connection and the answer on it.
struct ReferencePeer {
  http::Connection connection;
  http::RequestParser parser;
  std::string body;
  std::string unread;  ///< bytes after the request: of the next one
  ScriptedReply scripted;
  Asked asked;
  EventBytes event;  ///< of plain content, sent again and again
  std::uint32_t generation = 0;
  std::int64_t idle_since_ns = 0;  ///< connected, or the last answer was given
  std::int64_t left = 0;           ///< tokens
  std::int64_t reasoning = 0;      ///< of these
  std::int64_t ends_after = -1;    ///< tokens after which a fault ends it; -1 none
  enum class Fault { none, reset, truncate, stall, stream_error } fault = Fault::none;
  bool answering = false;
  bool holds_slot = false;
};

class ReferenceLoop {
 public:
  ReferenceLoop(const ReferenceServerOptions& options, http::Socket listening,
                std::shared_ptr<const http::TlsContext> tls, ReferenceCounts& counts);
  [[nodiscard]] Status open();
  void run(const std::atomic<bool>& stop);

 private:
  struct Timer {
    std::int64_t due_ns;
    std::uint32_t peer;
    std::uint32_t generation;
    bool operator>(const Timer& other) const { return due_ns > other.due_ns; }
  };

  void accept_all();
  void listen(bool on);
  /// Those that have not sent a whole request for too long.
  void close_idle(std::int64_t now_ns);
  void on_event(std::uint32_t index, std::uint32_t events);
  void read(std::uint32_t index);
  void take(std::uint32_t index, std::string_view bytes);
  void answer(std::uint32_t index);
  void start_answer(std::uint32_t index, std::int64_t now_ns);
  void run_timers(std::int64_t now_ns);
  void next_event(std::uint32_t index, std::int64_t due_ns);
  void end_by_fault(std::uint32_t index);
  void end_answer(std::uint32_t index);
  void release_slot(ReferencePeer& peer);
  void send(std::uint32_t index, std::string_view bytes);
  void close(std::uint32_t index, bool reset);
  void watch(std::uint32_t index, bool add);
  [[nodiscard]] double varied(double seconds);
  [[nodiscard]] bool is_scripted(const Asked& asked) const;
  static void script_stream(ReferencePeer& peer);
  void draw_fault(ReferencePeer& peer);
  [[nodiscard]] int refusal(const ReferencePeer& peer);

  const ReferenceServerOptions& options_;
  const ReferenceScript& script_;
  http::Socket listening_;
  std::shared_ptr<const http::TlsContext> tls_;
  ReferenceCounts& counts_;
  http::Socket epoll_;
  std::deque<ReferencePeer> peers_;
  std::vector<std::uint32_t> free_;
  std::deque<std::pair<std::uint32_t, std::uint32_t>> queue_;  ///< peer and generation, waiting for a slot
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::vector<epoll_event> events_;
  std::string buffer_;
  std::vector<ScriptedAnswer> answers_;  ///< of the script, with the times that are left
  stats::Random random_;
  std::int64_t streams_ = 0;
  std::int64_t accepts_again_ns_ = 0;  ///< 0: it accepts
  std::int64_t next_sweep_ns_ = 0;
};

}  // namespace warpmark::serving
