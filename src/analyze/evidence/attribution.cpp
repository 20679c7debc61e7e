#include "analyze/evidence/attribution.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/evidence/facts.h"
#include "analyze/evidence/host_lead.h"
#include "analyze/evidence/other_processes.h"
#include "analyze/evidence/severity.h"
#include "analyze/evidence/updates.h"
#include "analyze/evidence/what_ifs.h"

namespace warpmark::analyze {

namespace {

// Why one rank came later than another to the collectives in which they met.

/// To be added to times of one rank's timeline to get the other's.
std::int64_t shift_between(const RankEvidence& from, const RankEvidence& to) {
  return from.timeline->origin_ns + from.alignment.clock_offset_ns - to.timeline->origin_ns -
         to.alignment.clock_offset_ns;
}

/// Walks through the collectives of one rank, in which it waited for others.
class Lateness {
 public:
  Lateness(const Facts& facts, std::vector<const Coverage*> busy) : facts_(facts), busy_(std::move(busy)) {}

  /// What of the waiting of rank `r` the others' later `busy` explains, ns a step. `only`: waiting for this one alone.
  [[nodiscard]] double explained_ns(std::size_t r, const RankEvidence* only) const {
    const RankEvidence& rank = facts_.ranks[r];
    double all = 0, explained = 0;
    // Until when no rank was ahead: the end of the last collective that no computing hid and after which computing went
    // on.
    std::int64_t met = rank.steps.start();
    std::int64_t ended = met;  // of the last such collective, whether or not computing went on
    for (std::size_t i = 0; i < rank.alignment.wait_until.size(); ++i) {
      const GpuWork& work = rank.list.works[i];
      if (work.category != Category::communication || !rank.in_steps(work)) continue;
      if (rank.compute.covered(ended, work.start) > 0) met = std::max(met, ended);
      const std::size_t late = evidence_index(rank.alignment.late_rank[i]);
      if (rank.alignment.wait_until[i] > work.start && late < facts_.ranks.size() && knows(r, late, met, i)) {
        const std::int64_t until = rank.alignment.wait_until[i];
        const std::int64_t wait = until - work.start - rank.compute.covered(work.start, until);
        all += static_cast<double>(wait);
        if (only == nullptr || &facts_.ranks[late] == only)
          explained += static_cast<double>(std::clamp<std::int64_t>(later(r, late, met, i), 0, wait));
      }
      if (rank.compute.covered(work.end - kLatencyNs, work.end) == 0) ended = std::max(ended, work.end);
    }
    return all > 0 ? rank.part_ns(Part::idle_waiting_for_rank) * explained / all : 0;
  }

 private:
  /// Index into Facts::ranks of RankEvidence::place.
  [[nodiscard]] std::size_t evidence_index(std::uint32_t place) const {
    const auto found = std::ranges::find(facts_.ranks, place, &RankEvidence::place);
    return static_cast<std::size_t>(found - facts_.ranks.begin());
  }

  /// On rank r's clock: when what both ranks did begins to be known.
  [[nodiscard]] std::int64_t known_from(std::size_t r, std::size_t late, std::int64_t met) const {
    return std::max(met, facts_.ranks[late].steps.start() - shift_between(facts_.ranks[r], facts_.ranks[late]));
  }

  /// What the late rank did is known of its own steps, which may begin and end later.
  [[nodiscard]] bool knows(std::size_t r, std::size_t late, std::int64_t met, std::size_t i) const {
    const RankEvidence& rank = facts_.ranks[r];
    const std::int64_t until = rank.alignment.wait_until[i] + shift_between(rank, facts_.ranks[late]);
    return rank.list.works[i].start >= known_from(r, late, met) && until <= facts_.ranks[late].steps.end();
  }

  /// How much longer the late rank was busy than rank `r` since both met until it came to work `i`.
  [[nodiscard]] std::int64_t later(std::size_t r, std::size_t late, std::int64_t met, std::size_t i) const {
    const RankEvidence& rank = facts_.ranks[r];
    const std::int64_t shift = shift_between(rank, facts_.ranks[late]);
    const std::int64_t from = known_from(r, late, met);
    return busy_[late]->covered(from + shift, rank.alignment.wait_until[i] + shift) -
           busy_[r]->covered(from, rank.list.works[i].start);
  }

