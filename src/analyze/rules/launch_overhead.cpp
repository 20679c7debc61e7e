// The GPU runs dry because the host cannot dispatch work as fast as the GPU finishes it: many short kernels.
#include <fmt/format.h>
#include <cstdint>
#include <iterator>
#include <span>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/evidence/evidence.h"
#include "analyze/evidence/main_thread.h"
#include "analyze/evidence/other_processes.h"
#include "analyze/names/api_calls.h"
#include "analyze/redundant/xla_kernels.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

// Steps that launch the same again and again: what a CUDA graph could hold.

constexpr double kWaitsOutsideOfAGraph = 1;  ///< of the host for the GPU, a step: reading the loss at its end

/// Tells grids and sizes apart.
std::uint32_t shape_of(const Timeline& timeline, EventIndex event) {
  const EventColumns& events = timeline.events;
  if (events.kind[event] != EventKind::kernel) return static_cast<std::uint32_t>(events.value[event]);
  const LaunchShape& shape = timeline.launch_shapes[events.detail[event]];
  return (shape.grid[0] * 31 + shape.grid[1]) * 31 + shape.grid[2];
}

/// Name and launch shape of every work of a step, ascending; `copies` counts those between host and GPU.
std::vector<std::uint64_t> works_of(const RankEvidence& rank, const StepSpan& span, double& copies) {
  const EventColumns& events = rank.timeline->events;
  const std::vector<GpuWork>& works = rank.list.works;
  std::vector<std::uint64_t> keys;
  for (auto work = std::ranges::lower_bound(works, span.start_ns, {}, &GpuWork::start);
       work != works.end() && work->start < span.end_ns; ++work) {
    copies += is_host_copy(work->category);
    keys.push_back(std::uint64_t{events.name[work->event]} << 32U | shape_of(*rank.timeline, work->event));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// But for works at the borders of a step, which the GPU may begin in the next one.
bool are_alike(const std::vector<std::uint64_t>& one, const std::vector<std::uint64_t>& other) {
  std::vector<std::uint64_t> differing;
  std::ranges::set_symmetric_difference(one, other, std::back_inserter(differing));
  return static_cast<double>(differing.size()) <= kFewest + kMatters * static_cast<double>(one.size());
}

/// Whether a CUDA graph could hold the steps: each launches the same kernels in the same shapes, and nothing between
/// them needs the host (allocations, waits for the GPU beyond the reading of a loss, copies of data). What was found to
/// repeat without annotations may be a part of the program's step (a stage of an integrator, a layer): a few kinds that
/// come again and again are the parts of a longer step that repeats.
bool repeats_exactly(const RankEvidence& rank) {
  if (rank.steps.analyzed.size() < 2) return false;
  double waits = 0;
  for (const BlockingCall& call : rank.host->blocking_calls()) {
    if (call.end < rank.steps.start() || call.start >= rank.steps.end()) continue;
    if (call.cause == HostCause::allocation) return false;
    waits += 1;
  }
  double copies = 0;
  const std::vector<std::uint64_t> first = works_of(rank, rank.steps.analyzed.front(), copies);
  for (const StepSpan& span : std::span(rank.steps.analyzed).subspan(1)) {
    if (!are_alike(first, works_of(rank, span, copies))) return false;
  }
  // Inputs and a loss stay outside of a graph.
  return waits <= kWaitsOutsideOfAGraph * rank.step_count() && copies <= kFewest * rank.step_count();
}

// Compiling removes the interpreter and the operators of what it fuses, and adds guards of its own: a quarter of
// dispatching counts as gone. An execution of an XLA program is one dispatch, whatever the program holds.
constexpr double kCompiledAway = 0.25;

// "CUDA Graphs" of the CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture".
constexpr const char* kCaptureStream =
    "cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);\n"
    "step(stream);  // launches alone: nothing in it waits or allocates\n"
    "cudaStreamEndCapture(stream, &graph);\n"
    "cudaGraphInstantiate(&executable, graph, 0);\n"
    "cudaGraphLaunch(executable, stream);  // in place of every further step";
// XLA's command buffers are CUDA graphs ("--xla_gpu_enable_command_buffer", xla/debug_options_flags.cc).
constexpr const char* kCommandBuffers =
    "os.environ['XLA_FLAGS'] = "
    "'--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUDNN,CUSTOM_CALL,WHILE'  # before import jax";
// CuPy: "cupy.cuda.Stream.begin_capture".
constexpr const char* kCaptureCupy =
    "with cupy.cuda.Stream(non_blocking=True) as stream:\n"
    "    stream.begin_capture(); step(); graph = stream.end_capture()  # after a first step: nothing may allocate\n"
    "graph.launch(stream)  # in place of every further step";
constexpr const char* kReduceOverhead = "model = torch.compile(model, mode='reduce-overhead')";
constexpr Advice capture(const char* text, const char* pytorch) {
  return {.kind = AdviceKind::code,
          .text = text,
          .native = kCaptureStream,
          .pytorch = pytorch,
          .jax = kCommandBuffers,
          .cupy = kCaptureCupy};
}
constexpr Advice kCaptureTraining = capture("",
                                            "graph = torch.cuda.CUDAGraph()\n"
                                            "with torch.cuda.graph(graph): loss = step(static_x, static_y)  "
                                            "# then graph.replay()");
constexpr Advice kCapture = capture("",
                                    "graph = torch.cuda.CUDAGraph()\n"
                                    "with torch.cuda.graph(graph): y = model(static_x)  "
                                    "# then static_x.copy_(x); graph.replay()");
constexpr Advice kCaptureStatic =
    capture("With static shapes replay the step as a CUDA graph: one launch instead of all of them.", kReduceOverhead);
constexpr Advice kCaptureTrainingByCompiler = {
    .kind = AdviceKind::code,
    .text = "Or let the compiler capture it: forward and backward pass each become a graph.",
    .pytorch = kReduceOverhead,
};
// SGLang, "Server Arguments" (--cuda-graph-max-bs); vLLM, "CompilationConfig" (cudagraph_capture_sizes).
constexpr Advice kCaptureRest = {
    .kind = AdviceKind::code,
    .text =
        "Capture in CUDA graphs what is still launched one by one: other batch sizes, or the part of the step outside "
        "of the graph.",
    .native = kCaptureStream,
    .pytorch =
        "--cuda-graph-max-bs 256  # SGLang; vLLM: --compilation-config '{\"cudagraph_capture_sizes\": [1, 2, 4, 8, "
        "..., "
        "512]}'",
};
constexpr Advice kCaptureByCompiler = {
    .kind = AdviceKind::code,
    .text = "Or let the compiler capture it.",
    .pytorch = kReduceOverhead,
};
constexpr Advice kCompile = {
    .kind = AdviceKind::code,
    .text = "Compile the model: fewer, larger kernels and less Python between them.",
    .pytorch = "model = torch.compile(model)",
    .jax = "step = jax.jit(step, donate_argnums=0)  # the whole step, not its parts",
};
constexpr Advice kLoopWithin = {
    .kind = AdviceKind::code,
    .text =
        "Put the loop into the compiled function: one execution instead of one a round (over what is independent "
        "jax.vmap).",
    .jax =
        "state = jax.lax.fori_loop(0, rounds, lambda i, state: step(state), state)  # jax.lax.scan to collect results",
};
// jax.lax: "scan" (unroll), "associative_scan".
constexpr Advice kUnroll = {
    .kind = AdviceKind::code,
    .text =
        "Unroll the loop, or go through it in parallel where rounds can be combined: each round launches its kernels "
        "again.",
    .jax = "state, y = jax.lax.scan(cell, state, x, unroll=16)  # or jax.lax.associative_scan",
};
constexpr Advice kFuseKernels = {
    .kind = AdviceKind::code,
    .text = "Launch fewer, larger kernels: one for a chain of small ones, one for many items.",
    .native =
        "for (int i = blockIdx.x; i < items; i += gridDim.x) update(item[i]);  // in one kernel, not a launch an item",
    .cupy = "y = cupy.einsum('bij,bjk->bik', a, b)  # all items in arrays with one more axis; cupy.fuse for chains",
};

struct Launches {
  double count = 0;
  double calls = 0;  ///< a graph is launched by one
  double short_kernels = 0;
  double kernel_ns = 0;
};

Launches launches_in_steps(const RankEvidence& rank) {
  Launches sum;
  EventIndex last = kNoEvent;
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work)) continue;
    sum.count += 1;
    sum.calls += work.launch == kNoEvent || work.launch != last;
    last = work.launch;
    sum.kernel_ns += static_cast<double>(work.end - work.start);
    sum.short_kernels += work.end - work.start < kDispatchNs / 2;
  }
  return sum;
}

