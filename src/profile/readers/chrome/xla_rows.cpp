// Names of rows and events: xla/tsl/profiler/utils/xplane_schema.cc, xla/backends/profiler/gpu/cupti_collector.cc and
// cupti_buffer_events.cc (github.com/openxla/xla). A call of the CUDA driver is named after what it starts: a kernel,
// "MemcpyH2D", "Memset".
#include "profile/readers/chrome/xla_rows.h"

#include <algorithm>

#include "base/text.h"
#include "generated/short_scan.h"
#include "profile/catalog.h"
#include "profile/readers/chrome/kineto_fields.h"
#include "profile/readers/chrome/kineto_merge.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/json_text.h"
#include "profile/readers/text/padded_text.h"

namespace warpmark::profile {
namespace {

constexpr std::string_view kGpuName = "/device:GPU:";
constexpr std::size_t kMostNamesBytes = 16 << 20;  // of the rows that name rows

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/// cuGraphLaunch, cudaMalloc, hipMemcpyAsync.
bool is_runtime_name(std::string_view name) {
  return (name.size() > 4 && name.starts_with("cuda") && is_upper(name[4])) ||
         (name.size() > 3 && name.starts_with("hip") && is_upper(name[3]));
}
bool is_driver_name(std::string_view name) { return name.size() > 2 && name.starts_with("cu") && is_upper(name[2]); }

/// What CUPTI calls the time it took itself.
bool is_overhead(std::string_view name) {
  return name == "BUFFER_FLUSH" || name == "COMPILER" || name == "INSTRUMENTATION" || name == "RESOURCE" ||
         name == "<UNKNOWN>" || name == "\\u003cUNKNOWN\\u003e";
}

/// In the words of Kineto's "cuda_sync_kind".
std::string_view sync_kind_of(std::string_view call) {
  if (call.starts_with("cuStreamWait")) return "Stream Wait Event";
  if (call.starts_with("cuEvent")) return "Event Sync";
  if (call.starts_with("cuStream")) return "Stream Sync";
  return call.starts_with("cuCtx") || call.starts_with("cuda") ? "Context Sync" : "";
}

/// The function that was called, as far as the event tells.
std::string_view call_of(std::string_view name, const XlaDetails& details) {
  const bool async = details.memcpy.find("async:1") != std::string_view::npos;
  if (name.starts_with("MemcpyH2D")) return async ? "cuMemcpyHtoDAsync" : "cuMemcpyHtoD";
  if (name.starts_with("MemcpyD2H")) return async ? "cuMemcpyDtoHAsync" : "cuMemcpyDtoH";
  if (name.starts_with("MemcpyD2D")) return async ? "cuMemcpyDtoDAsync" : "cuMemcpyDtoD";
  if (name.starts_with("MemcpyP2P")) return async ? "cuMemcpyPeerAsync" : "cuMemcpyPeer";
  if (!details.memcpy.empty()) return async ? "cuMemcpyAsync" : "cuMemcpy";
  if (!details.memset.empty())
    return details.memset.find("async:1") != std::string_view::npos ? "cuMemsetAsync" : "cuMemset";
  if (!details.alloc.empty()) return "cuMemAlloc";
  if (!details.free.empty()) return "cuMemFree";
  return "cuLaunchKernel";
}

/// Ranges of JAX and XLA have their place in the source, C++ names or one of these.
bool is_of_framework(std::string_view name) {
  return name.find("::") != std::string_view::npos || name.find(":XLA ") != std::string_view::npos ||
         name.starts_with("PjitFunction") || name.starts_with("PyClient") || name == "np.asarray(jax.Array)";
}

/// An event that stands in the row of a stream.
void translate_work(EventFields& fields, const XlaDetails& details) {
  EventArgs& args = fields.args;
  const std::string_view name = fields.name;
  if (!details.kernel.empty()) {
    fields.category = "kernel";
    set_kernel_details(details.kernel, details.graph, args);
  } else if (!details.memcpy.empty() || name.starts_with("Memcpy")) {
    fields.category = "gpu_memcpy";
    set_memcpy_details(name, details.memcpy, args);
  } else if (!details.memset.empty() || name.starts_with("Memset")) {
    fields.category = "gpu_memset";
    set_memory_details(details.memset, args);
  } else if (!details.alloc.empty() || !details.free.empty()) {
    fields.category = "allocation";
    set_memory_details(details.alloc.empty() ? details.free : details.alloc, args);
    if (details.alloc.empty()) args.bytes = -args.bytes;
    args.device_type = 1;
    args.device_id = args.device;
  } else if (name.starts_with("CudaGraphExec")) {
    fields.category = "cuda_graph";
  } else if (is_driver_name(name) || is_runtime_name(name)) {
    fields.category = "cuda_sync";
    args.sync_kind = sync_kind_of(name);
  } else if (is_overhead(name)) {
    fields.category = "overhead";
  } else if (details.residency.empty() && !name.starts_with("UM_")) {
    fields.category = "kernel";
  }
}

void translate_host(EventFields& fields, const XlaDetails& details, std::string& scratch) {
  const std::string_view name = fields.name;
  const bool is_call = details.correlation > 0;
  if (is_driver_name(name) || is_runtime_name(name)) {
    fields.category = is_runtime_name(name) ? "cuda_runtime" : "cuda_driver";
    fields.name = name.substr(0, name.find(" (CudaGraph:"));
  } else if (is_call) {
    fields.category = "cuda_driver";
    fields.name = call_of(name, details);
  } else if (is_overhead(name)) {
    fields.category = "overhead";
  } else if (name.starts_with('$')) {
    fields.category = "python_function";
    fields.name.remove_prefix(1);
  } else if (!details.step.empty()) {
    fields.category = "user_annotation";
    scratch.assign(name).append(" ").append(details.step);
    fields.name = scratch;
  } else {
    fields.category = details.of_framework || is_of_framework(name) ? "cpu_op" : "user_annotation";
  }
}

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

bool is_xla_process(std::string_view name) {
  for (const std::string_view kind : {"/device:", "/host:"}) {
    const auto at = name.find(kind);
    if (at == 0 || (at != std::string_view::npos && name[at - 1] == ' ')) return true;  // of several hosts: its name
  }
  return false;
}

bool is_timeline_process(std::string_view name) { return name.starts_with("/job:") && name.ends_with(" Compute"); }

void XlaRows::add_timeline_row(std::int64_t process, std::string_view name) {
  const std::string device = ascii_lower(name);
  const auto number_behind = [&](std::string_view word) {
    const auto at = device.find(word);
    if (at == std::string::npos) return std::int64_t{-1};
    const std::string_view rest = std::string_view(device).substr(at + word.size());
    const auto number = parse_integer(rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size())));
    return std::clamp<std::int64_t>(number.value_or(-1), -1, 0xFFFF);
  };
  TimelineRow& row = timeline_rows_[process];
  row.gpu = static_cast<int>(number_behind("gpu:"));
  row.stream = number_behind("/stream:");
  row.of_stream = device.find("/stream:") != std::string::npos || device.find("/memcpy") != std::string::npos;
  row.summed = row.of_stream && row.stream < 0;
  has_numbered_streams_ |= row.stream >= 0;
}

