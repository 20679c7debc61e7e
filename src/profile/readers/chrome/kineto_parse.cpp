#include "profile/readers/chrome/kineto_parse.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "base/text.h"
#include "generated/short_scan.h"
#include "profile/readers/chrome/xla_rows.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/key_table.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kMostTableBytes = 8 << 20;    // of a thread's names; beyond, it starts afresh
constexpr std::size_t kMostRepairBytes = 64 << 10;  // of one event that is no JSON

void count_flaw(EventBatch& batch, Flaw flaw, std::string_view example) {
  const auto i = static_cast<std::size_t>(flaw);
  if (batch.flaws[i]++ == 0) batch.examples[i] = example.substr(0, 200);
}

/// Microseconds as text to nanoseconds.
std::optional<std::int64_t> nanoseconds(std::string_view us) {
  std::size_t i = 0;
  std::int64_t value = 0;
  for (; i < us.size() && i < 15 && is_digit(us[i]); ++i) value = value * 10 + (us[i] - '0');
  int decimals = 0;
  if (i > 0 && i < us.size() && us[i] == '.') {
    for (++i; i < us.size() && decimals < 3 && is_digit(us[i]); ++i, ++decimals) value = value * 10 + (us[i] - '0');
  }
  if (i != us.size() || i == 0) return parse_shifted_decimal(us, 3);
  constexpr std::array<std::int64_t, 4> kMissing{1000, 100, 10, 1};
  return value * kMissing[static_cast<std::size_t>(decimals)];
}

}  // namespace

KinetoParser::KinetoParser(const ScanFunctions& scan, const XlaRows* xla) : scan_(scan), xla_(xla) {}

BlockStop KinetoParser::parse(const char* begin, const char* end, Ending ending, EventBatch& batch) {
  restart_if_large(batch);
  const bool final = ending == Ending::final;
  // How far a failed attempt has looked ahead: not to be scanned at speed again.
  const char* careful_until = ending == Ending::too_long ? end : begin;
  const char* p = begin;
  BlockStop stop{BlockStop::Why::end, end};
  for (;;) {
    p = skip_space(p);
    if (p >= end) break;
    if (*p == ',') {
      ++p;
    } else if (*p == ']') {
      if (p >= careful_until || next_event(p, end) == nullptr) {
        stop = {BlockStop::Why::end_of_list, p};
        break;
      }
      ++p;  // a bracket left over from a broken event
    } else if (*p == '{') {
      const char* next = nullptr;
      if (p >= careful_until) {
        EventFields fields;
        next = read_fields(p, end, scan_, fields, &careful_until);
        if (next != nullptr) {
          record(fields, batch);
        } else if (careful_until >= end && !final) {
          stop = {BlockStop::Why::incomplete, p};
          break;
        }
      }
      if (next == nullptr) next = parse_carefully(p, end, final, batch);
      if (next == nullptr && ending == Ending::too_long && batch.rows == 0) {
        count_flaw(batch, Flaw::unreadable, {p, static_cast<std::size_t>(end - p)});
        break;
      }
      if (next == nullptr) {
        stop = {BlockStop::Why::incomplete, p};
        break;
      }
      p = next;
    } else {
      count_flaw(batch, Flaw::unreadable, {p, static_cast<std::size_t>(end - p)});
      p = next_event(p, end);
      if (p == nullptr) break;
    }
  }
  texts_.drain(batch.new_texts);
  return stop;
}

/// One event that could not be read, or follows one: only the text up to the next event is looked at. Returns behind
/// it; nullptr if the block has no next event to tell where this one must end.
const char* KinetoParser::parse_carefully(const char* p, const char* end, bool final, EventBatch& batch) {
  const char* next = next_event(p, end);
  if (next == nullptr && !final) return nullptr;
  const bool last = next == nullptr;
  if (last) next = end;
  const std::size_t size = static_cast<std::size_t>(next - p);
  scratch_.assign(p, size);
  scratch_.append(kScanPadding, kScanSentinel);
  const char* stop = nullptr;
  EventFields fields;
  const char* text_end = scratch_.data() + size;
  if (const char* behind = read_fields(scratch_.data(), text_end, scan_, fields, &stop)) {
    record(fields, batch);
    return p + (behind - scratch_.data());
  }
  if (last && stop >= text_end) {
    ++batch.rows;
    count_flaw(batch, Flaw::truncated, {p, size});
    return next;
  }
  fields = size <= kMostRepairBytes ? repair_fields({scratch_.data(), size}, scan_) : EventFields();
  const bool usable = !fields.phase.empty() && (!fields.ts.empty() || fields.phase == "M");
  count_flaw(batch, usable ? Flaw::malformed : Flaw::unreadable, {p, size});
  if (usable) {
    record(fields, batch);
  } else {
    ++batch.rows;
  }
  return next;
}

