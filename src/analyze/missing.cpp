#include "analyze/cautions.h"

#include <algorithm>

#include "analyze/evidence/other_processes.h"
#include "analyze/names/recorders.h"
#include "base/units.h"

namespace warpmark::analyze {

namespace {

struct Seen {
  bool ops = false;
  bool shapes = false;
  bool syncs = false;
  bool python = false;
  bool allocations = false;
};

Seen seen_in(const Timeline& timeline) {
  Seen seen;
  const EventColumns& events = timeline.events;
  for (EventIndex i = 0; i < events.size(); ++i) {
    switch (events.kind[i]) {
      case EventKind::op:
        seen.ops = true;
        seen.shapes = seen.shapes || events.detail[i] != 0;
        break;
      case EventKind::sync_record: seen.syncs = true; break;
      case EventKind::python: seen.python = true; break;
      case EventKind::allocation: seen.allocations = true; break;
      default: break;
    }
  }
  return seen;
}

bool has_counters(const ProfileSession& session) {
  return !session.counters.empty() || std::any_of(session.ranks.begin(), session.ranks.end(),
                                                  [](const Timeline& timeline) { return !timeline.counters.empty(); });
}

/// How each recorder is told to record more.
struct Recorder {
  const char* more_steps;
  const char* syncs;
  const char* kernels;
  const char* steps;
};

/// Whether worker processes brought all recorded batches without a wait worth mentioning, but few enough that they may
/// have lain ready: starting the profiler takes seconds, in which workers fill their queues.
bool took_only_batches_that_lay_ready(const RankEvidence& rank) {
  constexpr std::size_t kMayLieReady = 16;  // of 8 workers with PyTorch's prefetch_factor of 2
  return rank.loading.brought_by_workers() && rank.loading.waits_ns.size() <= kMayLieReady &&
         rank.loading.mean_ns() < kMatters * rank.undisturbed_step_ns();
}

/// How a program marks its steps for recorders of ranges.
const char* marked_steps(Framework framework) {
  switch (framework) {
    case Framework::pytorch: return "with torch.cuda.nvtx.range('step'): loss = step(x, y)";
    case Framework::native: return "nvtxRangePushA(\"step\"); step(stream); nvtxRangePop();  // <nvtx3/nvToolsExt.h>";
    case Framework::cupy: return "with cupyx.profiler.time_range('step'): step()";
    case Framework::jax:
    case Framework::other: break;
  }
  return "with nvtx.annotate('step'): state = step(state, batch)";
}

/// Ranges of JAX and TensorFlow are no operators with shapes, and their Python functions are recorded anyway.
bool is_of_xla(const Timeline& timeline) { return timeline.format == "xla_trace"; }

Recorder recorder_of(const Timeline& timeline, Framework framework) {
  constexpr const char* kNcu = "ncu --csv --page raw --print-units base --launch-count 200 <command> > kernels.csv";
  if (is_of_nsight(timeline.format)) {
    return {"nsys profile --duration 30 <command>", "nsys profile --trace cuda,nvtx,osrt <command>", kNcu,
            marked_steps(framework)};
  }
  if (is_of_xla(timeline) && framework == Framework::jax) {
    return {"with jax.profiler.trace('trace'): train(steps=20)", "warpmark profile --waits -- <command>",
            "warpmark profile --ncu 5 -- <command>",
            "with jax.profiler.StepTraceAnnotation('train', step_num=i): state = step(state, batch)"};
  }
  if (timeline.format == "warpmark" || framework != Framework::pytorch) {
    return {"warpmark profile --steps 20 -- <command>", "warpmark profile --waits -- <command>",
            "warpmark profile --ncu 5 -- <command>", marked_steps(framework)};
  }
  return {"schedule(wait=1, warmup=2, active=6)",
          "profile(experimental_config=torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True))", kNcu,
          "prof.step()  # after every iteration"};
}

}  // namespace

std::vector<MissingData> missing_data(const Evidence& evidence) {
  std::vector<MissingData> missing;
  const auto add = [&missing](const char* name, const std::string& why, std::string how) {
    missing.push_back({name, why.empty() ? name : std::string(name) + ": " + why, std::move(how)});
  };
  const ProfileSession& session = *evidence.session;
  Recorder recorder = recorder_of({}, evidence.framework);
  if (!evidence.has_timeline() && loss_of(session) != Loss::none) {
    add("the whole file, of which a part is missing", "",
        "copy it again; if it is no longer elsewhere, record it again");
  } else if (!evidence.has_timeline()) {
    add("a timeline with GPU work, on a machine with a GPU", "steps, idle time and their causes",
        "warpmark profile -- <command>");
  } else {
    recorder = recorder_of(*evidence.rank().timeline, evidence.framework);
    const RankEvidence& rank = evidence.rank();
    const Seen seen = seen_in(*rank.timeline);
    if (!rank.replay.knows_host()) {
      add("API calls with correlation ids", "why the GPU idles", "warpmark profile -- <command>");
    }
    if (const auto others = used_by_others(session, rank)) {
      add("the program alone",
          "other processes used the GPU for " + format_percent(*others) +
              " of the steps, and part of the idle time is theirs",
          "nvidia-smi pmon -c 1");
    }
    if (!rank.steps.repeating) {
      add("steps", "start-up is counted as if it were steady work", recorder.steps);
    }
    if (took_only_batches_that_lay_ready(rank)) {
      add("steps after the loader's queue ran empty",
          "these took batches that its workers had ready when the "
          "profiler began",
          "schedule(wait=1, warmup=20, active=20)");
    } else if (rank.steps.analyzed.size() < kFewest) {
      add("more steps", "how much one differs from the next", recorder.more_steps);
    }
    const bool has_operators = seen.ops && !is_of_xla(*rank.timeline);
    if (has_operators && !seen.shapes) {
      add("shapes of operators' inputs", "attention is recognized by the order of kernels",
          "profile(record_shapes=True)");
    }
    if (!seen.syncs) {
      add("synchronization records", "waits between streams, the critical path", recorder.syncs);
    }
    if (has_operators && !seen.python) {
      add("Python stacks", "the line of code that waits or launches", "profile(with_stack=True)");
    }
    if (world_size(session) > static_cast<int>(session.ranks.size())) {
      add("the profiles of the other ranks", "waiting for a rank looks like communication",
          "record one file a rank, and give them all: warpmark analyze rank*.json.gz");
    }
  }
  if (session.kernels.empty()) {
    add("kernel metrics", "occupancy, divergence, coalescing, rooflines of single kernels", recorder.kernels);
  }
  if (!has_counters(session)) {
    add("GPU counters", "clocks, power, temperature, PCIe rates", "nvidia-smi dmon -o DT -s pucvmet > gpu.txt");
  }
  return missing;
}

}  // namespace warpmark::analyze