bool XlaRows::lacks_streams() const {
  const auto any = [this](auto wanted) { return std::ranges::any_of(timeline_rows_, wanted); };
  return any([](const auto& one) { return one.second.gpu >= 0; }) &&
         !any([](const auto& one) { return one.second.of_stream; });
}

/// Names are operations ("Conv2D", "MEMCPYHtoD"); the name of the node stands in "args".
bool XlaRows::translate_timeline(const TimelineRow& row, EventFields& fields) const {
  if (row.summed && has_numbered_streams_) return false;
  fields.args = EventArgs();
  fields.category = !row.of_stream                      ? "cpu_op"
                    : fields.name.starts_with("MEMCPY") ? "gpu_memcpy"
                    : fields.name.starts_with("MEMSET") ? "gpu_memset"
                                                        : "kernel";
  if (!row.of_stream) return true;
  fields.args.device = std::max(row.gpu, 0);
  fields.args.stream = row.summed ? fields.process.number : row.stream;
  return true;
}

void XlaRows::add_name(const EventFields& fields) {
  const std::string name = decode_json_text(fields.args.name).text;
  if (fields.name == "process_name" && is_timeline_process(name)) {
    add_timeline_row(fields.process.number, name);
  } else if (fields.name == "process_name") {
    const auto at = name.find(kGpuName);
    if (at == std::string::npos) return;
    std::size_t end = at + kGpuName.size();
    while (end < name.size() && is_digit(name[end])) ++end;
    Gpu& gpu = gpus_[fields.process.number];
    gpu.digits = name.substr(at + kGpuName.size(), end - at - kGpuName.size());
    const auto index = parse_integer(gpu.digits);
    gpu.index = static_cast<int>(std::clamp<std::int64_t>(index.value_or(0), 0, 0xFFFF));
  } else if (fields.name == "thread_name") {
    const auto gpu = gpus_.find(fields.process.number);
    if (gpu == gpus_.end()) return;
    gpu->second.rows[fields.thread.number] = name.starts_with("Stream #") ? RowKind::stream
                                             : name == "Steps"            ? RowKind::steps
                                                                          : RowKind::derived;
  }
}