void KinetoParser::record(const EventFields& fields, EventBatch& batch) {
  ++batch.rows;
  if (xla_ == nullptr && !fields.process.is_text()) return record_phase(fields, batch);
  EventFields meant = fields;
  if (xla_ == nullptr) {
    name_rows_of_autograd(meant);
    record_phase(meant, batch);
  } else if (xla_->translate(meant, xla_name_)) {
    record_phase(meant, batch);
  }
}

void KinetoParser::record_phase(const EventFields& fields, EventBatch& batch) {
  const char phase = fields.phase.empty() ? 'X' : fields.phase[0];
  switch (phase) {
    case 'B':
    case 'E': record_bracket(fields, phase == 'B', batch); break;
    case 'X':
    case 'i':
    case 'I':
    case 'R':
    case 'n': record_event(fields, batch); break;
    case 's':
    case 't':
    case 'f': record_flow(fields, batch); break;
    case 'M': record_metadata(fields, batch); break;
    case 'C': record_counter(fields, batch); break;
    default: count_flaw(batch, Flaw::other_phase, fields.name); break;
  }
}

void KinetoParser::record_event(const EventFields& fields, EventBatch& batch) {
  const EventKind kind = kind_of(fields);
  if (is_profiler_row(fields)) return count_flaw(batch, Flaw::profiler_row, fields.name);
  RawEvent event;
  if (!read_times(fields, event, batch)) return;
  const EventArgs& args = fields.args;
  if (args.odd) count_flaw(batch, Flaw::odd_argument, fields.name);
  if (kind == EventKind::other && !fields.category.empty()) note_category(fields.category, batch);
  event.kind = kind;
  event.name = texts_.intern(fields.name);
  event.track = track_of(fields, kind, batch);
  event.correlation = id_of(args.correlation, fields, batch);
  event.link = id_of(args.external_id, fields, batch);
  if (kind == EventKind::kernel) {
    event.detail = shape_of(args.shape, batch);
  } else if (kind == EventKind::op) {
    if (args.input_dims.size() > 2) event.detail = texts_.intern(on_one_line(args.input_dims)) + 1;
  } else if (kind == EventKind::memcpy) {
    event.value = args.bytes;
    event.detail = copy_detail_of(fields.name);
  } else if (kind == EventKind::memset) {
    event.value = args.bytes;
  } else if (kind == EventKind::sync_record) {
    event.value = args.wait_stream;
    event.detail = sync_detail_of(args.sync_kind);
  } else if (kind == EventKind::allocation) {
    record_memory(fields, event, batch);
  }
  if (args.value != INT64_MIN) event.value = args.value;
  if (args.detail != INT64_MIN && kind != EventKind::kernel && kind != EventKind::op) {
    event.detail = static_cast<std::uint32_t>(args.detail & 0xFFFFFFFF);
  }
  if (!args.collective.empty()) {
    batch.collectives.push_back({static_cast<std::uint32_t>(batch.events.size()), texts_.intern(args.collective),
                                 texts_.intern(args.data_type), texts_.intern(args.group), args.in_elements,
                                 args.out_elements, args.group_size, args.sequence});
  }
  batch.events.push_back(event);
}

