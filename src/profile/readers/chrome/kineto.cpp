#include "profile/readers/chrome/kineto_merge.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "generated/short_scan.h"
#include "profile/readers/chrome/xla_rows.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/json_text.h"
#include "profile/readers/text/padded_text.h"
#include "profile/source.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kStepBytes = 1 << 16;
constexpr std::size_t kMostHeadBytes = 256 << 20;  // before the list of events
constexpr std::size_t kMostFactBytes = 4 << 20;    // of a value that is parsed, with its lists of ranks
constexpr std::size_t kMostMetadataBytes = 600;
constexpr std::size_t kMostMetadata = 1000;  // a fact takes many times the bytes of a short text

Json parsed(std::string_view text) {
  if (text.size() > kMostFactBytes) return {};
  int depth = 0, deepest = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  if (deepest > 16) return {};
  // Control characters in a string are tolerated as elsewhere: the parser would refuse it, and first write every one of
  // them out for a message that nobody reads.
  std::string plain(text);
  std::ranges::replace_if(
      plain, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return Json::parse(plain, nullptr, /*allow_exceptions=*/false);
}

std::int64_t integer_in(const Json& object, const char* key, std::int64_t otherwise) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return otherwise;
  const Json& value = object[key];
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const double number = value.get<double>();
  return number > -9e18 && number < 9e18 ? static_cast<std::int64_t>(number) : otherwise;
}

int small_integer_in(const Json& object, const char* key, int otherwise) {
  const std::int64_t value = integer_in(object, key, otherwise);
  return value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max() ? static_cast<int>(value)
                                                                                              : otherwise;
}

void add_gpus(const Json& list, TimelineBuilder& builder) {
  if (!list.is_array()) return;
  for (const Json& device : list) {
    if (!device.is_object()) continue;
    GpuInfo gpu;
    gpu.index = small_integer_in(device, "id", 0);
    if (device.contains("name") && device["name"].is_string()) gpu.name = device["name"].get<std::string>();
    if (device.contains("uuid") && device["uuid"].is_string()) gpu.uuid = device["uuid"].get<std::string>();
    gpu.memory_bytes = integer_in(device, "totalGlobalMem", 0);
    gpu.sm_count = small_integer_in(device, "numSms", 0);
    gpu.compute_major = small_integer_in(device, "computeMajor", 0);
    gpu.compute_minor = small_integer_in(device, "computeMinor", 0);
    gpu.max_threads_per_sm = small_integer_in(device, "maxThreadsPerMultiprocessor", 0);
    builder.facts().gpus.push_back(gpu);
  }
}

void add_ranks(const Json& info, TimelineBuilder& builder) {
  builder.facts().rank = small_integer_in(info, "rank", -1);
  builder.facts().world_size = small_integer_in(info, "world_size", 0);
  if (!info.is_object()) return;
  for (const char* key : {"backend", "nccl_version"}) {
    if (info.contains(key) && info[key].is_string()) builder.add_metadata(key, info[key].get<std::string>());
  }
}

std::string_view without_quotes(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

void add_fact(std::string_view key, std::string_view value, TimelineBuilder& builder) {
  if (key == "deviceProperties") {
    add_gpus(parsed(value), builder);
  } else if (key == "distributedInfo") {
    add_ranks(parsed(value), builder);
  } else if (key == "baseTimeNanoseconds") {
    if (const auto base = parse_integer(without_quotes(value))) builder.set_clock_origin(*base);
  } else if (key == kRecordedAs) {
    builder.facts().format = decode_json_text(without_quotes(value)).text;
  } else if (key == "host_name") {
    builder.facts().host = decode_json_text(without_quotes(value)).text;
  } else if (builder.facts().metadata.size() >= kMostMetadata) {
    builder.issue("many_facts", "metadata after the first thousand entries was left out", key);
  } else if (value.size() <= kMostMetadataBytes && !value.starts_with('[') && !value.starts_with('{')) {
    builder.add_metadata(decode_json_text(key).text, decode_json_text(without_quotes(value)).text);
  }
}

/// Steps through the members of the root object, as far as its text is there.
class RootCursor {
 public:
  enum class Step {
    member,
    list,  ///< value is empty: the cursor stands behind the '[' of the events
    incomplete,
    end,
    broken,
  };

  RootCursor(const char* begin, const char* end) : p_(begin), end_(end) {}
  [[nodiscard]] const char* place() const { return p_; }
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] std::string_view value() const { return value_; }

  Step next() {
    const char* p = p_;
    for (p = skip_space(p); *p == ','; p = skip_space(p + 1)) {
    }
    if (p >= end_) return Step::incomplete;
    if (*p == '}') return Step::end;
    if (*p != '"') return Step::broken;
    const char* behind = string_end(p);
    if (behind == nullptr) return Step::incomplete;
    key_ = {p + 1, static_cast<std::size_t>(behind - p - 2)};
    p = skip_space(behind);
    if (p >= end_) return Step::incomplete;
    if (*p != ':') return Step::broken;
    p = skip_space(p + 1);
    if (p >= end_) return Step::incomplete;
    if (*p == '[' && key_ == "traceEvents") return p_ = p + 1, Step::list;
    return read_value(p);
  }

 private:
  Step read_value(const char* p) {
    const char* behind = nullptr;
    const char* stop = end_;
    if (*p == '"') {
      behind = string_end(p);
    } else if (*p == '[' || *p == '{') {
      behind = scan_.skip_nested(p + 1, end_, &stop);
    } else {
      behind = std::find_if(p, end_, [](char c) { return c == ',' || c == '}' || c == '\n'; });
      if (behind == end_) behind = nullptr;
    }
    if (behind == nullptr || behind > end_) return stop < end_ ? Step::broken : Step::incomplete;
    value_ = {p, static_cast<std::size_t>(behind - p)};
    p_ = behind;
    return Step::member;
  }

  const char* string_end(const char* p) const {
    for (p = find_special(p + 1, end_, scan_); p < end_ && *p != '"'; p = find_special(p, end_, scan_)) {
      p += *p == '\\' ? 2 : 1;
    }
    return p < end_ ? p + 1 : nullptr;
  }

  const char* p_;
  const char* const end_;
  const ScanFunctions& scan_ = scan_functions();
  std::string_view key_;
  std::string_view value_;
};

