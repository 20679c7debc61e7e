#include "collectives/start/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/result.h"
#include "base/units.h"
#include "collectives/results/row.h"
#include "device/cpu/memory.h"
#include "device/machine.h"

namespace warpmark::collectives {

void Progress::step(std::string doing) {
  const std::lock_guard guard(lock_);
  doing_ = std::move(doing);
  steps_.fetch_add(1);
}

std::string Progress::doing() const {
  const std::lock_guard guard(lock_);
  return doing_;
}

namespace {

constexpr std::size_t kAlign = 4096;
constexpr std::size_t kSmallestPool = 64 << 20;  // beyond most caches, so that sizes of all kinds meet the same memory

std::size_t aligned(std::int64_t bytes) { return (static_cast<std::size_t>(bytes) + kAlign - 1) / kAlign * kAlign; }

/// Calls whose result stands where their input stood.
bool destroys_input(const Call& call) {
  if (!call.in_place) return false;
  return info_of(call.kind).reduces || call.kind == Collective::alltoall || call.kind == Collective::sendrecv;
}

/// One sweep on one process.
class Sweeper {
 public:
  Sweeper(const Plan& plan, Engine& engine, Bootstrap& bootstrap, Progress& progress, const SweepEvents& events)
      : plan_(plan), engine_(engine), bootstrap_(bootstrap), progress_(progress), events_(events) {}

  Status run() {
    WM_TRY(prepare());
    for (const auto size : plan_.sizes) {
      for (const auto op : plan_.ops) WM_TRY(measure_size(size, op));
    }
    return bootstrap_.barrier();
  }

 private:
  Status prepare() {
    if (plan_.root >= engine_.ranks()) {
      return usage_error(
          fmt::format("there is no rank {} to be root: ranks are 0 to {}", plan_.root, engine_.ranks() - 1),
          "give -r a rank that is there");
    }
    progress_.step("exchanging clocks");
    WM_ASSIGN(const auto offset, bootstrap_.clock_offset_ns());
    const std::array mine{static_cast<double>(offset)};
    WM_ASSIGN(const auto offsets, bootstrap_.all_gather(mine));
    for (const double value : offsets) {
      for (int i = 0; i < engine_.local_ranks(); ++i) offsets_ns_.push_back(static_cast<std::int64_t>(value));
    }
    WM_TRY(check_support());
    progress_.step("allocating buffers");
    std::size_t largest = 0;
    for (const auto size : plan_.sizes) largest = std::max(largest, aligned(std::max<std::int64_t>(size, 1)));
    pool_ = std::max({largest, kSmallestPool, static_cast<std::size_t>(plan_.pool_bytes)});
    WM_ASSIGN(hosts_, gather_texts(bootstrap_, device::host_name()));
    WM_TRY(check_memory());
    WM_TRY(engine_.allocate(pool_));
    return announce_head(largest);
  }

  /// Before anything is measured: a sweep that cannot end should not begin.
  Status check_support() {
    for (const auto size : plan_.sizes) {
      for (const auto op : plan_.ops) {
        const Counts counts = counts_of(plan_.kind, size, plan_.type, engine_.ranks());
        WM_TRY(engine_.supports({plan_.kind, plan_.type, op, plan_.root, counts, false, plan_.graph}));
      }
    }
    return {};
  }

  /// Pages are touched where they are made, and a host without memory ends processes by its own choice.
  Status check_memory() {
    const std::size_t here = engine_.host_bytes(pool_);
    if (here == 0) return {};
    const auto processes = static_cast<std::size_t>(std::count(hosts_.begin(), hosts_.end(), device::host_name()));
    const auto state = device::read_memory("/");
    const double available = state.total_bytes > 0 ? static_cast<double>(state.available_bytes) : 1e300;
    // All ask before any allocates, and end with the same error: who waited for one that left would hide it.
    const double needed = static_cast<double>(here * std::max<std::size_t>(processes, 1));
    WM_ASSIGN(const auto all, bootstrap_.all_gather(std::array{needed, available}));
    for (std::size_t process = 0; 2 * process + 1 < all.size() && process < hosts_.size(); ++process) {
      if (all[2 * process] > all[2 * process + 1]) {
        return too_little_memory(hosts_[process], all[2 * process], all[2 * process + 1]);
      }
    }
    return {};
  }

  Error too_little_memory(const std::string& host, double needed, double available) const {
    const auto processes = std::count(hosts_.begin(), hosts_.end(), host);
    return environment_error(
        fmt::format("not enough memory on {}: {} rank{} need {}, {} are available", host, processes,
                    processes == 1 ? "" : "s", format_bytes(needed), format_bytes(available)),
        "a smaller -e, or fewer ranks a host");
  }