  const Facts& facts_;
  std::vector<const Coverage*> busy_;  // of each rank
};

/// What of each rank's waiting for the critical one is that one's host, which loaded, or dispatched its own kernels,
/// later since both last went on together, ns a step: no communication, but data_loading, launch_overhead, optimizer or
/// the recording of that rank, and what of it is load_imbalance (attributed_host_ns). A collective that computing hides
/// holds nobody: who was late at the first of them is as late at the last, which is waited for.
std::vector<double> waiting_for_host_ns(const Facts& facts) {
  std::vector<Coverage> hosts;
  for (const RankEvidence& rank : facts.ranks) hosts.emplace_back(rank.breakdown.late_host);
  std::vector<const Coverage*> busy;
  for (const Coverage& host : hosts) busy.push_back(&host);
  const Lateness lateness(facts, std::move(busy));
  std::vector<double> waiting(facts.ranks.size());
  for (std::size_t r = 0; r < waiting.size(); ++r) {
    if (r != facts.critical) waiting[r] = lateness.explained_ns(r, &facts.rank());
  }
  return waiting;
}

/// What is lost: as computed, or what of it was given.
double settled(double lost, double given) { return lost - given > kRoundingNs ? given : lost; }

class Attributor {
 public:
  explicit Attributor(const Facts& facts) : facts_(facts), rank_(facts.rank()) {
    for (const RankEvidence& rank : facts.ranks) result_.ranks.emplace_back(rank);
  }

  Attribution run() {
    // Without the waits of launches the step is shorter by them, down to the time that the GPU works.
    result_.by_launches = std::clamp(blocked_in_launches_ns(rank_) - rank_.part_ns(Part::idle_sync), 0.0,
                                     rank_.part_ns(Part::idle_launch));
    result_.imbalance = imbalance_of(facts_, result_.by_launches);
    other_processes();
    host_alone();
    loading();
    copies();
    communication();
    waits();
    allocations();
    updates();
    kernels();
    device_copies();
    imbalance();
    dispatching();
    return std::move(result_);
  }

 private:
  Attributions& attributions() { return result_.ranks[facts_.critical]; }
  double& lost(AttributedTo by) { return result_.lost[static_cast<std::size_t>(by)]; }
  [[nodiscard]] double late_ns(std::initializer_list<Part> parts) const {
    return late_excess_ns(facts_, result_.imbalance, parts);
  }

  void loading() {
    const double rest = rank_.part_ns(Part::idle_data_loading) - late_ns({Part::idle_data_loading});
    lost(AttributedTo::data_loading) =
        attributions().attribute(AttributedTo::data_loading, {Part::idle_data_loading}, rest);
  }

  /// Idle time in which the GPU worked for others.
  void other_processes() {
    const double others = used_by_others(*facts_.session, rank_).value_or(0) * rank_.step_ns();
    attributions().attribute(AttributedTo::other_processes, {Part::idle_host_work, Part::idle_launch}, others);
  }

  /// What the host does, waits for, or is held in by itself; what only the late rank loses there is load_imbalance.
  void host_alone() {
    const auto take = [this](AttributedTo by, Part part) {
      lost(by) = attributions().attribute(
          by, {part}, std::min(attributions().left_ns(part), rank_.part_ns(part) - late_ns({part})));
    };
    take(AttributedTo::host_work, Part::idle_host_work);
    take(AttributedTo::waiting_for_input, Part::idle_waiting_for_input);
    take(AttributedTo::blocking_call, Part::idle_blocking_call);
  }

  /// Between host and GPU; those that messages to other ranks make belong to communication.
  void copies() {
    if (rank_.over_host != OverHost::nothing) return over_host();
    const bool any = std::ranges::any_of(
        rank_.list.works, [this](const GpuWork& work) { return rank_.in_steps(work) && moves_data(work); });
    const double exposed = rank_.part_ns(Part::exposed_copy_to_device) + rank_.part_ns(Part::exposed_copy_to_host);
    const double late = late_ns({Part::idle_host_transfer}) +
                        (any ? late_ns({Part::exposed_copy_to_device, Part::exposed_copy_to_host}) : 0);
    const double rest = (any ? exposed : 0) + rank_.part_ns(Part::idle_host_transfer) - late;
    lost(AttributedTo::host_transfer) =
        attributions().attribute(AttributedTo::host_transfer, kCopies, rest) + migrations();
  }

  /// Kernels that wait for pages of managed memory.
  double migrations() {
    const std::vector<double> migrating = migrating_ns(rank_);
    double all = 0;
    for (std::size_t i = 0; i < migrating.size(); ++i) all += rank_.in_steps(rank_.list.works[i]) ? migrating[i] : 0;
    return attribute_works(AttributedTo::host_transfer, all / rank_.step_count(), [&](std::size_t i) {
      const GpuWork& work = rank_.list.works[i];
      return migrating[i] / std::max(1.0, static_cast<double>(work.end - work.start));
    });
  }

