// The event loop of the load client. One thread; use run_load().
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/result.h"
#include "serving/client/conversation.h"
#include "serving/client/idle_slots.h"
#include "serving/client/load_clock.h"
#include "serving/client/load_plan.h"
#include "serving/records/record_spool.h"

namespace warpmark::serving {

/// A connection and the request on it.
struct Slot {
  enum class State { closed, idle, connecting, sending, waiting };
  explicit Slot(const AnswerFormat& format, std::uint32_t number) : reader(format), index(number) {}

  http::Connection connection;
  AnswerReader reader;
  RequestRecord record;
  State state = State::closed;
  std::uint32_t index = 0;
  std::uint32_t generation = 0;  ///< of the connection: events of an earlier one are passed over
  std::uint32_t endpoint = 0;
  std::uint32_t watched = 0;  ///< epoll events asked for
  std::int64_t connect_began_ns = 0;
  std::int64_t last_byte_ns = 0;
  std::int64_t done_ns = 0;            ///< when the end mark was seen
  std::int64_t backoff_ns = 0;         ///< closed loop: pause after a failure, doubled each time
  bool used_before = false;            ///< the connection has had an answer
  std::shared_ptr<Conversation> talk;  ///< null outside of conversations
};

class LoadReactor {
 public:
  LoadReactor(LoadPlan& plan, RecordSpool& spool)
      : plan_(plan), spool_(spool), kept_(spool, plan.most_gaps, plan.secret) {}

  [[nodiscard]] Status open();
  /// Makes connections before the clock starts. Environment error if the first cannot be made.
  [[nodiscard]] Status connect_ahead();
  void run();
  /// Its records are in the spool.
  [[nodiscard]] LoadOutcome take_outcome();

 private:
  /// Chosen when it is sent: who waits after a failure holds none back from the others.
  static constexpr std::uint32_t kNextHead = kNoNext;

  struct Timer {
    std::int64_t due_ns;
    std::int64_t slot;       ///< whose user it is; -1: any slot
    std::uint32_t prepared;  ///< kNextHead: the next conversation
    std::shared_ptr<Conversation> talk;
    bool operator>(const Timer& other) const { return due_ns > other.due_ns; }
  };
  struct Due {
    std::uint32_t prepared;
    std::int64_t intended_ns;
    bool held_back;  ///< waited for others to end, as no more may be under way: no lateness of ours
    std::shared_ptr<Conversation> talk;
  };

  // load_reactor.cpp: the loop
  void start_closed_loop();
  void start_due(std::int64_t now_ns);
  [[nodiscard]] std::int64_t next_due_ns() const;
  [[nodiscard]] int wait_for_events(std::int64_t now_ns);
  void handle_events(int count);
  void check_deadlines(std::int64_t now_ns);
  void check_stop(std::int64_t now_ns);
  void stop(std::int64_t now_ns, std::string why);
  void stop_complete(std::int64_t now_ns, std::string why);
  void censor_all(std::int64_t now_ns);
  void check_error_rate(std::int64_t now_ns);
  [[nodiscard]] std::uint32_t next_head(std::uint32_t endpoint);

  // load_exchange.cpp: one request
  void submit(const Due& due, std::int64_t slot);
  void begin(Slot& slot, const Due& due, std::int64_t now_ns);
  void connect(Slot& slot, std::int64_t now_ns);
  void send(Slot& slot);
  void on_event(Slot& slot, std::uint32_t events);
  void on_connecting(Slot& slot);
  void on_readable(Slot& slot);
  void finish(Slot& slot);
  void continue_user(Slot& slot, const RequestRecord& done);
  bool send_again(Slot& slot);
  void give_up_connecting(Slot& slot, std::int64_t now_ns);
  void fail(Slot& slot, Fault fault, const std::string& message, std::int64_t now_ns);
  void watch(Slot& slot);
  void drop_connection(Slot& slot, bool at_once);
  [[nodiscard]] bool may_stay_open(const Slot& slot);
  void make_space_for_starving(std::int64_t now_ns);
  [[nodiscard]] Slot& free_slot(std::uint32_t endpoint);
  [[nodiscard]] std::int64_t receive_time(std::int64_t kernel_time_ns, std::int64_t now_ns);
  void count(const RequestRecord& record);

  LoadPlan& plan_;
  RecordSpool& spool_;
  LoadOutcome outcome_;
  KeptRecords kept_;
  http::Socket epoll_;
  std::deque<Slot> slots_;
  IdleSlots idle_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::deque<Due> waiting_;
  std::vector<Timer> together_;  ///< users that wait for the others
  std::vector<epoll_event> events_;
  std::string buffer_;
  std::int64_t realtime_offset_ns_ = 0;
  std::int64_t in_flight_ = 0;
  std::int64_t begun_ = 0, heads_begun_ = 0;
  std::int64_t last_due_ns_ = 0;
  std::int64_t failures_in_a_row_ = 0;
  std::int64_t ended_ = 0, failed_ = 0;
  std::int64_t typical_wait_ns_ = 0;  ///< for the first byte of an answer: a moving average
  std::int64_t starving_ = 0;         ///< requests on new connections that wait much longer
  std::int64_t last_check_ns_ = 0;
  std::int64_t waited_ns_ = 0;
  std::size_t next_due_ = 0;
  std::vector<std::vector<std::uint32_t>> heads_;  ///< of each endpoint
  std::vector<std::size_t> next_head_;             ///< of each endpoint
  std::uint64_t serial_ = 0;
  bool stopping_ = false;
  bool precise_wait_ = true;  ///< the kernel has epoll_pwait2
};

}  // namespace warpmark::serving
