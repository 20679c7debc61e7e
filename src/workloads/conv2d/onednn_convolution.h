// One pass of a convolution by oneDNN, from the user's layout to the user's layout.
#pragma once

#include <dnnl.hpp>

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "workloads/conv2d/conv2d_shape.h"
#include "workloads/onednn.h"
#include "workloads/set_memory.h"

namespace warpmark::workloads {

/// How activations reach the kernel.
enum class ConvActivations {
  plain,      ///< the kernel works on the user's layout
  reordered,  ///< the kernel's own layout; reordering to and from the user's is part of every run
};

/// Weights that are an input are brought into the kernel's layout once, before timing, as an application does when it
/// loads a model; weights that are the result are brought back to the user's layout in every run.
class OneDnnConvolution {
 public:
  /// `memory` must outlive it. Throws dnnl::error: make it within onednn_call().
  OneDnnConvolution(const ConvShape& shape, const SetMemory& memory, ConvActivations activations);

  [[nodiscard]] Status run(std::size_t set) const;

  [[nodiscard]] const std::string& kernel() const { return kernel_; }
  /// "input, output", or "" if the kernel works on the user's layout.
  [[nodiscard]] const std::string& reordered() const { return reordered_; }

 private:
  struct Tensor;
  void make_scratchpad(const ConvShape& shape, const dnnl::memory::desc& layout);
  void bind(const SetMemory& memory, const std::vector<Tensor>& tensors, const dnnl::primitive& primitive);

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory scratch_room_;  ///< holds scratchpad_
  dnnl::memory scratchpad_;
  std::string kernel_;
  std::string reordered_;
  std::vector<std::vector<BoundPrimitive>> runs_;  ///< steps of each set
};

}  // namespace warpmark::workloads
