#include "profile/readers/chrome/xla_trace.h"

#include "profile/readers/chrome/kineto.h"
#include "profile/readers/chrome/xla_rows.h"

namespace warpmark::profile {
namespace {

/// XLA begins its list of events with the names of the processes.
Sniff sniff_xla(std::string_view head) {
  const auto list = head.find("\"traceEvents\"");
  if (list == std::string_view::npos) return {};
  constexpr std::string_view kNameRow = "\"process_name\"", kName = "\"name\"";
  for (auto row = head.find(kNameRow, list); row != std::string_view::npos; row = head.find(kNameRow, row + 1)) {
    const auto key = head.find(kName, row + kNameRow.size());
    if (key == std::string_view::npos) return {};
    const auto begin = head.find('"', key + kName.size());
    if (begin == std::string_view::npos) return {};
    const std::string_view name = head.substr(begin + 1, head.find('"', begin + 1) - begin - 1);
    if (is_xla_process(name) || is_timeline_process(name)) return {95, ""};
  }
  return {};
}

Status read_xla(ByteSource& source, const ReadOptions& options, ProfileSession& session) {
  XlaRows rows;
  return read_chrome_trace(source, options, session, &rows);
}

}  // namespace

const TraceReader kXlaTraceReader = {"xla_trace", "XLA's profiler: JAX, TensorFlow (trace.json.gz)", sniff_xla,
                                     read_xla};

}  // namespace warpmark::profile
