#include "profile/readers/chrome/kineto.h"

#include <algorithm>
#include <utility>

#include "profile/readers/chrome/kineto_list.h"
#include "profile/readers/chrome/kineto_root.h"
#include "profile/readers/chrome/merged_ranks.h"
#include "profile/readers/chrome/xla_rows.h"

namespace warpmark::profile {
namespace {

Sniff sniff(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const auto first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  if (head[first] == '{') {
    if (has("\"traceEvents\"")) return {90, ""};
    const bool kineto = has("\"schemaVersion\"") && (has("\"deviceProperties\"") || has("\"baseTimeNanoseconds\""));
    return {kineto || has("\"displayTimeUnit\"") || has("\"distributedInfo\"") ? 60 : 0, ""};
  }
  if (head[first] == '[' && has("\"ph\"")) return {80, ""};
  return {};
}

/// Of the events to come, by the size of the file. Too many costs nothing, too few some copying.
std::size_t guess_events(const ByteSource& source) {
  constexpr std::size_t kTextPerPacked = 20, kTextPerEvent = 160, kMost = 16 << 20;
  const auto stored = static_cast<std::size_t>(std::max<std::int64_t>(source.stored_bytes(), 0));
  return std::min(kMost, stored * (source.packing().empty() ? 1 : kTextPerPacked) / kTextPerEvent);
}

/// "Trace Event Format", JSON Array Format: the list of events is all there is, and need not be closed.
Result<bool> is_bare_list(ByteSource& source) {
  WM_ASSIGN(std::string_view head, source.head(256));
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const auto first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '[';
}

Status read(ByteSource& source, const ReadOptions& options, ProfileSession& session) {
  return read_chrome_trace(source, options, session);
}

}  // namespace

const TraceReader kKinetoReader = {"kineto", "PyTorch profiler or other Chrome trace (JSON)", sniff, read};

Status read_chrome_trace(ByteSource& source, const ReadOptions& options, ProfileSession& session, XlaRows* xla) {
  TimelineBuilder builder;
  builder.reserve(guess_events(source));
  WM_ASSIGN(const bool bare, is_bare_list(source));
  std::vector<int> ranks;
  auto first = read_kineto_head(source, builder);
  if (first.ok()) {
    if (xla != nullptr) WM_TRY(read_xla_names(source, first.value(), *xla));
    KinetoMerge merge(builder, parsers_needed(options));
    WM_ASSIGN(const EventListText list, read_event_list(source, std::move(first).value(), options, merge, xla));
    merge.finish();
    if (xla != nullptr && xla->lacks_streams()) {
      builder.issue(
          "no_streams",
          "the timeline has no rows of GPU streams, only times of the host: record with RunOptions.FULL_TRACE and "
          "CUPTI");
    }
    ranks = merge.ranks();
    if (list.rest.empty() && bare) {
      builder.issue("open_list", "the list of events has no end, as the format allows");
    } else if (list.rest.empty()) {
      builder.issue("unfinished_file", "the list of events has no end: later events are missing");
    }
    read_kineto_tail(list.rest, builder);
  } else if (first.error().kind != ErrorKind::data ||
             (builder.facts().gpus.empty() && builder.facts().metadata.empty())) {
    return first.error();
  } else {
    builder.issue("no_events", first.error().what + ": only the text around it was read");
  }
  if (!source.damage().empty()) builder.issue(source.damage_id(), source.damage() + ": what comes behind is missing");
  for (Timeline& part : split_by_rank(builder.finish(), ranks)) session.ranks.push_back(std::move(part));
  return {};
}

}  // namespace warpmark::profile