  Status announce_head(std::size_t largest) {
    Head head{
        .engine = engine_.id(), .version = engine_.version(), .ranks = {}, .hosts = {}, .copy_rate = 0, .notes = {}};
    progress_.step("measuring copies");
    WM_ASSIGN(const double copy, engine_.copy_rate(std::max<std::size_t>(largest, 16 << 20)));
    WM_ASSIGN(const auto rates, bootstrap_.all_gather(std::array{copy}));
    head.copy_rate = *std::min_element(rates.begin(), rates.end());
    head.ranks.resize(static_cast<std::size_t>(engine_.ranks()));
    head.hosts.resize(head.ranks.size());
    const auto local_ranks = static_cast<std::size_t>(engine_.local_ranks());
    for (std::size_t local = 0; local < local_ranks; ++local) {
      WM_ASSIGN(const auto texts, gather_texts(bootstrap_, engine_.describe(static_cast<int>(local))));
      for (std::size_t process = 0; process < texts.size(); ++process) {
        head.ranks[process * local_ranks + local] = texts[process];
        head.hosts[process * local_ranks + local] = hosts_[process];
      }
    }
    if (bootstrap_.process() == 0 && events_.head) events_.head(head);
    return {};
  }

  Status measure_size(std::int64_t size, ReduceOp op) {
    Row row{plan_.kind, plan_.type, op, info_of(plan_.kind).has_root ? plan_.root : -1, engine_.ranks(), {}, {}, {}};
    std::int64_t own_size = size;
    if (plan_.plant.fault == Fault::unequal && is_mine(plan_.plant.rank)) own_size = size * 2;
    row.counts = counts_of(plan_.kind, own_size, plan_.type, engine_.ranks());
    Call call{plan_.kind, plan_.type, op, std::max(row.root, 0), row.counts, false, plan_.graph};
    WM_TRY(agree(call, own_size));
    if (plan_.out_of_place) {
      WM_ASSIGN(row.out_of_place, measure(call));
    }
    call.in_place = true;
    if (plan_.in_place) {
      WM_ASSIGN(row.in_place, measure(call));
    }
    if (bootstrap_.process() == 0 && events_.row) events_.row(row);
    return {};
  }

  /// Ranks that were called with different sizes would wait for ever, or overwrite one another.
  Status agree(const Call& call, std::int64_t size) {
    progress_.step(fmt::format("agreeing on {} of {} bytes", info_of(call.kind).id, size));
    const std::array mine{static_cast<double>(size), static_cast<double>(call.kind), static_cast<double>(call.type),
                          static_cast<double>(call.op), static_cast<double>(call.root)};
    WM_ASSIGN(const auto all, bootstrap_.all_gather(mine));
    for (std::size_t process = 1; process * mine.size() < all.size(); ++process) {
      const std::size_t at = process * mine.size();
      if (std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(mine.size()),
                     all.begin() + static_cast<std::ptrdiff_t>(at))) {
        continue;
      }
      return data_error(fmt::format("unequal sizes: process {} was called with {:.0f} bytes, process 0 with {:.0f}",
                                    process, all[at], all[0]),
                        "every rank must run the same command");
    }
    return {};
  }

  [[nodiscard]] bool is_mine(int rank) const {
    return rank >= engine_.first_rank() && rank < engine_.first_rank() + engine_.local_ranks();
  }

  [[nodiscard]] SetLayout layout_of(const Call& call) const {
    const std::size_t stride = std::max(aligned(call.counts.bytes), kAlign);
    const auto sets = std::clamp<std::size_t>(pool_ / stride, 1, static_cast<std::size_t>(plan_.iterations));
    return {stride, static_cast<int>(sets)};
  }

  Result<Placement> measure(const Call& call) {
    const SetLayout layout = layout_of(call);
    place_ = fmt::format("{} of {} bytes, {}", info_of(call.kind).id, call.counts.bytes,
                         call.in_place ? "in place" : "out of place");
    progress_.step(place_ + ", filling the buffers");
    input_ = exact_input(call.type, info_of(call.kind).reduces, call.op, engine_.ranks());
    WM_TRY(fill(call, layout));
    WM_TRY(bootstrap_.barrier());
    WM_TRY(warm_up(call, layout));
    WM_ASSIGN(auto loops, timed(call, layout, engine_.times_each_for_free()));
    if (call.graph > 1 && destroys_input(call)) WM_TRY(replay_once(call, layout));
    WM_ASSIGN(auto wrong, check(call, layout));
    if (!engine_.times_each_for_free()) {
      WM_ASSIGN(const auto each, timed(call, layout, true));
      for (std::size_t i = 0; i < loops.size(); ++i) loops[i].each = each[i].each;
    }
    return gathered(loops, wrong, call);
  }

