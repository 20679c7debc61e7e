#include "analyze/evidence/kernel_losses.h"

#include <algorithm>

#include "analyze/evidence/severity.h"
#include "analyze/names/api_calls.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

/// Recordings of the GPU alone have no calls: then it is taken to be one of these.
bool is_launched_by_cuda_or_hip(const RankEvidence& rank) {
  const EventColumns& events = rank.timeline->events;
  bool calls = false;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_api_call(events.kind[i])) continue;
    if (is_cuda_or_hip(rank.timeline->name_of(i))) return true;
    calls = true;
  }
  return !calls;
}

/// Of other accelerators the names say nothing about the units that multiply.
bool has_tensor_cores(const RankEvidence& rank) {
  return rank.timeline->gpus.empty() ? is_launched_by_cuda_or_hip(rank) : rank.attribution.units.any;
}

}  // namespace

double math_ns(const RankEvidence& rank, MatrixMath math) {
  double sum = 0;
  for (const GpuWork& work : rank.list.works) {
    if (work.math == math && rank.in_steps(work)) sum += static_cast<double>(work.end - work.start);
  }
  return sum / rank.step_count();
}

std::vector<bool> works_in_doubles(const RankEvidence& rank) {
  const NameSet in_doubles(rank.timeline->names, is_in_doubles);
  std::vector<bool> found;
  for (const GpuWork& work : rank.list.works) {
    found.push_back(in_doubles.contains(rank.timeline->events.name[work.event]) && is_compute(work.category) &&
                    work.math == MatrixMath::none);
  }
  return found;
}

bool is_lone_copy(const RankEvidence& rank, std::size_t work) {
  return rank.list.works[work].category == Category::copy_on_device && rank.attribution.owner[work] == Owner::none;
}

std::vector<double> migrating_ns(const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  const NameSet migrations(timeline.names, names_migration);
  if (!migrations.any()) return {};
  const Coverage migrating(busy_intervals(
      rank.list, [&](const GpuWork& work) { return migrations.contains(timeline.events.name[work.event]); }));
  std::vector<double> ns;
  for (const GpuWork& work : rank.list.works) {
    ns.push_back(is_compute(work.category) ? static_cast<double>(migrating.covered(work.start, work.end)) : 0);
  }
  return ns;
}

PrecisionLoss precision_loss_of(const RankEvidence& rank) {
  PrecisionLoss loss;
  if (has_tensor_cores(rank)) {
    loss.products_ns = rank.avoidable_ns(Owner::precision);
  }
  for (std::size_t i = 0; i < rank.list.works.size() && loss.products_ns > 0; ++i) {
    const GpuWork& work = rank.list.works[i];
    if (rank.attribution.owner[i] == Owner::none && rank.in_steps(work))
      loss.around_ns += static_cast<double>(work.end - work.start) * (1 - rank.attribution.share_left_in_16_bits[i]) /
                        rank.step_count();
  }
  const std::vector<bool> doubles = works_in_doubles(rank);
  for (std::size_t i = 0; i < doubles.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    if (doubles[i] && rank.in_steps(work))
      loss.in_doubles_ns += static_cast<double>(work.end - work.start) / rank.step_count();
  }
  const double step = rank.undisturbed_step_ns();
  if (loss.in_doubles_ns < kMatters * step) loss.in_doubles_ns = 0;
  const double note = std::min(severity_of(loss.in_doubles_ns * (1 - kLeftInSingles), step), kMostOfANote);
  loss.of_doubles = loss.in_doubles_ns > 0 && (loss.products_ns <= 0 || note > severity_of(loss.products_ns, step));
  return loss;
}

}  // namespace warpmark::analyze
