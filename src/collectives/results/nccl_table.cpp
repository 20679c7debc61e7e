#include "collectives/results/nccl_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace warpmark::collectives {
namespace {

std::string placement_columns(const Row& row, const std::optional<Placement>& place) {
  if (!place) return fmt::format("{:>8} {:>7} {:>7} {:>7}", "-", "-", "-", "-");
  const double us = place->time_s * 1e6;
  const std::string time = us >= 1e7   ? fmt::format("{:.0f}", us)
                           : us >= 1e5 ? fmt::format("{:.1f}", us)
                                       : fmt::format("{:.2f}", us);
  const std::string wrong = place->wrong ? std::to_string(*place->wrong) : "N/A";
  return fmt::format("{:>8} {:>7.2f} {:>7.2f} {:>7}", time, algorithm_bandwidth(row, *place) * 1e-9,
                     bus_bandwidth(row, *place) * 1e-9, wrong);
}

}  // namespace

std::string nccl_table_head(const Plan& plan, const Head& head) {
  std::string text = fmt::format("# warpmark collective, as nccl-tests prints it; engine: {}\n", head.version);
  text += fmt::format("# Collective test starting: {}\n", info_of(plan.kind).program);
  text += fmt::format(
      "# nThread 1 nGpus {} minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} agg iters: 1 "
      "validation: {} graph: {}\n#\n# Using devices\n",
      std::max(plan.gpus, 1), plan.sizes.front(), plan.sizes.back(),
      plan.sizes.size() > 1
          ? fmt::format("{:g}", static_cast<double>(plan.sizes[1]) / static_cast<double>(plan.sizes[0]))
          : "1",
      plan.warmups, plan.iterations, plan.check ? 1 : 0, plan.graph);
  for (std::size_t rank = 0; rank < head.ranks.size(); ++rank) {
    text += fmt::format("#  Rank {:2} Group  0 {}\n", rank, head.ranks[rank]);
  }
  text += fmt::format("#\n#{:>62}{:>35}\n", "out-of-place", "in-place");
  text += fmt::format("# {:>10} {:>13} {:>9} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7}\n", "size",
                      "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw",
                      "#wrong");
  text += fmt::format("# {:>10} {:>13} {:>9} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7}\n", "(B)",
                      "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
  return text;
}

std::string nccl_table_row(const Row& row) {
  const auto& info = info_of(row.kind);
  // nccl-tests says "sum" of sendrecv and "none" of the others that reduce nothing.
  const char* op = info.reduces || row.kind == Collective::sendrecv ? name_of(row.op) : "none";
  return fmt::format("{:>12} {:>13} {:>9} {:>7} {:>7} {} {}\n", row.counts.bytes, row.counts.parameter,
                     nccl_tests_name(row.type), op, row.root, placement_columns(row, row.out_of_place),
                     placement_columns(row, row.in_place));
}

std::string nccl_table_foot(const Plan& plan, const Sweep& sweep) {
  const auto wrong = wrong_elements(sweep);
  std::string text = fmt::format("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
  text += fmt::format("# Avg bus bandwidth    : {:g} \n#\n", average_bus_bandwidth(sweep) * 1e-9);
  if (!sweep.complete) text += "# The sweep did not come to its end.\n";
  return text + fmt::format("# Collective test concluded: {}\n#\n", info_of(plan.kind).program);
}

double average_bus_bandwidth(const Sweep& sweep) {
  double sum = 0;
  int count = 0;
  for (const auto& row : sweep.rows) {
    for (const auto* place : {&row.out_of_place, &row.in_place}) {
      if (*place) sum += bus_bandwidth(row, **place), ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

std::int64_t wrong_elements(const Sweep& sweep) {
  std::int64_t wrong = 0;
  for (const auto& row : sweep.rows) {
    for (const auto* place : {&row.out_of_place, &row.in_place}) {
      if (*place) wrong += (*place)->wrong.value_or(0);
    }
  }
  return wrong;
}

}  // namespace warpmark::collectives