/// Of several ranks all must. Graphs hold NCCL's collectives ("Using NCCL with CUDA Graphs", NCCL user guide), but
/// those of a backward pass that DistributedDataParallel overlaps are not captured without changes to the program.
bool repeats_exactly(const Evidence& evidence) {
  const bool alone = evidence.ranks.size() == 1;
  return std::ranges::all_of(
      evidence.ranks, [alone](const RankEvidence& rank) { return (alone || !rank.trains()) && repeats_exactly(rank); });
}

/// Executions of XLA programs a step; 0 if the program is none of JAX, or nothing tells.
double executions_a_step(const Evidence& evidence) {
  if (evidence.framework != Framework::jax) return 0;
  const RankEvidence& rank = evidence.rank();
  return count_xla_executions(*rank.timeline, rank.list, rank.steps.start(), rank.steps.end()) / rank.step_count();
}

/// Of dispatching that compiling takes away. An execution of an XLA program is one dispatch from Python, whatever the
/// program holds: compiled as one, all but one go away.
double compiled_away(const Evidence& evidence) {
  const double executions = executions_a_step(evidence);
  return executions < 2 ? kCompiledAway : 1 - 1 / executions;
}

/// Executions compiled as one need no numbers from the host between them, and pass over memory together; unless values
/// are read the host has nothing to wait for.
void compile(const Evidence& evidence, double success, Change& change) {
  const double away = compiled_away(evidence);
  drop_dispatch(away * success, change);
  if (away <= kCompiledAway) return;
  shrink_owned(evidence, Owner::memory_bandwidth, success, change);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    WhatIf& one = change.ranks[r];
    one.as_graph = success >= 0.5;
    open_columns(rank, one);
    double reads = 0;
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      const GpuWork& work = rank.list.works[i];
      reads += work.category == Category::copy_to_host && rank.in_steps(work);
      if (work.category != Category::copy_to_device || uploads(*rank.timeline, work)) continue;
      one.duration_scale[i] *= static_cast<float>(1 - success);
    }
    if (reads > kWaitsOutsideOfAGraph * rank.step_count()) continue;
    one.host_scale[static_cast<std::size_t>(HostCause::sync)] *= 1 - away * success;
    if (success >= 0.5) one.drop_wait[static_cast<std::size_t>(HostCause::sync)] = true;
  }
}