  /// Never as a graph: the first call connects the ranks and loads kernels, which waits for GPUs that, inside of a
  /// graph, wait for the rest of it.
  Status warm_up(const Call& call, const SetLayout& layout) {
    const int iterations = call.graph > 0 ? std::max(plan_.warmups, 1) : plan_.warmups;
    if (iterations == 0) return {};
    progress_.step(place_ + ", warm-up");
    Call plain = call;
    plain.graph = 0;
    WM_ASSIGN(const auto ignored, engine_.run(plain, layout, request(iterations, 0, false)));
    (void)ignored;
    return {};
  }

  /// Replays worked on what the one before had left: the same graph once more on fresh inputs is what can be checked.
  Status replay_once(Call call, const SetLayout& layout) {
    call.graph = 1;
    WM_ASSIGN(const auto ignored, timed(call, layout, false));
    (void)ignored;
    return {};
  }

  [[nodiscard]] LoopRequest request(int iterations, int first, bool each) const {
    LoopRequest loop{iterations, first, each, {}};
    if (plan_.plant.fault == Fault::slow && is_mine(plan_.plant.rank)) {
      loop.delay_s.assign(static_cast<std::size_t>(engine_.local_ranks()), 0);
      loop.delay_s[static_cast<std::size_t>(plan_.plant.rank - engine_.first_rank())] = plan_.plant.delay_s;
    }
    return loop;
  }

  Result<std::vector<RankLoop>> timed(const Call& call, const SetLayout& layout, bool each) {
    const int chunk = destroys_input(call) ? layout.sets : plan_.iterations;
    std::vector<RankLoop> whole(static_cast<std::size_t>(engine_.local_ranks()));
    for (int done = 0; done < plan_.iterations;) {
      const int now = std::min(chunk, plan_.iterations - done);
      WM_TRY(fill(call, layout));
      WM_TRY(bootstrap_.barrier());
      progress_.step(fmt::format("{}, iterations from {}{}", place_, done,
                                 each             ? ", each timed"
                                 : call.graph > 0 ? ", as a graph"
                                                  : ""));
      plant_death();
      WM_ASSIGN(const auto part, engine_.run(call, layout, request(now, destroys_input(call) ? 0 : done, each)));
      for (std::size_t i = 0; i < whole.size(); ++i) {
        whole[i].seconds += part[i].seconds;
        whole[i].each.insert(whole[i].each.end(), part[i].each.begin(), part[i].each.end());
      }
      done += now;
      checked_sets_ = std::min(layout.sets, now);
    }
    return whole;
  }

  void plant_death() {
    if (!is_mine(plan_.plant.rank)) return;
    if (plan_.plant.fault == Fault::dead && events_.die) events_.die(plan_.plant.rank);
    if (plan_.plant.fault == Fault::stopped && events_.stop) events_.stop(plan_.plant.rank);
  }

  /// Inputs of all sets, and outputs that no result looks like.
  Status fill(const Call& call, const SetLayout& layout) {
    for (int local = 0; local < engine_.local_ranks(); ++local) {
      const int rank = engine_.first_rank() + local;
      const std::int64_t element = static_cast<std::int64_t>(size_of(call.type));
      const bool gathers = call.kind == Collective::all_gather || call.kind == Collective::gather;
      const std::int64_t input = call.in_place && gathers ? rank * call.counts.parameter * element : 0;
      for (int set = 0; set < layout.sets; ++set) {
        const std::size_t at = static_cast<std::size_t>(set) * layout.stride_bytes;
        const std::int64_t most = std::max(call.counts.send, call.counts.receive);
        WM_TRY(engine_.poison(local, {Side::receive, at, most, call.type}));
        const Side side = call.in_place ? Side::receive : Side::send;
        WM_TRY(engine_.fill(local, {side, at + static_cast<std::size_t>(input), call.counts.send, call.type}, input_,
                            static_cast<std::uint64_t>(set), rank));
      }
    }
    return {};
  }

