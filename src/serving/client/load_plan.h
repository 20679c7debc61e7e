// Everything a load needs to know before it starts, and what it hands back: plain data. Bodies are ready to be sent,
// and times are decided, so that nothing is left to make while the load runs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/connection.h"
#include "serving/answers/answer_reader.h"
#include "serving/answers/record.h"
#include "serving/client/histogram.h"
#include "serving/records/request_records.h"
#include "serving/traffic/signing.h"

namespace warpmark::serving {

struct Endpoint {
  http::Address address;
  std::string host;  ///< that the certificate is for; empty for plain HTTP
};

inline constexpr std::size_t kNoSerial = std::string::npos;
inline constexpr std::uint32_t kNoNext = std::numeric_limits<std::uint32_t>::max();

struct PreparedRequest {
  std::string bytes;                  ///< head and body
  std::size_t serial_at = kNoSerial;  ///< see prompts.h
  std::size_t body_at = 0;
  std::int64_t input_tokens = 0;  ///< asked for; 0 unknown
  std::int64_t output_tokens = 0;
  std::int64_t own_tokens = -1;  ///< of its texts, as our own tokenizer counts; -1 if it did not
  std::uint32_t endpoint = 0;
  std::uint32_t next = kNoNext;  ///< the next turn of its conversation
  std::int64_t pause_ns = 0;     ///< before it: thinking, and a tool at work
  std::int64_t tool_ns = 0;      ///< of it, the tool's
  std::int32_t turn = 0;
  bool holds_answers = false;  ///< marks of conversation.h: the answers to the turns before it go there
};

/// Counting tokens, beside the load.
struct Tokenizing {
  std::int64_t tokens = 0;
  double seconds = 0;
};

/// What may be watched while the load runs. Each load thread writes its own; anybody reads.
struct LiveCounters {
  std::atomic<std::int64_t> sent{0}, completed{0}, failed{0}, in_flight{0}, events{0}, output_tokens{0},
      input_tokens{0};
  std::array<std::atomic<std::int64_t>, kFaults> faults{};  ///< by Fault
  std::array<std::atomic<std::uint32_t>, Histogram::kBuckets> ttft{}, gaps{}, e2e{};
};

struct LoadPlan {
  std::vector<Endpoint> endpoints;
  std::shared_ptr<const http::TlsContext> tls;
  std::shared_ptr<const RequestSigner> signer;  ///< null where requests are not signed
  AnswerFormat format;
  std::vector<PreparedRequest> requests;  ///< used again from the first where the load needs more
  std::vector<std::uint32_t> heads;       ///< those that begin a conversation, in order

  bool closed = true;
  std::int64_t users = 1;            ///< closed loop: how many; open loop: most requests in flight, 0 without limit
  double users_per_s = 0;            ///< closed loop: how fast they start; 0 all at once
  std::vector<std::int64_t> due_ns;  ///< open loop: after the start, ascending, one a head

  std::int64_t most_requests = 0;   ///< 0 without limit
  std::int64_t most_heads = 0;      ///< closed loop: conversations that are begun; 0 without limit
  std::int64_t least_requests = 0;  ///< the time is not up before so many were begun
  /// Closed loop: the users wait for one another, so that their requests are one query of several samples.
  bool together = false;
  bool all_at_once = false;  ///< everything is due at the start: being sent one after another is no lateness
  double duration_s = 0;     ///< 0 without limit
  double drain_s = 30;       ///< for what is under way when no more are sent
  double request_timeout_s = 600;
  double stall_timeout_s = 120;
  double connect_timeout_s = 10;
  bool keep_connections = true;
  std::int64_t connect_ahead = 0;  ///< closed loop: connections made before the start
  double max_error_rate = 0;       ///< the load ends when a greater share has failed; 0 without limit
  int cpu = -1;                    ///< the load thread runs there alone; -1 anywhere
  bool kernel_times = true;
  std::uint64_t first_serial = 0;
  std::int64_t most_gaps = 4'000'000;  ///< between tokens, that are kept (record_spool.h); 0 without limit
  std::string records_file;            ///< where records are while the load runs (RecordSpool::open)
  std::string secret;                  ///< removed from messages of errors
  std::string prompts = "unique";      ///< PromptCheck::kind
  std::uint64_t seed = 1;              ///< of prompts and arrivals
  std::string tokenizer;               ///< file of our own; empty without one
  double template_tokens = 0;          ///< that the server adds to a prompt
  double shared_tokens = 0;            ///< with which all prompts begin: the template, a shared prefix
  Tokenizing tokenizing;               ///< of the prompts

  const std::atomic<bool>* interrupted = nullptr;  ///< ends the load at once
  const std::atomic<bool>* enough = nullptr;       ///< no more requests; those under way are waited for
  LiveCounters* live = nullptr;
};

/// One of several that shared a load.
struct ClientShare {
  std::string host;
  std::int64_t requests = 0;
};

struct LoadOutcome {
  RequestRecords records;
  std::int64_t began_ns = 0;
  std::int64_t stopped_ns = 0;  ///< no request was begun after
  std::int64_t ended_ns = 0;
  std::int64_t never_sent = 0;      ///< due, but no connection was free or allowed
  std::int64_t gaps_of_one_in = 1;  ///< gaps are there of one in so many requests (record_spool.h)
  bool interrupted = false;
  bool too_many_errors = false;  ///< which ended the load
  bool everything_sent = false;  ///< of what was asked for, which ended the load; not its time
  std::string stopped_because;
  std::string problem;  ///< why no more records could be kept, which ended the load; empty else

  std::vector<ClientShare> shares;  ///< of the clients that were merged; empty for one
  bool kernel_times = false;
  Histogram send_lag;      ///< from when a request was due and could be sent to when sending began
  Histogram receive_lag;   ///< from the kernel's receive time to when we read
  Histogram server_delay;  ///< reference server only: from its send to our receive time, of every event
  Tokenizing tokenizing;   ///< of the answers
  double busy_share = 0;   ///< of the load thread's time, not waiting
  double cpu_s = 0;        ///< of the load thread
};

struct ClientReport {
  double send_lag_p50_s = 0, send_lag_p99_s = 0, send_lag_max_s = 0;
  double receive_lag_p50_s = 0, receive_lag_p99_s = 0, receive_lag_max_s = 0;
  bool kernel_times = false;
  double lag_limit_s = 1e-3;  ///< p99 of both lags may be at most this: judge_client() has the rule
  double busy_share = 0;
  double cpu_s = 0;
  std::optional<double> others_share;  ///< of the machine's CPU time, that other programs used
  bool trusted = true;
  std::vector<std::string> reasons;  ///< why it is not
  std::vector<ClientShare> shares;   ///< of several clients; empty for one
  [[nodiscard]] const char* verdict() const { return trusted ? "reliable" : "unreliable"; }
  /// Why it was late: "client", which was busy itself, or "machine", which did not run it in time; empty if reliable.
  [[nodiscard]] const char* cause() const { return trusted ? "" : busy_share > 0.5 ? "client" : "machine"; }
};

}  // namespace warpmark::serving
