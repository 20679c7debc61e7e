// Many nodes' results of the same workloads against each other: which node is slow? Pure.
//
// The values of one workload on all devices of one model, and of one command on machines of one make, are compared on
// logarithms by stats/odd_one_out.h, one-sided towards slow, with Holm's correction over all values of all workloads. A
// node is slow where that is significant and the slow-down is at least the effect that matters; it is undecided where
// the slow-down would matter but is not significant. The values' own uncertainty is the least spread that is believed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/across.h"
#include "model/run.h"

namespace warpmark::validate {

struct NodeResults {
  std::string file;
  Session session;
};

struct AcrossOptions {
  double effect = 0.03;
  double alpha = 0.05;
};

/// Usage error for fewer than two devices together, the same session twice, or nothing in common.
[[nodiscard]] Result<Across> judge_across(const std::vector<NodeResults>& nodes, const AcrossOptions& options);

}  // namespace warpmark::validate