/// What begins becomes an event whose duration the merge fills in.
void KinetoParser::record_bracket(const EventFields& fields, bool begins, EventBatch& batch) {
  RawEvent times;
  if (begins) {
    const std::size_t before = batch.events.size();
    record_event(fields, batch);
    if (batch.events.size() == before) return;
    times = batch.events.back();
    batch.events.back().duration = 0;
  } else if (!read_times(fields, times, batch)) {
    return;
  }
  batch.brackets.push_back({fields.process.number, fields.thread.number, times.start,
                            begins ? static_cast<std::uint32_t>(batch.events.size() - 1) : kEndBracket});
}

/// Lists that were written over several lines, as writers that indent do.
std::string_view KinetoParser::on_one_line(std::string_view list) {
  if (list.find_first_of("\n\r\t") == std::string_view::npos) return list;
  one_line_.clear();
  for (const char c : list) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    one_line_ += c;
    if (c == ',') one_line_ += ' ';
  }
  return one_line_;
}

bool KinetoParser::read_times(const EventFields& fields, RawEvent& event, EventBatch& batch) {
  if (fields.ts.empty()) return count_flaw(batch, Flaw::no_time, fields.name), false;
  const auto start = nanoseconds(fields.ts);
  if (!start) return count_flaw(batch, Flaw::not_a_number, fields.name), false;
  event.start = *start;
  if (fields.dur.empty()) return true;
  const auto duration = nanoseconds(fields.dur);
  if (!duration) count_flaw(batch, Flaw::not_a_number, fields.name);
  event.duration = duration.value_or(0);
  const bool lasts = fields.phase.empty() || fields.phase[0] == 'X';
  if (lasts && event.start == 0 && event.duration <= 0) return count_flaw(batch, Flaw::no_time, fields.name), false;
  return true;
}

void KinetoParser::record_memory(const EventFields& fields, RawEvent& event, EventBatch& batch) {
  const EventArgs& args = fields.args;
  event.value = args.bytes;
  event.detail = args.device_type != 0 ? 1 : 0;
  if (args.device_type == 0) return;
  const auto add = [&](std::string_view name, std::int64_t bytes) {
    if (bytes < 0) return;
    batch.counters.push_back({texts_.intern(name), texts_.intern("B"), static_cast<int>(args.device_id & 0xFFFF),
                              event.start, static_cast<double>(bytes), true});
  };
  add("memory_allocated", args.total_allocated);
  add("memory_reserved", args.total_reserved);
}

/// {"name": "SM active", "args": {"0": 12.5}}: one series for each argument. Our own writer puts the unit into the
/// category, the GPU into the id and null for what was not measured.
void KinetoParser::record_counter(const EventFields& fields, EventBatch& batch) {
  RawEvent event;
  if (!read_times(fields, event, batch)) return;
  constexpr std::string_view kOurs = "counter:";
  const bool ours = fields.category.starts_with(kOurs);
  const std::uint32_t unit = texts_.intern(ours ? fields.category.substr(kOurs.size()) : std::string_view());
  const int device = static_cast<int>(std::clamp<std::int64_t>(parse_integer(fields.id).value_or(-1), -1, 0xFFFF));
  std::string_view left = fields.args_text;
  while (true) {
    const auto colon = left.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = trim_key(left.substr(0, colon));
    left.remove_prefix(colon + 1);
    const auto end = std::min(left.find_first_of(",}"), left.size());
    auto value = parse_number(trim_key(left.substr(0, end)));
    if (ours && !value) value = std::numeric_limits<double>::quiet_NaN();
    left.remove_prefix(end);
    const std::string name = std::string(fields.name) + (ours || key == fields.name ? "" : "." + std::string(key));
    if (value) batch.counters.push_back({texts_.intern(name), unit, device, event.start, *value, false});
  }
}

void KinetoParser::record_metadata(const EventFields& fields, EventBatch& batch) {
  if (fields.name != "thread_name" || fields.args.name.empty()) return;
  if (fields.process.is_text() || fields.thread.is_text()) return;
  RawTrackName row{fields.process.number, fields.thread.number, std::string(fields.args.name.substr(0, 200)), {}};
  if (fields.args.track_kind == "stream") row.kind = TrackKind::gpu_stream;
  if (fields.args.track_kind == "thread") row.kind = TrackKind::cpu_thread;
  batch.track_names.push_back(std::move(row));
}