  /// On the GPU and to others: those of a chain are claimed with it.
  void device_copies() {
    double all = 0, lone = 0;
    for (std::size_t i = 0; i < rank_.list.works.size(); ++i) {
      const GpuWork& work = rank_.list.works[i];
      if (work.category != Category::copy_on_device || !rank_.in_steps(work)) continue;
      all += static_cast<double>(work.end - work.start);
      if (is_lone_copy(rank_, i)) lone += static_cast<double>(work.end - work.start);
    }
    constexpr Part kPart = Part::exposed_copy_on_device;
    const double rest = all > 0 ? rank_.part_ns(kPart) * lone / all - late_ns({kPart}) : 0;
    if (severity_of(rest, rank_.undisturbed_step_ns()) < kWorthFixing) return;
    lost(AttributedTo::device_copy) = attributions().attribute(AttributedTo::device_copy, {kPart}, rest);
  }

  /// What the GPU waits for while messages travel over the host: copies, and the host's sums within the optimizer. Of
  /// the rank that the others wait for; what only that one copies is load_imbalance.
  void over_host() {
    const double optimizer = rank_.over_host == OverHost::gradients ? rank_.part_ns(Part::idle_optimizer) : 0;
    double sum = attributions().attribute(AttributedTo::multi_gpu_comm, {Part::idle_optimizer}, optimizer);
    for (const Part part : kCopies) {
      sum += attributions().attribute(AttributedTo::multi_gpu_comm, {part}, rank_.part_ns(part) - late_ns({part}));
    }
    over_host_ns_ = std::max(0.0, sum);
  }

  void waits() {
    const double rest = rank_.part_ns(Part::idle_sync) + result_.by_launches - late_ns({Part::idle_sync});
    lost(AttributedTo::cpu_gpu_sync) = attributions().attribute(AttributedTo::cpu_gpu_sync, kWaits, rest);
  }

  void allocations() {
    lost(AttributedTo::memory_allocation) = attributions().attribute(
        AttributedTo::memory_allocation, {Part::idle_allocation}, rank_.part_ns(Part::idle_allocation));
  }

  void updates() {
    const double kernels = rank_.avoidable_ns(Owner::optimizer);
    const double recorded = recorded_update_loss_ns(rank_, updates_in_steps(rank_));
    lost(AttributedTo::optimizer) = settled(
        recorded, attribute_kernels(AttributedTo::optimizer, Owner::optimizer, kernels) +
                      attributions().attribute(AttributedTo::optimizer, {Part::idle_optimizer}, recorded - kernels));
  }

  void kernels() {
    result_.precision = precision_loss_of(rank_);
    lost(AttributedTo::attention) =
        attribute_kernels(AttributedTo::attention, Owner::attention, rank_.avoidable_ns(Owner::attention));
    const PrecisionLoss& precision = result_.precision;
    lost(AttributedTo::precision) = precision.of_doubles
                                        ? attribute_doubles(precision.in_doubles_ns * (1 - kLeftInSingles))
                                        : attribute_narrowed(precision.products_ns + precision.around_ns);
    lost(AttributedTo::memory_bandwidth) = attribute_kernels(AttributedTo::memory_bandwidth, Owner::memory_bandwidth,
                                                             rank_.avoidable_ns(Owner::memory_bandwidth));
  }

  double attribute_kernels(AttributedTo by, Owner owner, double ns) {
    return attribute_works(by, ns, [this, owner](std::size_t i) {
      return rank_.attribution.owner[i] == owner ? 1.0 - static_cast<double>(rank_.attribution.share_left[i]) : 0.0;
    });
  }

  /// Products in fewer bits, and what surrounds them with half of the bytes.
  double attribute_narrowed(double ns) {
    return attribute_works(AttributedTo::precision, ns, [this](std::size_t i) {
      const Owner owner = rank_.attribution.owner[i];
      if (owner == Owner::precision) return 1.0 - static_cast<double>(rank_.attribution.share_left[i]);
      return owner == Owner::none ? 1.0 - static_cast<double>(rank_.attribution.share_left_in_16_bits[i]) : 0.0;
    });
  }

  double attribute_doubles(double ns) {
    const std::vector<bool> doubles = works_in_doubles(rank_);
    return attribute_works(AttributedTo::precision, ns, [&doubles](std::size_t i) { return doubles[i] ? 1.0 : 0.0; });
  }

