#include "serving/client/load_client.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <cerrno>
#include <utility>

#include "serving/client/load_reactor.h"

namespace warpmark::serving {
namespace {

void pin_to(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  // Where it is not allowed the thread runs anywhere, and its lag is measured all the same.
  (void)::sched_setaffinity(0, sizeof set, &set);
}

double thread_cpu_s() { return static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID)) * 1e-9; }

}  // namespace

Result<LoadOutcome> run_load(LoadPlan& plan, RecordSpool& spool) {
  WM_CHECK(!plan.requests.empty() && !plan.heads.empty() && !plan.endpoints.empty());
  // Without a limit of them: as many as one address has ports.
  const auto connections = static_cast<std::size_t>(plan.users > 0 ? plan.users : 65'000);
  const Status files = http::allow_open_files(connections + 64);
  if (!files.ok() && plan.closed) return files.error();
  pin_to(plan.cpu);
  LoadReactor reactor(plan, spool);
  WM_TRY(reactor.open());
  WM_TRY(reactor.connect_ahead());
  const double cpu_before = thread_cpu_s();
  reactor.run();
  LoadOutcome outcome = reactor.take_outcome();
  outcome.cpu_s = thread_cpu_s() - cpu_before;
  return outcome;
}

}  // namespace warpmark::serving
