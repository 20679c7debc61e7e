#include "serving/client/query_load.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "serving/client/load_clock.h"
#include "serving/records/record_spool.h"

namespace warpmark::serving {
namespace {

/// Sleeping ends late; the rest is waited for awake.
constexpr std::int64_t kAwake_ns = 200'000;

void wait_until(std::int64_t due_ns, const std::atomic<bool>* interrupted) {
  constexpr std::int64_t kNap_ns = 50'000'000;
  for (std::int64_t left = due_ns - load_now_ns(); left > 0; left = due_ns - load_now_ns()) {
    if (interrupted != nullptr && interrupted->load()) return;
    if (left > kAwake_ns) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left - kAwake_ns, kNap_ns)));
    }
  }
}

class QueryRun {
 public:
  QueryRun(const QueryPlan& plan, const std::function<Status(std::int64_t)>& infer, RecordSpool& spool)
      : plan_(plan), infer_(infer), spool_(spool), writer_(spool) {}

  Result<LoadOutcome> run() {
    outcome_.began_ns = load_now_ns();
    while (goes_on()) {
      const std::int64_t due_ns = next_due();
      const bool idle = load_now_ns() <= due_ns;
      wait_until(due_ns, plan_.interrupted);
      if (stopped()) break;
      const std::int64_t sent_ns = load_now_ns();
      if (idle) outcome_.send_lag.add(sent_ns - due_ns);
      const std::int64_t batch = due_by(sent_ns);
      if (const Status answered = infer_(batch); !answered.ok()) {
        if (stopped()) break;  // which is why it was not answered
        return answered.error();
      }
      const std::int64_t ended_ns = load_now_ns();
      for (std::int64_t i = 0; i < batch; ++i, ++queries_) keep(i == 0 ? due_ns : next_due(), sent_ns, ended_ns);
    }
    outcome_.interrupted = stopped();
    outcome_.problem = spool_.problem();
    outcome_.stopped_because = outcome_.interrupted ? "interrupted" : "all queries were answered";
    if (!outcome_.problem.empty()) outcome_.stopped_because = outcome_.problem;
    outcome_.stopped_ns = outcome_.ended_ns = load_now_ns();
    writer_.flush();
    WM_ASSIGN(outcome_.records, spool_.finish(1));
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] bool stopped() const { return plan_.interrupted != nullptr && plan_.interrupted->load(); }

  [[nodiscard]] bool goes_on() const {
    if (stopped() || spool_.failed()) return false;
    if (plan_.all_at_once > 0) return samples_ < plan_.all_at_once;
    if (!plan_.due_ns.empty()) return queries_ < static_cast<std::int64_t>(plan_.due_ns.size());
    // The last query is begun when the time is up, not before.
    const double begun_s = static_cast<double>(last_due_ns_ - outcome_.began_ns) * 1e-9;
    return queries_ < plan_.least_queries || begun_s < plan_.least_duration_s;
  }

  /// The query that is next, and those behind it that are due, too.
  [[nodiscard]] std::int64_t due_by(std::int64_t now_ns) const {
    std::int64_t batch = 1;
    const auto is_due = [&](std::int64_t query) {
      return query < std::ssize(plan_.due_ns) &&
             outcome_.began_ns + plan_.due_ns[static_cast<std::size_t>(query)] <= now_ns;
    };
    while (batch < plan_.most_batched && is_due(queries_ + batch)) ++batch;
    return batch;
  }

  std::int64_t next_due() {
    if (plan_.all_at_once > 0) return outcome_.began_ns;
    if (!plan_.due_ns.empty()) return outcome_.began_ns + plan_.due_ns[static_cast<std::size_t>(queries_)];
    return last_due_ns_ = load_now_ns();
  }

  void keep(std::int64_t due_ns, std::int64_t sent_ns, std::int64_t ended_ns) {
    RequestRecord record;
    record.intended_ns = due_ns;
    record.begun_ns = record.sent_ns = sent_ns;
    record.ended_ns = ended_ns;
    record.status = 200;
    std::int64_t count = plan_.samples_per_query;
    if (plan_.all_at_once > 0) count = std::min(count, plan_.all_at_once - samples_);
    for (std::int64_t i = 0; i < count; ++i) writer_.add(record);
    samples_ += count;
  }

  const QueryPlan& plan_;
  const std::function<Status(std::int64_t)>& infer_;
  RecordSpool& spool_;
  RecordWriter writer_;
  LoadOutcome outcome_;
  std::int64_t queries_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t last_due_ns_ = 0;
};

}  // namespace

Result<LoadOutcome> run_queries(const QueryPlan& plan, const std::function<Status(std::int64_t)>& infer) {
  WM_ASSIGN(const auto spool, RecordSpool::open(plan.records_file));
  return QueryRun(plan, infer, *spool).run();
}

}  // namespace warpmark::serving