void XlaRows::translate_name_row(EventFields& fields) const {
  if (fields.name != "thread_name") return;
  const auto gpu = gpus_.find(fields.process.number);
  fields.args.track_kind = gpu == gpus_.end() ? "thread" : "stream";
  if (gpu != gpus_.end()) fields.process.number = gpu->second.index;
}

bool XlaRows::translate(EventFields& fields, std::string& scratch) const {
  if (fields.phase.empty() && fields.ts.empty() && fields.name.empty()) return false;  // "{}" ends XLA's lists
  const auto gpu = gpus_.find(fields.process.number);
  const bool on_gpu = gpu != gpus_.end();
  if (fields.phase == "M") return translate_name_row(fields), true;
  if (fields.phase == "C" && on_gpu) fields.id = gpu->second.digits;
  if (fields.phase != "X") return true;
  const auto timeline_row = timeline_rows_.find(fields.process.number);
  if (timeline_row != timeline_rows_.end()) return translate_timeline(timeline_row->second, fields);
  const XlaDetails details = xla_details_of(fields.args_text);
  fields.args = EventArgs();
  fields.args.odd = details.odd;
  fields.args.correlation = details.correlation;
  fields.category = "";
  if (!on_gpu) return translate_host(fields, details, scratch), true;
  fields.args.device = gpu->second.index;
  fields.args.stream = fields.thread.number;
  const auto row = gpu->second.rows.find(fields.thread.number);
  RowKind kind = row == gpu->second.rows.end() ? RowKind::unknown : row->second;
  const bool is_work = !details.kernel.empty() || !details.memcpy.empty() || !details.memset.empty();
  if (kind == RowKind::unknown) kind = is_work ? RowKind::stream : RowKind::derived;
  if (kind == RowKind::stream) return translate_work(fields, details), true;
  fields.category = "gpu_user_annotation";
  fields.args.correlation = 0;  // of the work that is summed up here
  if (kind == RowKind::steps) {
    scratch.assign("step ").append(fields.name);
    fields.name = scratch;
  }
  return true;
}

Status read_xla_names(ByteSource& source, std::string& text, XlaRows& rows) {
  constexpr std::size_t kReadBytes = 1 << 16;
  PaddedText padded;
  padded.append(text);
  std::size_t done = 0;
  for (bool more = true;;) {
    const char* end = padded.end();
    const char* p = skip_space(padded.begin() + done);
    while (p < end && *p == ',') p = skip_space(p + 1);
    done = static_cast<std::size_t>(std::min(p, end) - padded.begin());
    EventFields fields;
    const char* stop = end;
    const char* next = p < end && *p == '{' ? read_fields(p, end, scan_functions(), fields, &stop) : nullptr;
    if (next != nullptr) {
      if (fields.phase != "M") break;
      rows.add_name(fields);
      done = static_cast<std::size_t>(next - padded.begin());
      continue;
    }
    if ((p < end && stop < end) || !more || padded.size() > kMostNamesBytes) break;
    const std::size_t have = padded.size();
    padded.resize(have + std::max(kReadBytes, have));
    WM_ASSIGN(const std::size_t got, source.read({padded.begin() + have, padded.size() - have}));
    padded.resize(have + got);
    more = got > 0;
  }
  text = padded.view();
  return {};
}

extern const TraceReader kXlaTraceReader = {"xla_trace", "XLA's profiler: JAX, TensorFlow (trace.json.gz)", sniff_xla,
                                            read_xla};

}  // namespace warpmark::profile
