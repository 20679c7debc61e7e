// Field names: Kineto's output_json.cpp and generic_trace_activity.cpp (github.com/pytorch/kineto), old and new.
#include "profile/readers/chrome/kineto_fields.h"

#include <array>
#include <cstring>

#include "base/text.h"
#include "generated/short_scan.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/key_table.h"

namespace warpmark::profile {
namespace {

enum class Key : std::uint8_t { none, phase, category, name, ts, dur, id, process, thread };

constexpr KeyTable kKeys{std::array{KeyEntry<Key>{"ph", Key::phase}, KeyEntry<Key>{"cat", Key::category},
                                    KeyEntry<Key>{"name", Key::name}, KeyEntry<Key>{"ts", Key::ts},
                                    KeyEntry<Key>{"dur", Key::dur}, KeyEntry<Key>{"id", Key::id},
                                    KeyEntry<Key>{"pid", Key::process}, KeyEntry<Key>{"tid", Key::thread}}};

enum class Kind : std::uint8_t { none, integer, text, count, number, percent, triple };

/// Which member an argument sets, and how.
struct ArgTarget {
  Kind kind = Kind::none;
  std::int64_t EventArgs::*integer = nullptr;
  std::string_view EventArgs::*text = nullptr;
  std::uint32_t LaunchShape::*count = nullptr;
  float LaunchShape::*number = nullptr;
  std::uint32_t (LaunchShape::*triple)[3] = nullptr;
};
using Arg = KeyEntry<ArgTarget>;

constexpr Arg integer(std::string_view key, std::int64_t EventArgs::*member) {
  return {key, {.kind = Kind::integer, .integer = member}};
}
constexpr Arg text(std::string_view key, std::string_view EventArgs::*member) {
  return {key, {.kind = Kind::text, .text = member}};
}
constexpr Arg count(std::string_view key, std::uint32_t LaunchShape::*member) {
  return {key, {.kind = Kind::count, .count = member}};
}
constexpr Arg triple(std::string_view key, std::uint32_t (LaunchShape::*member)[3]) {
  return {key, {.kind = Kind::triple, .triple = member}};
}

constexpr KeyTable kArguments{
    std::array{integer("External id", &EventArgs::external_id),
               integer("external id", &EventArgs::external_id),
               integer("correlation", &EventArgs::correlation),
               integer("device", &EventArgs::device),
               integer("stream", &EventArgs::stream),
               integer("bytes", &EventArgs::bytes),
               integer("Bytes", &EventArgs::bytes),
               integer("wait_on_stream", &EventArgs::wait_stream),
               integer("Device Type", &EventArgs::device_type),
               integer("Device Id", &EventArgs::device_id),
               integer("Total Allocated", &EventArgs::total_allocated),
               integer("Total Reserved", &EventArgs::total_reserved),
               integer("In msg nelems", &EventArgs::in_elements),
               integer("Out msg nelems", &EventArgs::out_elements),
               integer("Group size", &EventArgs::group_size),
               integer("rank", &EventArgs::rank),
               integer("pid_raw", &EventArgs::raw_pid),
               integer("Seq", &EventArgs::sequence),
               integer("seq", &EventArgs::sequence),
               text("Collective name", &EventArgs::collective),
               text("dtype", &EventArgs::data_type),
               text("Process Group Name", &EventArgs::group),
               text("Input Dims", &EventArgs::input_dims),
               text("Input dims", &EventArgs::input_dims),
               text("cuda_sync_kind", &EventArgs::sync_kind),
               text("name", &EventArgs::name),
               text("track kind", &EventArgs::track_kind),
               integer("value", &EventArgs::value),
               integer("detail", &EventArgs::detail),
               count("registers per thread", &LaunchShape::registers_per_thread),
               count("shared memory", &LaunchShape::shared_bytes),
               count("graph id", &LaunchShape::graph_id),
               Arg{"blocks per SM", {.kind = Kind::number, .number = &LaunchShape::blocks_per_sm}},
               Arg{"est. achieved occupancy %", {.kind = Kind::percent, .number = &LaunchShape::occupancy}},
               triple("grid", &LaunchShape::grid),
               triple("block", &LaunchShape::block)}};

/// Short plain numbers, which nearly all are, without a library call.
std::optional<std::int64_t> integer_of(std::string_view digits) {
  if (digits.empty() || digits.size() > 18) return parse_integer(digits);
  std::int64_t value = 0;
  for (const char c : digits) {
    if (!is_digit(c)) return parse_integer(digits);
    value = value * 10 + (c - '0');
  }
  return value;
}

std::uint32_t clamp_count(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, UINT32_MAX));
}

