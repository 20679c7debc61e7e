// The GPU idles while the host does, waits for, or is held in something that no launch is part of: readers of three
// parts of the breakdown, which names what the host did.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analyze/names/api_calls.h"
#include "analyze/names/host_work_kinds.h"
#include "analyze/recommendations/source_lines.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr Advice kRunAhead = {
    .kind = AdviceKind::code,
    .text =
        "Take it off the path to the next launch: prepare the next step on another thread or process while the GPU "
        "works on this one, or compute it on the GPU.",
    .native =
        "auto next = std::async(std::launch::async, prepare, i + 1);  // next.get() before the launches of step i + 1",
    .pytorch =
        "pool = concurrent.futures.ProcessPoolExecutor(1); next_inputs = pool.submit(prepare, i + 1)  "
        "# next_inputs.result() before step i + 1",
    .jax =
        "pool = concurrent.futures.ProcessPoolExecutor(1); next_inputs = pool.submit(prepare, i + 1)  "
        "# next_inputs.result() before step i + 1",
};
// PyTorch's and JAX's documented ways to see why they compile again.
constexpr Advice kCompileOnce = {
    .kind = AdviceKind::command,
    .text =
        "Compile before the steps that count: see why it compiles again, and keep shapes and types the same, or mark "
        "sizes that change as dynamic.",
    .native = "keep compiled modules, by their source and options",
    .pytorch = "TORCH_LOGS=recompiles <command>",
    .jax = "JAX_LOG_COMPILES=1 <command>",
};
constexpr const char* kSeldom = "gc.freeze(); gc.set_threshold(100_000, 50, 50)  # after the model was made";
constexpr Advice kCollectSeldom = {
    .kind = AdviceKind::code,
    .text = "Collect garbage less often, and leave calls of gc.collect() out of the step.",
    .native = kSeldom,
    .pytorch = kSeldom,
    .jax = kSeldom,
};
constexpr Advice kDoNotSleep = {
    .kind = AdviceKind::code,
    .text = "Leave the sleep out, or wait for what it waits for: an event, a condition or a queue.",
    .native = "condition.wait(lock, [&] { return ready; });",
    .pytorch = "event.wait()  # in place of time.sleep(...) in a loop",
    .jax = "event.wait()  # in place of time.sleep(...) in a loop",
};
constexpr Advice kWriteInBackground = {
    .kind = AdviceKind::code,
    .text = "Write on another thread, and less often: logs every N steps, checkpoints from a copy of the state.",
    .native = "auto written = std::async(std::launch::async, write, copy_of(state));",
    .pytorch = "torch.distributed.checkpoint.async_save(state, checkpoint_id=path)  # logs: if step % 50 == 0",
    .jax = "orbax.checkpoint.AsyncCheckpointer(...).save(path, state)  # logs: if step % 50 == 0",
};
constexpr const char* kLockReport = "perf lock record -- <command> && perf lock report";
constexpr Advice kShareNoLock = {
    .kind = AdviceKind::command,
    .text = "Hold the lock for less long: see which thread has it while the one that launches waits for it.",
    .native = kLockReport,
    .pytorch = kLockReport,
    .jax = kLockReport,
};

const Advice& advice_for(HostWorkKind kind) {
  switch (kind) {
    case HostWorkKind::compiling: return kCompileOnce;
    case HostWorkKind::collecting_garbage: return kCollectSeldom;
    case HostWorkKind::sleeping: return kDoNotSleep;
    case HostWorkKind::writing: return kWriteInBackground;
    case HostWorkKind::locking: return kShareNoLock;
    case HostWorkKind::other: break;
  }
  return kRunAhead;
}

constexpr Advice kProfileHost = {
    .kind = AdviceKind::command,
    .text = "See which functions take the time.",
    .native = "perf record -g -- <command>",
    .pytorch = "py-spy record --gil -o host.svg -- <command>",
    .jax = "py-spy record --gil -o host.svg -- <command>",
};
constexpr Advice kMoreRequests = {
    .kind = AdviceKind::command,
    .text =
        "The GPU has nothing to do: send more requests at once, or serve them with fewer GPUs. In a program that feeds "
        "itself, see what the thread that launches waits for.",
    .native = "gdb -p $(pidof PROGRAM) -batch -ex 'thread apply all bt'",
    .pytorch = kPythonStacks,
    .jax = kPythonStacks,
};
constexpr Advice kFindBlockedCall = {
    .kind = AdviceKind::measure,
    .text =
        "The call lasted longer than the GPU work that was recorded: either work is missing from the recording, or the "
        "driver held the call (pageable memory, another process on the GPU, a lock). Record it with stacks.",
    .native = "nsys profile --trace=cuda,osrt --sample=process-tree --cudabacktrace=all <command>",
    .pytorch = "nsys profile --trace=cuda,osrt,nvtx --python-backtrace=cuda <command>",
    .jax = "nsys profile --trace=cuda,osrt,nvtx --python-backtrace=cuda <command>",
};

