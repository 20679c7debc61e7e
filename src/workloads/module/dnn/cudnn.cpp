#include "workloads/module/dnn/cudnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "device/cuda/module/library_loader.h"

namespace warpmark::workloads::dnn {
namespace {

constexpr std::int64_t kAlignment = 16;  ///< bytes; device::Buffer gives 256

Result<Descriptor> engine_of(const Descriptor& configuration) {
  WM_ASSIGN(auto engines, configuration.children(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1));
  if (engines.empty()) return internal_error("cuDNN: an engine configuration without an engine");
  return std::move(engines.front());
}

Result<bool> is_excluded(const Cudnn& cudnn, const Descriptor& engine,
                         std::span<const cudnnBackendNumericalNote_t> excluded) {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  std::int64_t count = 0;
  WM_TRY(cudnn.status(cudnn.get_attribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                          static_cast<std::int64_t>(notes.size()), &count, notes.data()),
                      "get CUDNN_ATTR_ENGINE_NUMERICAL_NOTE"));
  const auto used = std::span(notes).first(static_cast<std::size_t>(count));
  return std::ranges::any_of(used, [&](auto note) { return std::ranges::find(excluded, note) != excluded.end(); });
}

Result<std::string> name_of(const Cudnn& cudnn, const Descriptor& configuration, const Descriptor& engine) {
  WM_ASSIGN(const std::int64_t index, engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  std::string name = fmt::format("engine {}", index);
  WM_ASSIGN(const auto knobs, configuration.children(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                                     CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS));
  const char* separator = ", knobs ";
  for (const Descriptor& knob : knobs) {
    cudnnBackendKnobType_t type{};
    std::int64_t count = 0;
    WM_TRY(cudnn.status(
        cudnn.get_attribute(knob.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &count, &type),
        "get CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE"));
    WM_ASSIGN(const std::int64_t value, knob.integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    name += fmt::format("{}{}={}", separator, static_cast<int>(type), value);
    separator = " ";
  }
  return name;
}

Result<std::vector<Descriptor>> configurations(const Cudnn& cudnn, const Descriptor& graph,
                                               cudnnBackendHeurMode_t mode) {
  WM_ASSIGN(auto heuristics, Descriptor::make(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  WM_TRY(heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  WM_TRY(heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
  WM_TRY(heuristics.finalize());
  WM_ASSIGN(const std::int64_t count, heuristics.count(CUDNN_ATTR_ENGINEHEUR_RESULTS));
  return heuristics.children(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
}

Result<Plan> make_plan(const Cudnn& cudnn, const Descriptor& configuration, std::string name) {
  Plan plan;
  plan.name = std::move(name);
  WM_ASSIGN(plan.descriptor, Descriptor::make(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  const cudnnHandle_t handle = cudnn.handle();
  WM_TRY(plan.descriptor.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
  WM_TRY(plan.descriptor.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration));
  WM_TRY(plan.descriptor.finalize());
  WM_ASSIGN(plan.workspace_bytes, plan.descriptor.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return plan;
}

}  // namespace

Result<std::unique_ptr<Cudnn>> Cudnn::open() {
  std::unique_ptr<Cudnn> cudnn(new Cudnn);
  WM_TRY(cudnn->load());
  return cudnn;
}

Status Cudnn::load() {
  WM_ASSIGN(const device::Library* library, device::load_library(device::LibraryId::cudnn));
  version_ = library->version();
  WM_TRY(library->symbol("cudnnBackendCreateDescriptor", create_descriptor));
  WM_TRY(library->symbol("cudnnBackendDestroyDescriptor", destroy_descriptor));
  WM_TRY(library->symbol("cudnnBackendFinalize", finalize));
  WM_TRY(library->symbol("cudnnBackendSetAttribute", set_attribute));
  WM_TRY(library->symbol("cudnnBackendGetAttribute", get_attribute));
  WM_TRY(library->symbol("cudnnBackendExecute", execute));
  WM_TRY(library->symbol("cudnnSetStream", set_stream));
  WM_TRY(library->symbol("cudnnCreate", create_));
  WM_TRY(library->symbol("cudnnDestroy", destroy_));
  WM_TRY(library->symbol("cudnnGetErrorString", error_string_));
  WM_TRY(library->symbol("cudnnGetLastErrorString", last_error_string_));
  return status(create_(&handle_), "cudnnCreate");
}

Cudnn::~Cudnn() {
  if (handle_ != nullptr) (void)destroy_(handle_);
}

Status Cudnn::status(cudnnStatus_t code, const std::string& call) const {
  if (code == CUDNN_STATUS_SUCCESS) return {};
  std::array<char, 512> message{};
  last_error_string_(message.data(), message.size());
  const std::string what = fmt::format("cuDNN {}: {}: {}: {}", version_, call, error_string_(code), message.data());
  const bool unsupported = CUDNN_STATUS_CATEGORY(code) == CUDNN_STATUS_NOT_SUPPORTED;
  return unsupported ? unsupported_error(what) : environment_error(what);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : cudnn_(std::exchange(other.cudnn_, nullptr)), raw_(std::exchange(other.raw_, nullptr)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(cudnn_, other.cudnn_);
  std::swap(raw_, other.raw_);
  return *this;
}

Descriptor::~Descriptor() {
  if (raw_ != nullptr) (void)cudnn_->destroy_descriptor(raw_);
}

Result<Descriptor> Descriptor::make(const Cudnn& cudnn, cudnnBackendDescriptorType_t type) {
  Descriptor descriptor;
  descriptor.cudnn_ = &cudnn;
  WM_TRY(cudnn.status(cudnn.create_descriptor(type, &descriptor.raw_),
                      fmt::format("create descriptor {}", static_cast<int>(type))));
  return descriptor;
}

Status Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                       const void* values) {
  return cudnn_->status(cudnn_->set_attribute(raw_, name, type, count, values),
                        fmt::format("set attribute {}", static_cast<int>(name)));
}
Status Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  const cudnnBackendDescriptor_t raw = value.get();
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}
Status Descriptor::set(cudnnBackendAttributeName_t name, std::int64_t value) {
  return set(name, CUDNN_TYPE_INT64, 1, &value);
}
Status Descriptor::set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
  return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}
Status Descriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  return set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}
Status Descriptor::set_bool(cudnnBackendAttributeName_t name, bool value) {
  return set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}
Status Descriptor::set_float(cudnnBackendAttributeName_t name, float value) {
  return set(name, CUDNN_TYPE_FLOAT, 1, &value);
}
Status Descriptor::finalize() { return cudnn_->status(cudnn_->finalize(raw_), "finalize a descriptor"); }

Result<std::int64_t> Descriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  std::int64_t count = 0;
  WM_TRY(cudnn_->status(cudnn_->get_attribute(raw_, name, CUDNN_TYPE_INT64, 1, &count, &value),
                        fmt::format("get attribute {}", static_cast<int>(name))));
  return value;
}

Result<std::int64_t> Descriptor::count(cudnnBackendAttributeName_t name) const {
  std::int64_t count = 0;
  WM_TRY(cudnn_->status(cudnn_->get_attribute(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
                        fmt::format("count attribute {}", static_cast<int>(name))));
  return count;
}

Result<std::vector<Descriptor>> Descriptor::children(cudnnBackendAttributeName_t name,
                                                     cudnnBackendDescriptorType_t type, std::int64_t most) const {
  std::vector<Descriptor> made;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < most; ++i) {
    WM_ASSIGN(auto child, Descriptor::make(*cudnn_, type));
    raw.push_back(child.get());
    made.push_back(std::move(child));
  }
  if (most == 0) return made;
  std::int64_t filled = 0;
  WM_TRY(cudnn_->status(cudnn_->get_attribute(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &filled, raw.data()),
                        fmt::format("get attribute {}", static_cast<int>(name))));
  made.resize(static_cast<std::size_t>(std::min(filled, most)));
  return made;
}

Dimensions contiguous_strides(const Dimensions& dimensions) {
  Dimensions strides{};
  std::int64_t stride = 1;
  for (std::size_t i = dimensions.size(); i-- > 0; stride *= dimensions[i]) strides[i] = stride;
  return strides;
}

Result<Descriptor> make_tensor(const Cudnn& cudnn, const TensorOptions& options) {
  WM_ASSIGN(auto tensor, Descriptor::make(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  WM_TRY(tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, options.type));
  WM_TRY(tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(options.dimensions)));
  WM_TRY(tensor.set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(options.strides)));
  WM_TRY(tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, options.id));
  WM_TRY(tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment));
  if (options.is_virtual) WM_TRY(tensor.set_bool(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true));
  if (options.is_by_value) WM_TRY(tensor.set_bool(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true));
  WM_TRY(tensor.finalize());
  return tensor;
}

Result<Descriptor> make_graph(const Cudnn& cudnn, std::span<const Descriptor> operations) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& operation : operations) raw.push_back(operation.get());
  WM_ASSIGN(auto graph, Descriptor::make(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  const cudnnHandle_t handle = cudnn.handle();
  WM_TRY(graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
  WM_TRY(graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()),
                   raw.data()));
  WM_TRY(graph.finalize());
  return graph;
}

Result<std::vector<Plan>> make_plans(const Cudnn& cudnn, const Descriptor& graph, const PlanRequest& request) {
  std::vector<Plan> plans;
  std::set<std::string> seen;
  std::string last_failure = "no configuration was proposed";
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    const auto proposed = configurations(cudnn, graph, mode);
    if (!proposed.ok()) {
      last_failure = proposed.error().what;  // a mode may not know this graph; another may
      continue;
    }
    for (const Descriptor& configuration : *proposed) {
      if (plans.size() >= request.candidates) return plans;
      WM_ASSIGN(const Descriptor engine, engine_of(configuration));
      WM_ASSIGN(std::string name, name_of(cudnn, configuration, engine));
      if (!seen.insert(name).second) continue;
      WM_ASSIGN(const bool excluded, is_excluded(cudnn, engine, request.excluded));
      if (excluded) continue;
      auto plan = make_plan(cudnn, configuration, std::move(name));
      if (!plan.ok()) {
        last_failure = plan.error().what;
      } else if (plan->workspace_bytes > request.workspace_limit_bytes) {
        last_failure = fmt::format("{} needs {} bytes of workspace, above the limit of {}", plan->name,
                                   plan->workspace_bytes, request.workspace_limit_bytes);
      } else {
        plans.push_back(std::move(plan).value());
      }
    }
  }
  if (!plans.empty()) return plans;
  return unsupported_error(
      fmt::format("cuDNN {} offers no engine for this: {} configurations proposed, none usable; {}", cudnn.version(),
                  seen.size(), last_failure),
      "try another data type, layout or shape");
}

Result<Descriptor> make_variant_pack(const Cudnn& cudnn, const Bindings& bindings) {
  WM_ASSIGN(auto pack, Descriptor::make(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  const auto count = static_cast<std::int64_t>(bindings.ids.size());
  WM_TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, bindings.ids.data()));
  WM_TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, bindings.pointers.data()));
  WM_TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &bindings.workspace));
  WM_TRY(pack.finalize());
  return pack;
}

}  // namespace warpmark::workloads::dnn