void KinetoParser::record_flow(const EventFields& fields, EventBatch& batch) {
  if (fields.phase[0] == 't') return;
  const auto number = parse_integer(fields.id);
  const std::uint64_t id = number ? static_cast<std::uint64_t>(*number) : std::hash<std::string_view>()(fields.id);
  const std::uint64_t is_gpu = fields.category == "ac2g" ? 2 : 0;
  batch.flows.push_back(id << 2 | is_gpu | (fields.phase[0] == 'f' ? 1U : 0U));
}

std::uint32_t KinetoParser::id_of(std::int64_t id, const EventFields& fields, EventBatch& batch) {
  if (id <= 0) return 0;
  if (id > UINT32_MAX) count_flaw(batch, Flaw::large_id, fields.name);
  return static_cast<std::uint32_t>(id);
}

std::uint32_t KinetoParser::track_of(const EventFields& fields, EventKind kind, EventBatch& batch) {
  const EventArgs& args = fields.args;
  const bool on_gpu = is_stream_kind(kind);
  const bool is_text = fields.process.is_text() || fields.thread.is_text();
  const std::int64_t gpu = args.device >= 0 ? args.device : args.raw_pid;
  const std::int64_t first = on_gpu && gpu >= 0 ? gpu : fields.process.number;
  const int rank = static_cast<int>(std::clamp<std::int64_t>(args.rank, -1, INT32_MAX));
  const std::int64_t second = on_gpu && args.stream != INT64_MIN ? args.stream : fields.thread.number;
  TrackMemo& memo = memo_[on_gpu ? 1 : 0];
  if (!is_text && memo.valid && memo.first == first && memo.second == second && memo.rank == rank) return memo.track;
  Track track;
  if (on_gpu) {
    track = {TrackKind::gpu_stream, 0, second, static_cast<int>(std::clamp<std::int64_t>(first, -1, 0xFFFF)), ""};
  } else if (is_text) {
    track.name = std::string(fields.process.text) + "/" + std::string(fields.thread.text);
    track.process = fields.process.number;
    track.thread = fields.thread.number;
    count_flaw(batch, Flaw::text_id, track.name);
  } else {
    track = {first < 0 ? TrackKind::other : TrackKind::cpu_thread, first, second, -1, ""};
  }
  const auto [known, added] = tracks_.try_emplace({track, rank}, static_cast<std::uint32_t>(tracks_.size()));
  if (added) batch.new_tracks.push_back(track);
  if (added) batch.new_ranks.push_back(rank);
  if (!is_text) memo = {first, second, rank, known->second, true};
  return known->second;
}

std::uint32_t KinetoParser::shape_of(const LaunchShape& shape, EventBatch& batch) {
  const auto [known, added] = shapes_.try_emplace(shape, static_cast<std::uint32_t>(shapes_.size()));
  if (added) batch.new_shapes.push_back(shape);
  return known->second;
}

void KinetoParser::note_category(std::string_view category, EventBatch& batch) {
  category = category.substr(0, 40);
  if (categories_.size() >= kMostCategories || std::ranges::count(categories_, category) > 0) return;
  batch.new_categories.push_back(categories_.emplace_back(category));
}

void KinetoParser::restart_if_large(EventBatch& batch) {
  if (texts_.memory() + tracks_.size() * 128 + shapes_.size() * 128 < kMostTableBytes) return;
  batch.restart = true;
  batch.kept_memory = texts_.clear();
  tracks_.clear();
  shapes_.clear();
  memo_[0].valid = memo_[1].valid = false;
}

bool KinetoParser::TrackOrder::operator()(const RankedTrack& one, const RankedTrack& other) const {
  const auto& [a, rank] = one;
  const auto& [b, other_rank] = other;
  return std::tie(a.kind, a.process, a.thread, a.device, a.name, rank) <
         std::tie(b.kind, b.process, b.thread, b.device, b.name, other_rank);
}

std::size_t KinetoParser::ShapeHash::operator()(const LaunchShape& shape) const {
  const std::string_view bytes(reinterpret_cast<const char*>(&shape), sizeof(shape));
  return std::hash<std::string_view>()(bytes);
}

}  // namespace warpmark::profile