/// The place behind the '[' of the events in a head that is broken before it.
std::optional<std::size_t> find_list(std::string_view text, std::size_t from) {
  const auto key = text.find("\"traceEvents\"", from);
  if (key == std::string_view::npos) return std::nullopt;
  const auto bracket = text.find_first_not_of(" \t\r\n:", key + 13);
  if (bracket == std::string_view::npos || text[bracket] != '[') return std::nullopt;
  return bracket + 1;
}

Result<bool> read_more(ByteSource& source, PaddedText& text) {
  const std::size_t have = text.size();
  text.resize(have + std::max(kStepBytes, have));
  WM_ASSIGN(const std::size_t got, source.read({text.begin() + have, text.size() - have}));
  text.resize(have + got);
  return got > 0;
}

const Error& no_events() {
  static const Error error =
      data_error("the file holds no list of events", "was the profiler stopped before it exported?");
  return error;
}

/// Reads up to the '[' of the list of events. Returns the text read behind it; an error if there is no such list, which
/// `builder` has then the facts of nevertheless.
Result<std::string> read_kineto_head(ByteSource& source, TimelineBuilder& builder) {
  PaddedText text;
  WM_ASSIGN(bool more, read_more(source, text));
  const bool has_mark = text.view().starts_with("\xEF\xBB\xBF");
  const char* root = skip_space(text.begin() + (has_mark ? 3 : 0));
  if (*root == '[') return std::string(text.view().substr(static_cast<std::size_t>(root + 1 - text.begin())));
  auto done = static_cast<std::size_t>(root + 1 - text.begin());
  for (;;) {
    RootCursor cursor(text.begin() + std::min(done, text.size()), text.end());
    auto step = cursor.next();
    for (; step == RootCursor::Step::member; step = cursor.next()) add_fact(cursor.key(), cursor.value(), builder);
    done = static_cast<std::size_t>(cursor.place() - text.begin());
    if (step == RootCursor::Step::list) return std::string(text.view().substr(done));
    if (step == RootCursor::Step::end) return no_events();
    if (step == RootCursor::Step::broken) {
      if (const auto list = find_list(text.view(), done)) {
        builder.issue("broken_header", "the text before the events is no valid JSON: facts in it may be missing");
        return std::string(text.view().substr(*list));
      }
    }
    if (text.size() > kMostHeadBytes) return no_events();
    WM_ASSIGN(more, read_more(source, text));
    if (!more) return no_events();
  }
}

/// `text` follows the list, from its ']' on.
void read_kineto_tail(std::string_view tail, TimelineBuilder& builder) {
  const auto bracket = tail.find(']');
  if (bracket == std::string_view::npos) return;
  PaddedText text;
  text.append(tail.substr(bracket + 1));
  RootCursor cursor(text.begin(), text.end());
  while (cursor.next() == RootCursor::Step::member) add_fact(cursor.key(), cursor.value(), builder);
}

Sniff sniff_kineto(std::string_view head) {
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

Status read_kineto(ByteSource& source, const ReadOptions& options, ProfileSession& session) {
  return read_chrome_trace(source, options, session);
}

}  // namespace

const TraceReader kKinetoReader = {"kineto", "PyTorch profiler or other Chrome trace (JSON)", sniff_kineto,
                                   read_kineto};

namespace {

/// The format counts microseconds, and some of what a program calls takes few of them.
void doubt_unit(Timeline& timeline) {
  constexpr std::int64_t kLong = 1'000'000, kMany = 100;
  const EventColumns& events = timeline.events;
  std::int64_t calls = 0, operators = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool call = events.kind[i] == EventKind::runtime_api, op = events.kind[i] == EventKind::op;
    if ((call || op) && events.duration[i] < kLong) return;
    calls += call ? 1 : 0;
    operators += op ? 1 : 0;
  }
  if (std::min(calls, operators) < kMany) return;
  count_issue(timeline.quality, "slow_calls",
              "all calls and operators take more than a millisecond: are the times in nanoseconds? The format has "
              "microseconds",
              "", calls + operators);
}

}  // namespace

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
  Timeline timeline = builder.finish();
  doubt_unit(timeline);
  for (Timeline& part : split_by_rank(std::move(timeline), ranks)) session.ranks.push_back(std::move(part));
  return {};
}

}  // namespace warpmark::profile
