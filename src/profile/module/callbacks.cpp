#include "profile/module/callbacks.h"

#include "profile/module/blocked_time.h"
#include "profile/module/call_log.h"
#include "profile/module/capture.h"
#include "profile/module/recorder.h"
#include "profile/module/unix_clock.h"

namespace warpmark::profile::module {

Recorder*& current_recorder() {
  static Recorder* recorder = nullptr;
  return recorder;
}

namespace {

std::int64_t processor_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/// The call that this thread is in. Callbacks are switched on and off while calls are under way, so that either end of
/// one may be missing: what CUPTI keeps for the two ends of a call is not relied on.
struct OpenCall {
  std::int64_t start_ns = 0;
  std::uint32_t correlation = 0;
  bool runtime = false;
  bool open = false;
  bool has_stack = false;
  BlockedTime::Gap before = {};
  BlockedTime blocked = {};
};

OpenCall& open_call() {
  thread_local OpenCall call;
  return call;
}

/// The program marks its part: from the end of the one call to the beginning of the other. The runtime's calls the
/// driver's, of which one is enough.
void on_profiler_call(ProfilerCall call, bool enters, bool runtime) {
  Capture& capture = Capture::instance();
  thread_local bool in_runtime = false;
  if (runtime) in_runtime = enters;
  if (!capture.is_of_profiler_calls() || (!runtime && in_runtime)) return;
  if (call == ProfilerCall::start && !enters) capture.begins();
  if (call == ProfilerCall::stop && enters) capture.ends();
}

}  // namespace

void CUPTIAPI on_call(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (const ProfilerCall marks = profiler_call(domain, id); marks != ProfilerCall::none) {
    return on_profiler_call(marks, call.callbackSite == CUPTI_API_ENTER, runtime);
  }
  OpenCall& own = open_call();
  if (!runtime && own.open && own.runtime) return;  // the runtime launches through the driver: one of the two is enough
  if (call.callbackSite == CUPTI_API_ENTER) {
    own.start_ns = unix_ns();
    own.correlation = call.correlationId;
    own.runtime = runtime;
    own.open = true;
    if (!current_recorder()->is_logging()) own.blocked = {};  // what lies between two windows is no gap
    own.before =
        current_recorder()->is_logging() ? own.blocked.call_begins(own.start_ns, processor_ns) : BlockedTime::Gap{};
    const bool launches = is_launch(domain, id);
    if (launches) current_recorder()->launches(what_is_launched(domain, id, call), own.start_ns);
    own.has_stack = current_recorder()->stacks_of_calls().enters(launches, own.start_ns) && !launches;
  } else if (own.open && own.runtime == runtime && own.correlation == call.correlationId) {
    own.open = false;
    const std::int64_t end_ns = unix_ns();
    if (own.has_stack) current_recorder()->stacks_of_calls().leaves(end_ns);
    if (!current_recorder()->is_logging()) return;
    const BlockedTime::Gap& gap = own.before;
    current_recorder()->call_ends(
        {own.start_ns, end_ns, id, call.correlationId, runtime, gap.length_ns, gap.blocked_ns});
    own.blocked.call_ends(own.start_ns, end_ns, processor_ns);
  } else {
    own.open = false;
  }
}

}  // namespace warpmark::profile::module
