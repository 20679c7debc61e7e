#include "report/timeline/timeline_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "base/json.h"
#include "base/untrusted/input.h"
#include "model/fields/names.h"
#include "report/draw/format.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kMaxText = 400;                   // bytes of a name; templates run to thousands
constexpr std::int64_t kExact = std::int64_t{1} << 53;  // integers that JavaScript keeps

struct PaintName {
  const char* id;
  const char* name;
};
constexpr std::array<PaintName, static_cast<std::size_t>(Paint::count)> kPaints{{
    {"matrix", "matrix kernel"},
    {"kernel", "other kernel"},
    {"communication", "communication"},
    {"copy", "copy"},
    {"memset", "memset"},
    {"graph", "graph"},
    {"range", "range"},
    {"op", "operator"},
    {"api", "CUDA call"},
    {"wait", "wait for the GPU"},
    {"os", "system call"},
    {"python", "function (Python, C++)"},
    {"profiler", "profiler"},
    {"other", "other"},
}};

/// On one line; shortened between code points.
std::string clean(std::string_view text) {
  std::size_t length = std::min(text.size(), kMaxText);
  while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80) --length;
  std::string line = shown_text(text.substr(0, length));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return length < text.size() ? line + "\u2026" : line;
}

/// Texts in the order they are first met.
class Texts {
 public:
  std::size_t add(const std::string& text) {
    const auto [at, fresh] = index_.try_emplace(text, list_.size());
    if (fresh) list_.push_back(text);
    return at->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  Json list_ = Json::array();
};

constexpr auto kCopyKindNames = in_order(CopyKind::host_to_host, "copy", "host to device", "device to host",
                                         "device to device", "GPU to GPU", "host to host");
const char* name_of(CopyKind kind) { return name_in(kCopyKindNames, static_cast<std::int64_t>(kind)); }

constexpr auto kHostMemoryNames =
    in_order(HostMemory::managed, "", ", pageable memory", ", pinned memory", ", managed memory");
const char* name_of(HostMemory memory) { return name_in(kHostMemoryNames, static_cast<std::int64_t>(memory)); }

std::string bytes_note(std::int64_t bytes, std::int64_t duration_ns) {
  if (bytes <= 0) return "";
  std::string text = format_bytes(static_cast<double>(bytes));
  if (duration_ns > 0)
    text += ", " + format_si(static_cast<double>(bytes) / (static_cast<double>(duration_ns) * 1e-9), "B/s");
  return text;
}

std::string shape_note(const LaunchShape& shape) {
  if (shape.block[0] == 0) return "";
  std::string text = fmt::format("grid {} x {} x {}, block {} x {} x {}", shape.grid[0], shape.grid[1], shape.grid[2],
                                 shape.block[0], shape.block[1], shape.block[2]);
  if (shape.registers_per_thread > 0) text += fmt::format(", {} registers", shape.registers_per_thread);
  if (shape.shared_bytes > 0) text += ", " + format_bytes(shape.shared_bytes) + " shared";
  if (shape.occupancy > 0) text += ", occupancy " + format_percent(static_cast<double>(shape.occupancy));
  if (shape.graph_id > 0) text += fmt::format(", of graph {}", shape.graph_id);
  return text;
}

/// Shape or bytes of an event, in words.
std::string note_of(const Timeline& timeline, EventIndex i) {
  const EventColumns& events = timeline.events;
  const std::uint32_t detail = events.detail[i];
  switch (events.kind[i]) {
    case EventKind::kernel:
      return detail < timeline.launch_shapes.size() ? shape_note(timeline.launch_shapes[detail]) : "";
    case EventKind::memcpy: {
      const std::string bytes = bytes_note(events.value[i], events.duration[i]);
      return std::string(name_of(copy_kind(detail))) + name_of(host_memory(detail)) + (bytes.empty() ? "" : ", ") +
             bytes;
    }
    case EventKind::memset: return bytes_note(events.value[i], events.duration[i]);
    case EventKind::op: return detail > 0 && detail < timeline.names.size() ? clean(timeline.names.at(detail)) : "";
    default: return "";
  }
}

Json row_json(const ViewRow& row, const Timeline& timeline, Texts& names, Texts& notes) {
  Json start = Json::array(), duration = Json::array(), lane = Json::array(), paint = Json::array();
  Json text = Json::array(), note = Json::array();
  std::int64_t before = 0;
  for (const ViewEvent& event : row.events) {
    const std::int64_t at = std::clamp(event.start_ns, -kExact, kExact);
    start.push_back(at - before);
    before = at;
    duration.push_back(std::min(event.duration_ns, kExact));
    lane.push_back(event.lane);
    paint.push_back(static_cast<int>(event.paint));
    text.push_back(names.add(clean(timeline.name_of(event.event))));
    note.push_back(notes.add(note_of(timeline, event.event)));
  }
  return {{"name", clean(row.name)},
          {"gpu", row.gpu},
          {"lanes", row.lanes},
          {"left_out", row.left_out},
          {"start", start},
          {"duration", duration},
          {"lane", lane},
          {"paint", paint},
          {"text", text},
          {"note", note}};
}

Json idle_json(const GpuIdle& idle) {
  Json start = Json::array(), duration = Json::array();
  std::int64_t before = 0;
  for (const StepSpan& gap : idle.gaps) {
    start.push_back(gap.start_ns - before);
    before = gap.start_ns;
    duration.push_back(gap.end_ns - gap.start_ns);
  }
  return {{"device", idle.device}, {"idle_ns", idle.idle_ns}, {"start", start}, {"duration", duration}};
}

/// In JSON these characters occur inside of strings only, where they may be spelled so.
std::string without_markup(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string timeline_json(const TimelineView& view, const Timeline& timeline, const Analysis& analysis) {
  Json paints = Json::array(), rows = Json::array(), idle = Json::array(), findings = Json::array();
  Json launches = Json::array();
  for (const PaintName& paint : kPaints) paints.push_back({{"id", paint.id}, {"name", paint.name}});
  Texts names, notes;
  std::vector<std::size_t> first_of_row{0};
  for (const ViewRow& row : view.rows) {
    rows.push_back(row_json(row, timeline, names, notes));
    first_of_row.push_back(first_of_row.back() + row.events.size());
  }
  const auto number = [&](const ViewPlace& place) { return first_of_row[place.first] + place.second; };
  for (const GpuIdle& one : view.idle) idle.push_back(idle_json(one));
  for (const ViewFinding& shown : view.findings) {
    const Finding& finding = analysis.findings[shown.finding];
    Json events = Json::array();
    for (const ViewPlace& place : shown.events) events.push_back(number(place));
    findings.push_back({{"rule", clean(finding.rule)},
                        {"title", clean(finding.title)},
                        {"severity", severity_name(finding.severity)},
                        {"lost_ns", finding.lost_ns},
                        {"elsewhere", shown.elsewhere},
                        {"events", events}});
  }
  for (const auto& [call, work] : view.launches) {
    launches.push_back(number(call));
    launches.push_back(number(work));
  }
  const Json json{{"length_ns", std::min(view.length_ns, kExact)},
                  {"paints", paints},
                  {"names", names.take()},
                  {"notes", notes.take()},
                  {"rows", rows},
                  {"idle", idle},
                  {"findings", findings},
                  {"launches", launches}};
  return without_markup(dump_json(json, -1));
}

}  // namespace warpmark::report
