#include "profile/readers/logs/nccl_log.h"

#include <algorithm>

#include "profile/readers/text/line_reader.h"

namespace warpmark::profile {
namespace {

Sniff sniff_nccl_tests(std::string_view head) {
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  if (has("# nThread ") && has("minBytes ")) return {90, ""};
  return {has("algbw") && has("busbw") && has("#") ? 80 : 0, ""};
}

Status read_nccl_tests(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  WM_ASSIGN(NcclLog log, read_nccl_log(source));
  bool has_curve = false;
  for (NcclSweep& sweep : log.sweeps) {
    const auto differs = [&sweep](const NcclDevice& one) {
      return one.name != sweep.devices.front().name || one.host != sweep.devices.front().host;
    };
    const bool alike = !sweep.devices.empty() && std::ranges::none_of(sweep.devices, differs);
    for (CollectiveResult& result : sweep.results) {
      if (alike) result.gpu = sweep.devices.front().name;
      has_curve = has_curve || (!result.in_place && result.bytes > 0);
      session.collectives.push_back(std::move(result));
    }
  }
  session.quality.insert(session.quality.end(), log.issues.begin(), log.issues.end());
  // A curve over sizes is of the results out of place: those in place alone, as of a damaged table, have none.
  if (has_curve) return {};
  return data_error("the output of nccl-tests has no row of results", "did the test run to its first size?");
}

}  // namespace

Result<NcclLog> read_nccl_log(ByteSource& source) {
  NcclLogParser parser;
  std::vector<DataQualityIssue> lines;
  WM_TRY(for_each_line(source, lines, [&](std::string_view line) { parser.add(line); }));
  NcclLog log = parser.finish();
  log.issues.insert(log.issues.end(), lines.begin(), lines.end());
  return log;
}

const TraceReader kNcclTestsReader = {"nccl_tests", "output of nccl-tests: all_reduce_perf, all_gather_perf, ...",
                                      sniff_nccl_tests, read_nccl_tests};

}  // namespace warpmark::profile
