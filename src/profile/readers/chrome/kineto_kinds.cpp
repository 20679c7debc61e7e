// Categories: libkineto's ActivityType.cpp, and the names before 2021 (HTA's tests have traces with those).
#include "profile/readers/chrome/kineto_kinds.h"

#include <array>
#include <cstring>

#include "profile/readers/text/key_table.h"

namespace warpmark::profile {
namespace {

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

std::uint32_t copy_detail_of(std::string_view name) {
  CopyKind kind = CopyKind::unknown;
  if (contains(name, "HtoD")) kind = CopyKind::host_to_device;
  if (contains(name, "DtoH")) kind = CopyKind::device_to_host;
  if (contains(name, "DtoD")) kind = CopyKind::device_to_device;
  if (contains(name, "PtoP")) kind = CopyKind::peer_to_peer;
  if (contains(name, "HtoH")) kind = CopyKind::host_to_host;
  const auto arrow = name.find("->");
  if (arrow == std::string_view::npos) return copy_detail(kind, HostMemory::unknown);
  const bool from_host = kind != CopyKind::device_to_host;
  return copy_detail(kind, host_memory_of(from_host ? name.substr(0, arrow) : name.substr(arrow)));
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