  /// Of the parts that the works belong to, in proportion to `share(work)` of their time.
  template <typename Share>
  double attribute_works(AttributedTo by, double ns, Share share) {
    if (ns <= 0) return ns;
    std::array<double, kParts> avoidable{};
    double all = 0;
    for (std::size_t i = 0; i < rank_.list.works.size(); ++i) {
      const GpuWork& work = rank_.list.works[i];
      if (!rank_.in_steps(work)) continue;
      const double time = static_cast<double>(work.end - work.start) * share(i);
      avoidable[static_cast<std::size_t>(part_of(work.category))] += time;
      all += time;
    }
    double given = 0;
    for (std::size_t i = 0; i < kParts && all > 0; ++i) {
      if (avoidable[i] > 0) given += attributions().attribute(by, {static_cast<Part>(i)}, ns * avoidable[i] / all);
    }
    return settled(ns, given);
  }

  void communication() {
    const std::vector<double> for_host = waiting_for_host_ns(facts_);
    for (std::size_t r = 0; r < facts_.ranks.size(); ++r) {
      const RankEvidence& rank = facts_.ranks[r];
      const double explained = result_.imbalance.explained_ns(r);
      const double late_host = std::max(0.0, for_host[r] - result_.imbalance.attributed_host_ns());
      const double waiting = rank.part_ns(Part::idle_waiting_for_rank) - explained - late_host;
      Attributions& attributions = result_.ranks[r];
      attributions.attribute(AttributedTo::late_host, {Part::idle_waiting_for_rank}, late_host);
      const auto given = [&attributions](Part part, double ns) {
        return attributions.attribute(AttributedTo::multi_gpu_comm, {part}, ns);
      };
      const Exposed exposed{given(Part::exposed_communication, rank.part_ns(Part::exposed_communication)),
                            given(Part::idle_launch, rank.between_collectives_ns()),
                            given(Part::idle_waiting_for_rank, std::max(0.0, waiting)), over_host_ns_};
      if (exposed.all() > result_.exposed.all()) result_.exposed = exposed, result_.most_exposed = r;
    }
    lost(AttributedTo::multi_gpu_comm) = std::min(result_.exposed.all(), rank_.undisturbed_step_ns());
  }

  /// What only the late rank loses, and the rules for its causes left: they claimed what the other ranks lose, too.
  /// What the rule reports is the waiting of the others.
  void imbalance() {
    const Imbalance& imbalance = result_.imbalance;
    for (std::size_t i = 0; i < kParts; ++i) {
      const auto part = static_cast<Part>(i);
      if (part == Part::idle_sync) {
        attributions().attribute(AttributedTo::load_imbalance, kWaits, late_ns({part}));
      } else if (is_own_work(part) || part == Part::idle_data_loading || part == Part::idle_launch) {
        attributions().attribute(AttributedTo::load_imbalance, {part}, late_ns({part}));
      }
    }
    for (std::size_t r = 0; r < facts_.ranks.size(); ++r) {
      if (r != facts_.critical)
        result_.ranks[r].attribute(AttributedTo::load_imbalance, {Part::idle_waiting_for_rank},
                                   imbalance.explained_ns(r));
    }
    if (imbalance.own_ns.empty()) return;
    lost(AttributedTo::load_imbalance) =
        std::min(imbalance.explained_ns(), facts_.ranks[imbalance.latest].undisturbed_step_ns());
  }

  /// Idle time that dispatching explains: none in which the GPU worked for others. What would go without it is the
  /// finding's gain.
  void dispatching() {
    result_.without_dispatch = without_dispatch(facts_);
    const double idle = std::min(attributions().left_ns(Part::idle_launch),
                                 rank_.part_ns(Part::idle_launch) - result_.by_launches -
                                     rank_.between_collectives_ns() - late_ns({Part::idle_launch}));
    lost(AttributedTo::launch_overhead) =
        attributions().attribute(AttributedTo::launch_overhead, {Part::idle_launch}, idle);
  }

  static constexpr std::initializer_list<Part> kCopies = {Part::exposed_copy_to_device, Part::exposed_copy_to_host,
                                                          Part::idle_host_transfer};
  /// Next to waits, and where the host would be ahead without them; recording hides some of it.
  static constexpr std::initializer_list<Part> kWaits = {Part::idle_sync, Part::idle_launch, Part::idle_profiler};

  const Facts& facts_;
  const RankEvidence& rank_;  // the critical one
  double over_host_ns_ = 0;
  Attribution result_;
};

}  // namespace

Attribution attribute(const Facts& facts) { return facts.has_timeline() ? Attributor(facts).run() : Attribution(); }

}  // namespace warpmark::analyze