double when_compiled(const Evidence& evidence) {
  Change change(evidence);
  compile(evidence, 1.0, change);
  return speedup_of(evidence, change);
}

/// Compiled as one, and yet bound by launches: a loop within it, or what XLA puts into no graph by itself.
bool is_compiled_as_one(const Evidence& evidence) {
  const double executions = executions_a_step(evidence);
  return evidence.ranks.size() == 1 && executions > 0 && executions < 2;
}

/// A step that repeats exactly is replayed as a graph where dispatching takes most of it: else compiling, which is one
/// line, gains nearly as much.
bool graph_first(const Evidence& evidence) {
  if (evidence.attribution.without_dispatch <= 2 || compiled_away(evidence) > kCompiledAway) return false;
  return is_compiled_as_one(evidence) || repeats_exactly(evidence);
}

/// Steps that replay a graph, where most launches are of single kernels all the same; else 0.
std::int64_t steps_with_graphs(const RankEvidence& rank) {
  std::vector<std::int64_t> starts;
  double single = 0;
  EventIndex last = kNoEvent;
  for (const GpuWork& work : rank.list.works) {
    if (work.launch == kNoEvent || work.launch == last || !rank.in_steps(work)) continue;
    last = work.launch;
    if (is_graph_launch_call(rank.timeline->name_of(work.launch)))
      starts.push_back(work.start);
    else
      single += 1;
  }
  if (single < static_cast<double>(starts.size())) return 0;
  return std::ranges::count_if(rank.steps.analyzed, [&starts](const StepSpan& span) {
    const auto next = std::ranges::lower_bound(starts, span.start_ns);
    return next != starts.end() && *next < span.end_ns;
  });
}

