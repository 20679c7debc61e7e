#include "collectives/results/nvlink_expectation.h"

#include <fmt/format.h>

#include "collectives/results/usual_reach.h"

namespace warpmark::collectives {

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
