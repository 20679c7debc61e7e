#include "validate/scaling/training_states.h"

namespace warpmark::validate {
namespace {

bool in_32_bits(Precision precision) { return precision == Precision::fp32 || precision == Precision::tf32; }

}  // namespace

const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::bf16: return "bf16";
    case Precision::fp16: return "fp16";
    case Precision::fp8: return "fp8";
  }
  return "";
}

std::optional<Precision> precision_named(std::string_view name) {
  for (const auto one : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16, Precision::fp8}) {
    if (name == name_of(one)) return one;
  }
  return std::nullopt;
}

const char* flop_type_of(Precision precision) {
  if (precision == Precision::fp32) return "f32";
  return precision == Precision::fp16 ? "f16" : name_of(precision);
}

double element_bytes(Precision precision) { return in_32_bits(precision) ? 4 : 2; }

const char* name_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adam: return "adam";
    case Optimizer::sgd: return "sgd";
    case Optimizer::momentum: return "momentum";
    case Optimizer::adam8bit: return "adam8bit";
  }
  return "";
}

std::optional<Optimizer> optimizer_named(std::string_view name) {
  for (const auto one : {Optimizer::adam, Optimizer::sgd, Optimizer::momentum, Optimizer::adam8bit}) {
    if (name == name_of(one)) return one;
  }
  return std::nullopt;
}

StateBytes state_bytes(const TrainingNumbers& numbers) {
  const double element = element_bytes(numbers.precision);
  const double master = in_32_bits(numbers.precision) ? 0 : 4;
  double states = 0;
  switch (numbers.optimizer) {
    case Optimizer::adam: states = 8; break;
    case Optimizer::sgd: states = 0; break;
    case Optimizer::momentum: states = 4; break;
    case Optimizer::adam8bit: states = 2; break;
  }
  return {element, element, master + states};
}

MemoryPlan state_memory(double parameters, int zero, int replicas, bool offload, const StateBytes& bytes) {
  const double n = replicas;
  MemoryPlan plan;
  plan.parameters = bytes.parameters * parameters / (zero >= 3 ? n : 1);
  plan.gradients = bytes.gradients * parameters / (zero >= 2 ? n : 1);
  plan.optimizer = bytes.optimizer * parameters / (zero >= 1 ? n : 1);
  if (offload) plan.host = plan.optimizer, plan.optimizer = 0;
  return plan;
}

}  // namespace warpmark::validate
