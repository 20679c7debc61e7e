// As nccl-tests 2.19.6 measured it out of place, in f32, with NCCL 2.28.9 on two and on four of four H200 with 18
// NVLinks each: two runs of each (docs/results/node-h200x4-2026-11-26.md).
#include "collectives/results/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace warpmark::collectives {
namespace {

constexpr double kSmallest = 64.0 * (1 << 20);  // bytes of the first column; each next one is four times as large

struct Reach {
  Collective kind;
  std::array<double, 4> two, four;  ///< 64 MiB, 256 MiB, 1 GiB, 4 GiB
};

constexpr Reach kReach[] = {
    {Collective::all_reduce, {0.671, 0.749, 0.821, 0.863}, {0.784, 0.853, 0.889, 0.908}},
    {Collective::all_gather, {0.536, 0.613, 0.671, 0.719}, {0.666, 0.767, 0.818, 0.857}},
    {Collective::reduce_scatter, {0.524, 0.596, 0.687, 0.751}, {0.674, 0.763, 0.819, 0.861}},
    {Collective::alltoall, {0.609, 0.708, 0.829, 0.845}, {0.672, 0.742, 0.843, 0.880}},
    {Collective::sendrecv, {0.681, 0.767, 0.901, 0.913}, {0.393, 0.758, 0.901, 0.912}},
    {Collective::broadcast, {0.803, 0.889, 0.910, 0.918}, {0.786, 0.875, 0.901, 0.908}},
    {Collective::reduce, {0.841, 0.905, 0.924, 0.927}, {0.804, 0.887, 0.909, 0.916}},
    {Collective::gather, {0.787, 0.882, 0.910, 0.928}, {0.910, 0.931, 0.937, 0.941}},
    {Collective::scatter, {0.774, 0.866, 0.912, 0.924}, {0.832, 0.902, 0.919, 0.928}},
};

constexpr int kMeasuredGeneration = 4;

}  // namespace

double usual_reach(Collective kind, int ranks, std::int64_t bytes) {
  const auto* found =
      std::find_if(std::begin(kReach), std::end(kReach), [&](const Reach& r) { return r.kind == kind; });
  if (found == std::end(kReach)) return 1;
  const auto& columns =
      ranks < 4 ? found->two : found->four;  // more ranks were seen to reach no less: 361 of 8, 355 of 4
  const double last = static_cast<double>(columns.size() - 1);
  const double at = std::clamp(std::log(static_cast<double>(bytes) / kSmallest) / std::log(4.0), 0.0, last);
  const auto left = static_cast<std::size_t>(std::min(std::floor(at), last - 1));
  return columns[left] + (at - static_cast<double>(left)) * (columns[left + 1] - columns[left]);
}

int nvlink_generation(int nvlink_version) {
  constexpr std::array kGenerations{0, 1, 2, 2, 3, 3, 4, 5};
  const bool known = nvlink_version >= 0 && nvlink_version < static_cast<int>(kGenerations.size());
  return known ? kGenerations[static_cast<std::size_t>(nvlink_version)] : 0;
}

bool reach_was_measured(int nvlink_version) { return nvlink_generation(nvlink_version) == kMeasuredGeneration; }

Expectation expectation_of_nvlinks(int nvlink_version, int links) {
  Expectation expectation{.fabric = nvlink_fabric(nvlink_version, links)};
  if (!(expectation.fabric > 0)) return expectation;
  if (reach_was_measured(nvlink_version)) {
    expectation.usual = true;
    expectation.source = fmt::format("what {} NVLinks usually reach", links);
    return expectation;
  }
  const int generation = nvlink_generation(nvlink_version);
  expectation.source = fmt::format("NVLink {}, {} links", generation, links);
  expectation.unjudged =
      fmt::format("what share of NVLink {} collectives usually reach was not measured; ", generation);
  return expectation;
}

}  // namespace warpmark::collectives