/// "[320, 1, 1]"
void set_triple(std::uint32_t (&target)[3], std::string_view list) {
  std::size_t at = 0;
  for (std::uint32_t& element : target) {
    while (at < list.size() && !is_digit(list[at])) ++at;
    std::size_t end = at;
    while (end < list.size() && is_digit(list[end])) ++end;
    if (end == at) return;
    element = clamp_count(integer_of(list.substr(at, end - at)).value_or(0));
    at = end;
  }
}

/// -1 if it is no number that can be meant.
float ratio_of(std::string_view text, double divisor) {
  const double number = parse_number(text).value_or(-1);
  return number >= 0 && number < 1e9 ? static_cast<float>(number / divisor) : -1.0F;
}

RowId row_of(const RawValue& value) {
  if (const auto number = integer_of(value.text)) return {*number, {}};
  return {0, value.text.empty() ? std::string_view(" ") : value.text};
}

struct Cursor {
  const char* p;
  const char* const end;
  const ScanFunctions& scan;
  const char* stop = nullptr;
};

bool fail(Cursor& at) {
  at.stop = at.p < at.end ? at.p : at.end;
  return false;
}

/// At the opening quote.
bool read_string(Cursor& at, std::string_view& content) {
  const char* begin = ++at.p;
  const char* q = begin;
  for (;;) {
    q = find_special(q, at.end, at.scan);
    if (q >= at.end) return at.p = at.end, fail(at);
    if (*q == '"') break;
    q += *q == '\\' ? 2 : 1;
  }
  content = {begin, static_cast<std::size_t>(q - begin)};
  at.p = q + 1;
  return true;
}

constexpr std::array<bool, 256> plain_characters() {
  std::array<bool, 256> plain{};
  for (std::size_t c = '!'; c < 256; ++c) plain[c] = true;
  for (const char c : {',', '}', ']', '"', '{', '[', kScanSentinel}) plain[static_cast<std::size_t>(c)] = false;
  return plain;
}
constexpr std::array<bool, 256> kPlain = plain_characters();

bool read_value(Cursor& at, RawValue& value) {
  const char* begin = at.p;
  const char first = *begin;
  if (first == '"') {
    value.kind = '"';
    return read_string(at, value.text);
  }
  if (first == '[' || first == '{') {
    value.kind = first;
    const char* behind = at.scan.skip_nested(begin + 1, at.end, &at.stop);
    if (behind == nullptr) return false;
    at.p = behind;
  } else {
    value.kind = 0;
    while (kPlain[static_cast<unsigned char>(*at.p)]) ++at.p;
    if (at.p == begin) return fail(at);
  }
  value.text = {begin, static_cast<std::size_t>(at.p - begin)};
  return true;
}

bool read_object(Cursor& at, EventFields& fields, bool in_args);

/// At the ':' between key and value.
bool read_member(Cursor& at, EventFields& fields, std::string_view key, bool in_args) {
  at.p = skip_space(at.p + 1);
  if (!in_args && *at.p == '{' && key == "args") {
    const char* begin = at.p;
    if (!read_object(at, fields, true)) return false;
    fields.args_text = {begin, static_cast<std::size_t>(at.p - begin)};
  } else {
    RawValue value;
    if (!read_value(at, value)) return false;
    if (in_args) {
      set_argument(fields.args, key, value);
    } else {
      set_field(fields, key, value);
    }
  }
  at.p = skip_space(at.p);
  return *at.p == ',' || *at.p == '}' ? true : fail(at);
}

/// At the '{'.
bool read_object(Cursor& at, EventFields& fields, bool in_args) {
  at.p = skip_space(at.p + 1);
  for (;;) {
    if (*at.p == '}') return ++at.p, true;
    if (*at.p == ',') {
      at.p = skip_space(at.p + 1);
      continue;
    }
    std::string_view key;
    if (*at.p != '"') return fail(at);
    if (!read_string(at, key)) return false;
    if (*at.p != ':') at.p = skip_space(at.p);
    if (*at.p != ':') return fail(at);
    if (!read_member(at, fields, key, in_args)) return false;
  }
}

