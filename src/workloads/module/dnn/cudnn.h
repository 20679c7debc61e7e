// cuDNN, loaded at run time, and its graph API ("backend descriptors") as values. A computation is a graph of
// operations on tensors; heuristics propose engine configurations for it; a configuration becomes an execution plan.
// Attribute names and types: cudnn_graph.h.
#pragma once

#include <cudnn_graph.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::workloads::dnn {

/// The exports used, and one handle. Made once for a prepared workload; every descriptor below keeps a pointer to it.
class Cudnn {
 public:
  /// Environment error naming what was searched if there is no cuDNN 9, or no usable GPU.
  [[nodiscard]] static Result<std::unique_ptr<Cudnn>> open();
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  [[nodiscard]] cudnnHandle_t handle() const { return handle_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  /// Success, or an error with the call, cuDNN's name for the status and its last message.
  [[nodiscard]] Status status(cudnnStatus_t code, const std::string& call) const;

  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;

 private:
  Cudnn() = default;
  Status load();

  decltype(&cudnnCreate) create_ = nullptr;
  decltype(&cudnnDestroy) destroy_ = nullptr;
  decltype(&cudnnGetErrorString) error_string_ = nullptr;
  decltype(&cudnnGetLastErrorString) last_error_string_ = nullptr;
  cudnnHandle_t handle_ = nullptr;
  std::string version_;
};

/// One backend descriptor. Set attributes, then finalize.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] static Result<Descriptor> make(const Cudnn& cudnn, cudnnBackendDescriptorType_t type);

  [[nodiscard]] cudnnBackendDescriptor_t get() const { return raw_; }

  Status set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
             const void* values);
  Status set(cudnnBackendAttributeName_t name, const Descriptor& value);
  Status set(cudnnBackendAttributeName_t name, std::int64_t value);
  Status set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values);
  Status set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  Status set_bool(cudnnBackendAttributeName_t name, bool value);
  Status set_float(cudnnBackendAttributeName_t name, float value);
  Status finalize();

  [[nodiscard]] Result<std::int64_t> integer(cudnnBackendAttributeName_t name) const;
  /// Child descriptors, `most` of them at most; cuDNN fills descriptors of `type` that the caller makes.
  [[nodiscard]] Result<std::vector<Descriptor>> children(cudnnBackendAttributeName_t name,
                                                         cudnnBackendDescriptorType_t type, std::int64_t most) const;
  /// How many values an attribute has, where cuDNN tells: it does for heuristics' results, not for knob choices.
  [[nodiscard]] Result<std::int64_t> count(cudnnBackendAttributeName_t name) const;

 private:
  const Cudnn* cudnn_ = nullptr;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

using Dimensions = std::array<std::int64_t, 4>;

/// Strides of a contiguous tensor in the order of `dimensions`.
[[nodiscard]] Dimensions contiguous_strides(const Dimensions& dimensions);

struct TensorOptions {
  std::int64_t id;
  cudnnDataType_t type;
  Dimensions dimensions;
  Dimensions strides;
  bool is_virtual = false;   ///< lives inside the graph only
  bool is_by_value = false;  ///< its address is a host address
};
[[nodiscard]] Result<Descriptor> make_tensor(const Cudnn& cudnn, const TensorOptions& options);

/// An operation graph, finalized.
[[nodiscard]] Result<Descriptor> make_graph(const Cudnn& cudnn, std::span<const Descriptor> operations);

/// An execution plan, ready to run.
struct Plan {
  Descriptor descriptor;
  std::int64_t workspace_bytes = 0;
  std::string name;  ///< "engine 28, knobs 2=33 14=4"
};

struct PlanRequest {
  std::size_t candidates = 8;                             ///< most plans wanted
  std::int64_t workspace_limit_bytes = 0;                 ///< plans that need more are left out
  std::span<const cudnnBackendNumericalNote_t> excluded;  ///< engines with one of these notes are left out
};

/// Plans for a graph in the order in which cuDNN's heuristics rank them, each configuration once; those that do not
/// compile here are left out. Unsupported error naming how many were proposed if none is left.
[[nodiscard]] Result<std::vector<Plan>> make_plans(const Cudnn& cudnn, const Descriptor& graph,
                                                   const PlanRequest& request);

/// The addresses of one execution. `ids` and `pointers` belong together.
struct Bindings {
  std::span<const std::int64_t> ids;
  std::span<void* const> pointers;
  void* workspace = nullptr;
};
[[nodiscard]] Result<Descriptor> make_variant_pack(const Cudnn& cudnn, const Bindings& bindings);

}  // namespace warpmark::workloads::dnn