// CUDA C++ Programming Guide, "Lazy Loading": the first launch of a kernel loads its code.
constexpr const char* kLoadEarly = "CUDA_MODULE_LOADING=EAGER <command>";
constexpr Advice kWarmUp = {
    .kind = AdviceKind::environment,
    .text =
        "Run some steps before those that you record, or load all code at the start: the first launch or allocation "
        "takes so long once, while the driver loads code, compiles it, or creates its context.",
    .native = kLoadEarly,
    .pytorch = kLoadEarly,
    .jax = kLoadEarly,
};

struct Reader {
  const Rule& rule;
  AttributedTo by;
  Part part;
  const char* does;       ///< "The GPU waits 6.1 ms per step (61 %) while the host {} ..."
  const char* otherwise;  ///< what it does where no name was recorded
};

Finding read(const Reader& reader, const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double lost = evidence.attribution.lost_ns(reader.by);
  const double step = rank.undisturbed_step_ns();
  const std::vector<Doing> doings = doings_in(rank, reader.part);
  std::string first = doings.empty() ? "" : doings.front().name;
  if (first.empty()) first = main_line(rank, reader.rule.id);
  const std::string what = first.empty()             ? std::string(reader.otherwise)
                           : first == kBlockedThread ? std::string("is asleep, or waits for input or another thread")
                                                     : fmt::format("{} {}", reader.does, first);
  Finding finding = make_finding(reader.rule, lost, step,
                                 fmt::format("The GPU waits {} per step ({}) while the host {}", time_text(lost),
                                             format_percent(lost / step), what));
  for (std::size_t i = 0; i < std::min(kShown, doings.size()); ++i) {
    const std::string name = doings[i].name.empty() ? "Not recorded" : doings[i].name;
    finding.evidence.push_back(
        time_fact(i == 0 ? "host_time_per_step" : "", "GPU idle per step: " + name, doings[i].ns));
  }
  show_idle(rank, {reader.part}, finding);
  return finding;
}

std::vector<Finding> host_work(const Evidence& evidence) {
  if (evidence.attribution.lost_ns(AttributedTo::host_work) <= 0) return {};
  Finding finding = read(
      {kHostWorkRule, AttributedTo::host_work, Part::idle_host_work, "runs", "does something that was not recorded"},
      evidence);
  const std::vector<Doing> doings = doings_in(evidence.rank(), Part::idle_host_work);
  if (!doings.empty() && doings.front().name.empty()) {
    finding.gain = {.method = "what the host did was not recorded", .unknown = true};
    advise(evidence, {kProfileHost}, finding);
  } else {
    const auto kind = doings.empty() ? HostWorkKind::other : kind_of_host_work(doings.front().name);
    advise(evidence, {advice_for(kind), kProfileHost}, finding);
  }
  show_main_thread(evidence, finding);
  return {finding};
}

std::vector<Finding> waiting_for_input(const Evidence& evidence) {
  if (evidence.attribution.lost_ns(AttributedTo::waiting_for_input) <= 0) return {};
  Finding finding = read({kWaitingForInputRule, AttributedTo::waiting_for_input, Part::idle_waiting_for_input,
                          "waits for input or requests in", "waits for input or requests"},
                         evidence);
  advise(evidence, {kMoreRequests, kProfileHost}, finding);
  show_main_thread(evidence, finding);
  return {finding};
}

std::vector<Finding> blocking_call(const Evidence& evidence) {
  if (evidence.attribution.lost_ns(AttributedTo::blocking_call) <= 0) return {};
  Finding finding = read({kBlockingCallRule, AttributedTo::blocking_call, Part::idle_blocking_call, "is inside",
                          "is inside a call of the GPU's API"},
                         evidence);
  const std::vector<Doing> doings = doings_in(evidence.rank(), Part::idle_blocking_call);
  const std::string_view call = doings.empty() ? std::string_view() : std::string_view(doings.front().name);
  const bool waits = is_copy_call(call) || is_sync_call(call);
  if (waits) finding.gain = {.method = "what the call waited for was not recorded", .unknown = true};
  advise(evidence, {waits ? kFindBlockedCall : kWarmUp}, finding);
  return {finding};
}

void scale_host(HostCause cause, double success, Change& change) {
  for (WhatIf& one : change.ranks) one.host_scale[static_cast<std::size_t>(cause)] *= 1 - success;
}

void drop_work(const Evidence&, double success, Change& change) { scale_host(HostCause::work, success, change); }
void drop_input(const Evidence&, double success, Change& change) { scale_host(HostCause::input, success, change); }

void drop_nothing(const Evidence&, double, Change&) {}

}  // namespace

constinit const Rule kHostWorkRule = {"host_work",
                                      "host_work",
                                      "Does the GPU wait for computation on the host?",
                                      Need::gpu_work,
                                      host_work,
                                      drop_work,
                                      without<AttributedTo::host_work>};
constinit const Rule kWaitingForInputRule = {"waiting_for_input",
                                             "host_work",
                                             "Does the GPU wait for requests or another thread?",
                                             Need::gpu_work,
                                             waiting_for_input,
                                             drop_input,
                                             without<AttributedTo::waiting_for_input>};
constinit const Rule kBlockingCallRule = {"blocking_call",
                                          "cpu_gpu_sync",
                                          "Do calls last longer than the work that they wait for?",
                                          Need::gpu_work,
                                          blocking_call,
                                          drop_nothing,
                                          without<AttributedTo::blocking_call>};

}  // namespace warpmark::analyze