/// Not of the file: a category that is not in the table.
constexpr EventKind kUnknown = EventKind{};
struct Category {
  bool known = false;
  EventKind kind = kUnknown;
};
using Entry = KeyEntry<Category>;
constexpr Entry entry(std::string_view name, EventKind kind) { return {name, {true, kind}}; }

constexpr KeyTable kCategories{std::array{entry("cpu_op", EventKind::op),
                                          entry("Operator", EventKind::op),
                                          entry("user_annotation", EventKind::annotation),
                                          entry("collective_comm", EventKind::annotation),
                                          entry("gpu_user_annotation", EventKind::gpu_annotation),
                                          entry("kernel", EventKind::kernel),
                                          entry("Kernel", EventKind::kernel),
                                          entry("gpu_memcpy", EventKind::memcpy),
                                          entry("Memcpy", EventKind::memcpy),
                                          entry("gpu_memset", EventKind::memset),
                                          entry("Memset", EventKind::memset),
                                          entry("cuda_runtime", EventKind::runtime_api),
                                          entry("Runtime", EventKind::runtime_api),
                                          entry("hip_runtime", EventKind::runtime_api),
                                          entry("xpu_runtime", EventKind::runtime_api),
                                          entry("mtia_runtime", EventKind::runtime_api),
                                          entry("privateuse1_runtime", EventKind::runtime_api),
                                          entry("cuda_driver", EventKind::driver_api),
                                          entry("xpu_driver", EventKind::driver_api),
                                          entry("privateuse1_driver", EventKind::driver_api),
                                          entry("python_function", EventKind::python),
                                          entry("overhead", EventKind::overhead),
                                          entry("cuda_sync", EventKind::sync_record),
                                          entry("cpu_instant_event", EventKind::mark),
                                          entry("os_call", EventKind::os_call),
                                          entry("cpu_sample", EventKind::cpu_sample),
                                          entry("cuda_graph", EventKind::graph),
                                          entry("allocation", EventKind::allocation),
                                          entry("mark", EventKind::mark),
                                          entry("mtia_ccp_events", EventKind::kernel)}};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

HostMemory host_memory_of(std::string_view side) {
  if (contains(side, "Pageable")) return HostMemory::pageable;
  if (contains(side, "Pinned")) return HostMemory::pinned;
  if (contains(side, "Managed")) return HostMemory::managed;
  return HostMemory::unknown;
}

}  // namespace

void set_field(EventFields& fields, std::string_view key, const RawValue& value) {
  switch (kKeys.find(key)) {
    case Key::phase: fields.phase = value.text; break;
    case Key::category: fields.category = value.text; break;
    case Key::name: fields.name = value.text; break;
    case Key::ts: fields.ts = value.text; break;
    case Key::dur: fields.dur = value.text; break;
    case Key::id: fields.id = value.text; break;
    case Key::process: fields.process = row_of(value); break;
    case Key::thread: fields.thread = row_of(value); break;
    case Key::none: break;
  }
}

void set_argument(EventArgs& args, std::string_view key, const RawValue& value) {
  const ArgTarget target = kArguments.find(key);
  const auto ratio = [&](double divisor) {
    const float result = ratio_of(value.text, divisor);
    args.odd = args.odd || result < 0;
    return result;
  };
  switch (target.kind) {
    case Kind::none: break;
    case Kind::integer:
      if (const auto number = integer_of(value.text)) {
        args.*target.integer = *number;
      } else if (value.kind == 0 && value.text != "null") {  // a text may be meant: other tools have such arguments
        args.odd = true;
      }
      break;
    case Kind::text: args.*target.text = value.text; break;
    case Kind::count: args.shape.*target.count = clamp_count(integer_of(value.text).value_or(0)); break;
    case Kind::number: args.shape.*target.number = ratio(1); break;
    case Kind::percent: args.shape.*target.number = ratio(100); break;
    case Kind::triple: set_triple(args.shape.*target.triple, value.text); break;
  }
}

const char* read_fields(const char* p, const char* end, const ScanFunctions& scan, EventFields& fields,
                        const char** stop) {
  Cursor at{p, end, scan};
  if (read_object(at, fields, false) && at.p <= end) return at.p;
  *stop = at.stop == nullptr ? end : at.stop;
  return nullptr;
}

// Categories: libkineto's ActivityType.cpp, and the names before 2021 (HTA's tests have traces with those).