  /// Wrong elements of each local rank in all sets that the last timed calls wrote; -1 where nothing is checked.
  Result<std::vector<double>> check(const Call& call, const SetLayout& layout) {
    std::vector<double> wrong(static_cast<std::size_t>(engine_.local_ranks()), -1);
    if (!plan_.check || (call.in_place && !info_of(call.kind).in_place_checked)) return wrong;
    progress_.step(place_ + ", checking");
    for (int local = 0; local < engine_.local_ranks(); ++local) {
      const int rank = engine_.first_rank() + local;
      auto& count = wrong[static_cast<std::size_t>(local)];
      count = 0;
      const auto parameter = static_cast<std::uint64_t>(std::max<std::int64_t>(call.counts.parameter, 1));
      if (origin_of(call.kind, 0, parameter, rank, call.root, engine_.ranks()).untouched) continue;
      const std::int64_t offset =
          call.in_place ? engine_.in_place_result(call, rank) * static_cast<std::int64_t>(size_of(call.type)) : 0;
      for (int set = 0; set < checked_sets_; ++set) {
        const std::size_t at = static_cast<std::size_t>(set) * layout.stride_bytes + static_cast<std::size_t>(offset);
        const bool plants = plan_.plant.fault == Fault::wrong_byte && rank == plan_.plant.rank && set == 0;
        if (plants && call.counts.receive > 0) WM_TRY(engine_.corrupt(local, Side::receive, at));
        const Expected expected{call.kind, input_,         static_cast<std::uint64_t>(set), call.counts.parameter, rank,
                                call.root, tolerance(call)};
        WM_ASSIGN(const auto found,
                  engine_.count_wrong(local, {Side::receive, at, call.counts.receive, call.type}, expected));
        count += static_cast<double>(found);
      }
    }
    return wrong;
  }

  /// NCCL multiplies by the rounded reciprocal of the number of ranks before it adds: two units in the last place.
  [[nodiscard]] double tolerance(const Call& call) const {
    if (!info_of(call.kind).reduces || call.op != ReduceOp::avg) return 0;
    const int ranks = engine_.ranks();
    if ((ranks & (ranks - 1)) == 0) return 0;
    switch (call.type) {
      case DataType::f64: return 0x1p-51;
      case DataType::f32: return 0x1p-22;
      case DataType::f16: return 0x1p-9;
      case DataType::bf16: return 0x1p-6;
      default: return 0;
    }
  }

  Result<Placement> gathered(const std::vector<RankLoop>& loops, const std::vector<double>& wrong, const Call&) {
    progress_.step(place_ + ", gathering times");
    std::vector<double> mine;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      mine.push_back(wrong[i]);
      mine.push_back(loops[i].seconds);
      for (const auto& stamp : loops[i].each) {
        mine.push_back(static_cast<double>(stamp.begin_ns));
        mine.push_back(stamp.seconds);
      }
    }
    WM_ASSIGN(const auto all, bootstrap_.all_gather(mine));
    std::vector<RankLoop> every;
    std::vector<std::int64_t> wrong_of;
    const std::size_t each = loops.empty() ? 0 : loops[0].each.size();
    const std::size_t length = 2 + 2 * each;
    for (std::size_t at = 0; at + length <= all.size(); at += length) {
      wrong_of.push_back(static_cast<std::int64_t>(all[at]));
      RankLoop loop{all[at + 1], {}};
      for (std::size_t i = 0; i < each; ++i) {
        loop.each.push_back({static_cast<std::int64_t>(all[at + 2 + 2 * i]), all[at + 3 + 2 * i]});
      }
      every.push_back(std::move(loop));
    }
    Placement place = placement_of_loops(every, engine_.begins_before_end() ? std::vector<std::int64_t>() : offsets_ns_,
                                         plan_.average);
    if (!wrong_of.empty() && wrong_of[0] >= 0) {
      place.wrong = std::accumulate(wrong_of.begin(), wrong_of.end(), std::int64_t{0});
      if (*place.wrong > 0) place.wrong_ranks = wrong_of;
    }
    return place;
  }

  const Plan& plan_;
  Engine& engine_;
  Bootstrap& bootstrap_;
  Progress& progress_;
  const SweepEvents& events_;
  std::vector<std::int64_t> offsets_ns_;
  std::vector<std::string> hosts_;  ///< by process
  std::size_t pool_ = 0;
  int checked_sets_ = 0;
  ExactInput input_;
  std::string place_;
};

}  // namespace

Status run_sweep(const Plan& plan, Engine& engine, Bootstrap& bootstrap, Progress& progress,
                 const SweepEvents& events) {
  return Sweeper(plan, engine, bootstrap, progress, events).run();
}

}  // namespace warpmark::collectives
