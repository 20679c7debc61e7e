// Runs conv2d and attention of libwarpmark_cuda.so without the rest of warpmark: prepare, check, time. For comparing
// with bench/gpu/compare_pytorch.py in one call on one machine. Usage:
//   module_bench LIBWARPMARK_CUDA.SO [WORKLOAD k=v k=v ...]...    (cases separated by "--")
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "device/cuda/backend.h"
#include "workloads/cuda_bridge.h"

namespace {

using namespace warpmark;

struct Case {
  std::string workload;
  std::map<std::string, std::string> values;
};

Params params_of(const Case& c) {
  Params params;
  for (const auto& [name, text] : c.values) {
    char* end = nullptr;
    const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
    if (*end == '\0')
      params.set(name, ParamValue{number});
    else
      params.set(name, ParamValue{text});
  }
  return params;
}

Result<double> median_seconds(device::Device& device, measure::Prepared& prepared, std::size_t sets, double guess) {
  const auto launches = static_cast<std::size_t>(std::clamp(5e-3 / guess, 3.0, 40.0));
  WM_ASSIGN(const auto sequence, device.sequence(prepared, {.mode = Mode::cold, .launches = launches, .sets = sets}));
  std::vector<double> samples;
  std::size_t first = 0;
  for (int i = 0; i < 20; ++i) {
    WM_ASSIGN(const double seconds, sequence->time(first));
    first = (first + launches) % sets;
    if (i >= 5) samples.push_back(seconds / static_cast<double>(launches));
  }
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

Status run(const device::CudaModule& module, device::Device& device, const Case& c) {
  const auto* implementation = static_cast<const workloads::CudaImplementation*>(module.workload(c.workload.c_str()));
  if (implementation == nullptr) return unsupported_error("no workload " + c.workload);
  const Params params = params_of(c);
  const auto support = implementation->supports(device.info(), params);
  if (!support.available) return unsupported_error(support.reason, support.hint);
  constexpr std::size_t kSets = 3;
  WM_ASSIGN(const auto prepared,
            implementation->prepare({.device = device, .params = params, .sets = kSets, .seed = 7}));
  WM_TRY(prepared->poison());
  WM_ASSIGN(const double guess, median_seconds(device, *prepared, kSets, 1e-3));
  WM_ASSIGN(const double seconds, median_seconds(device, *prepared, kSets, guess));
  WM_ASSIGN(const ErrorCheck check, prepared->check(kSets - 1));
  fmt::print("{:<10} {:<90} {:9.4f} ms error {:.2e} {} [", c.workload, to_text(params), seconds * 1e3, check.value,
             check.value <= check.tolerance ? "ok" : "WRONG");
  for (const auto& [name, text] : prepared->notes()) fmt::print("{}: {}; ", name, text);
  fmt::print("]\n");
  std::fflush(stdout);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (library == nullptr) {
    fmt::print("cannot load the module: {}\n", dlerror());
    return 2;
  }
  const auto entry = reinterpret_cast<const device::CudaModule* (*)()>(dlsym(library, device::kCudaModuleSymbol));
  const device::CudaModule& module = *entry();
  for (const auto& [name, text] : module.libraries()) fmt::print("{}: {}\n", name, text);
  const auto device = module.open(0);
  if (!device.ok()) {
    fmt::print("{}\n", device.error().what);
    return 2;
  }
  std::vector<Case> cases(1);
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t equals = text.find('=');
    if (text == "--")
      cases.emplace_back();
    else if (equals == std::string::npos)
      cases.back().workload = text;
    else
      cases.back().values[text.substr(0, equals)] = text.substr(equals + 1);
  }
  int failures = 0;
  for (const Case& c : cases) {
    const Status status = run(module, **device, c);
    if (!status.ok()) {
      ++failures;
      fmt::print("{} {}: {} ({})\n", c.workload, to_text(params_of(c)), status.error().what, status.error().hint);
      std::fflush(stdout);
    }
  }
  return failures == 0 ? 0 : 1;
}