/// The fix that the recording speaks for comes first, and its gain is the finding's.
void recommend(const Evidence& evidence, double limit, double launches, bool with_graphs, Finding& finding) {
  const Gain graph = gain_up_to(limit, "trace re-simulated without dispatch");
  const double away = compiled_away(evidence);
  const Gain compiled = gain_up_to(when_compiled(evidence),
                                   fmt::format("trace re-simulated with {} of dispatching gone", format_percent(away)));
  const bool training = evidence.rank().trains();
  const auto give = [&](const Advice& advice, const char* id, const std::optional<Gain>& gain) {
    for (Recommendation& one : advice_for(evidence, {advice})) {
      one.id = id;
      one.gain = gain;
      finding.recommendations.push_back(std::move(one));
    }
  };
  const auto fuse = [&] {
    give(evidence.compiled ? kFixGraphBreaks : kCompile, "compile", compiled);
    give(kFuseKernels, "fewer_launches", compiled);
  };
  const bool nothing_to_fuse = launches < double{kFewest};
  if (!nothing_to_fuse && with_graphs) {
    finding.gain = graph;
    give(kCaptureRest, "cuda_graph", graph);
    fuse();
  } else if (graph_first(evidence) || nothing_to_fuse) {
    finding.gain = graph;
    give(training ? kCaptureTraining : kCapture, "cuda_graph", graph);
    finding.recommendations.front().text =
        launches >= double{kFewLaunches}
            ? fmt::format(
                  "Replay the step as a CUDA graph: every recorded step launched the same, so one launch can "
                  "replace {:.0f}.",
                  launches)
            : "Launch many rounds as one CUDA graph: every recorded one launched the same.";
    const bool as_one = is_compiled_as_one(evidence) && launches >= double{kFewLaunches};
    if (as_one) {
      finding.recommendations.front().text =
          fmt::format("Let XLA launch the step as a CUDA graph, loops too: one launch in place of {:.0f}.", launches);
      give(kUnroll, "unroll", graph);
    } else if (evidence.framework == Framework::jax && launches < double{kFewLaunches}) {
      finding.recommendations.clear();
      give(kLoopWithin, "compile", graph);
    }
    if (training) give(kCaptureTrainingByCompiler, "", std::nullopt);
    if (!training) give(kCaptureByCompiler, "", std::nullopt);
    if (!as_one && !nothing_to_fuse) fuse();
  } else {
    finding.gain = compiled;
    fuse();
    give(kCaptureStatic, "static_cuda_graph", graph);
  }
  finding.recommendations.push_back({AdviceKind::config, "Give every launch more to do: a larger batch.",
                                     batch_snippet(evidence, 2, "as many launches for twice the samples")});
}

std::vector<Finding> apply_launch_overhead(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double limit = evidence.attribution.without_dispatch;
  const double lost = evidence.attribution.lost_ns(AttributedTo::launch_overhead);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  const Launches launches = launches_in_steps(rank);
  Finding finding = make_finding(kLaunchOverheadRule, lost, step,
                                 "The GPU waits " + time_text(lost) + " per step (" + format_percent(lost / step) +
                                     ") for the host to launch work");
  finding.evidence = {
      time_fact("launch_idle_per_step", "GPU idle while the host dispatches, per step", lost),
      count_fact("launches_per_step", "Launches per step", launches.count / rank.step_count()),
      time_fact("mean_work_duration", "Mean duration of a kernel or copy",
                launches.kernel_ns / std::max(1.0, launches.count)),
      share_fact("short_kernel_share", "Kernels and copies shorter than 10 µs",
                 launches.short_kernels / std::max(1.0, launches.count)),
      time_fact("host_dispatch_per_step", "Host time to dispatch a step (recording costs taken off)",
                rank.dispatch_ns()),
  };
  const std::int64_t with_graphs = steps_with_graphs(rank);
  if (with_graphs > 0) {
    finding.evidence.push_back(count_fact(
        "steps_with_graphs", fmt::format("Steps that replay a CUDA graph, of {}", rank.steps.analyzed.size()),
        static_cast<double>(with_graphs)));
  }
  if (rank.part_ns(Part::idle_profiler) > 0) {
    finding.evidence.push_back(time_fact("recording_cost_per_step",
                                         "Idle time that recording itself is estimated to cause, per step",
                                         rank.part_ns(Part::idle_profiler)));
  }
  finding.evidence.push_back(
      {fmt::format("With no dispatch at all (a CUDA graph of the whole step) about {:.1f}x faster", limit),
       "cuda_graph_limit", limit, ""});
  recommend(evidence, limit, launches.calls / rank.step_count(), with_graphs > 0, finding);
  show_main_thread(evidence, finding);
  show_other_processes(evidence, finding);
  show_idle(rank, {Part::idle_launch}, finding);
  return {finding};
}

void change_launch_overhead(const Evidence& evidence, double success, Change& change) {
  if (graph_first(evidence)) {
    drop_dispatch(success, change);
  } else {
    compile(evidence, success, change);
  }
}

}  // namespace

constinit const Rule kLaunchOverheadRule = {"launch_overhead", "launch_overhead",     "Does the GPU wait for launches?",
                                            Need::gpu_work,    apply_launch_overhead, change_launch_overhead};

}  // namespace warpmark::analyze