/// torch/autograd/profiler_util.py, EventList.export_chrome_trace: of a kernel the thread is the GPU.
void name_rows_of_autograd(EventFields& fields) {
  const bool of_gpu = fields.process.text == "CUDA functions";
  if (!of_gpu && fields.process.text != "CPU functions") return;
  fields.process = {};
  if (of_gpu) {
    fields.args.device = fields.thread.number;
    fields.args.stream = 0;
  }
  if (!fields.category.empty()) return;  // an arrow
  const bool copies = fields.name.starts_with("Memcpy"), sets = fields.name.starts_with("Memset");
  fields.category = !of_gpu ? "cpu_op" : copies ? "gpu_memcpy" : sets ? "gpu_memset" : "kernel";
}

EventKind kind_of(const EventFields& fields) {
  const char phase = fields.phase.empty() ? 'X' : fields.phase[0];
  const Category category = kCategories.find(fields.category);
  if (phase != 'X' && phase != 'B') {
    const bool is_memory = fields.name == "[memory]" || category.kind == EventKind::allocation;
    return is_memory ? EventKind::allocation : EventKind::mark;
  }
  if (!category.known) return EventKind::other;
  if (category.kind == EventKind::op && fields.name.starts_with("ProfilerStep#")) return EventKind::annotation;
  return category.kind;
}

bool is_profiler_row(const EventFields& fields) {
  if (fields.category == "Trace") return true;
  return fields.category.empty() &&
         (fields.name == "Record Window End" || fields.name.starts_with("Iteration Start: "));
}

bool is_stream_kind(EventKind kind) {
  return is_gpu_work(kind) || kind == EventKind::gpu_annotation || kind == EventKind::sync_record;
}

/// "Memcpy M2D" on Intel's GPUs; M is pageable memory, H the host's, D the device's, S shared (pti_view_memcpy_type).
std::optional<std::uint32_t> copy_detail_of_pti(std::string_view name) {
  constexpr std::string_view kBefore = "Memcpy ", kSides = "MHDS";
  if (!name.starts_with(kBefore) || name.size() < kBefore.size() + 3 || name[kBefore.size() + 1] != '2') return {};
  const auto from = kSides.find(name[kBefore.size()]), to = kSides.find(name[kBefore.size() + 2]);
  if (from == std::string_view::npos || to == std::string_view::npos) return {};
  const bool from_host = from < 2;
  const CopyKind across = from_host ? CopyKind::host_to_device : CopyKind::device_to_host;
  const HostMemory memory = from == 0 || to == 0 ? HostMemory::pageable : HostMemory::pinned;
  if (from_host != (to < 2)) return copy_detail(across, memory);
  const CopyKind on_device = contains(name, "P2P") ? CopyKind::peer_to_peer : CopyKind::device_to_device;
  return copy_detail(from_host ? CopyKind::host_to_host : on_device, HostMemory::unknown);
}

std::uint32_t copy_detail_of(std::string_view name) {
  if (const auto detail = copy_detail_of_pti(name)) return *detail;
  CopyKind kind = CopyKind::unknown;
  if (contains(name, "HtoD")) kind = CopyKind::host_to_device;
  if (contains(name, "DtoH")) kind = CopyKind::device_to_host;
  if (contains(name, "DtoD")) kind = CopyKind::device_to_device;
  if (contains(name, "PtoP")) kind = CopyKind::peer_to_peer;
  if (contains(name, "HtoH")) kind = CopyKind::host_to_host;
  const auto arrow = name.find("->");
  if (arrow == std::string_view::npos) return copy_detail(kind, HostMemory::unknown);
  const std::string_view side = kind != CopyKind::device_to_host ? name.substr(0, arrow) : name.substr(arrow);
  return copy_detail(kind, host_memory_of(side));
}

std::uint32_t sync_detail_of(std::string_view kind) {
  SyncKind sync = SyncKind::unknown;
  if (contains(kind, "Event")) sync = SyncKind::event;
  if (contains(kind, "Wait")) sync = SyncKind::stream_wait_event;
  if (contains(kind, "Stream Sync")) sync = SyncKind::stream;
  if (contains(kind, "Context") || contains(kind, "Device")) sync = SyncKind::context;
  return static_cast<std::uint32_t>(sync);
}

std::string_view trim_key(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\n\"{},";
  const auto first = text.find_first_not_of(kAround);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kAround) - first + 1);
}

}  // namespace warpmark::profile
