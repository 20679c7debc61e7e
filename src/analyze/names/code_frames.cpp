#include "analyze/names/code_frames.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace warpmark::analyze {

namespace {

std::int64_t number_of(std::string_view digits) {
  std::int64_t value = -1;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return failure == std::errc() && end == digits.data() + digits.size() ? value : -1;
}

/// "<built-in method item of Tensor object at 0x7f>", "<built-in function len>"
CodeFrame built_in(std::string_view name) {
  for (const std::string_view before : {"<built-in method ", "<built-in function "}) {
    if (name.substr(0, before.size()) != before) continue;
    const std::string_view rest = name.substr(before.size());
    return {{}, 0, rest.substr(0, rest.find_first_of(" >"))};
  }
  return {{}, 0, name};
}

/// In /usr/local/cuda or /usr/local/cuda-12.8 what programs include and link: its samples are programs themselves.
bool is_of_cuda_toolkit(std::string_view file) {
  constexpr std::string_view kRoot = "/usr/local/cuda";
  if (!file.starts_with(kRoot)) return false;
  const std::size_t slash = file.find('/', kRoot.size());
  if (slash == std::string_view::npos) return false;
  const std::string_view version = file.substr(kRoot.size(), slash - kRoot.size());
  if (!version.empty() && (version.front() != '-' || version.find_first_not_of("-.0123456789") != version.npos)) {
    return false;
  }
  const std::string_view within = file.substr(slash + 1);
  constexpr std::array<std::string_view, 4> kParts = {"include/", "lib64/", "targets/", "bin/../targets/"};
  return std::ranges::any_of(kParts, [within](auto part) { return within.starts_with(part); });
}

}  // namespace

CodeFrame parse_code_frame(std::string_view name) {
  if (name.starts_with('$')) name.remove_prefix(1);
  if (name.starts_with("<built-in")) return built_in(name);
  if (const auto close = name.find("): "); close != std::string_view::npos) {  // train.py(50): main
    const auto open = name.rfind('(', close);
    const std::int64_t line = open == std::string_view::npos ? -1 : number_of(name.substr(open + 1, close - open - 1));
    if (line >= 0) return {name.substr(0, open), line, name.substr(close + 3)};
  }
  for (auto at = name.find(':'); at != std::string_view::npos; at = name.find(':', at + 1)) {  // train.py:57 main
    const auto space = name.find(' ', at);
    const std::string_view digits = name.substr(at + 1, space == std::string_view::npos ? space : space - at - 1);
    const std::int64_t line = number_of(digits);
    if (line >= 0) return {name.substr(0, at), line, space == std::string_view::npos ? "" : name.substr(space + 1)};
  }
  return {{}, 0, name};
}

// Named after a hash, "cksu...23.py" (torch/_inductor/codecache.py: a 'c' before 51 digits of base 32), under a folder
// that the user may choose.
bool is_generated_by_compiler(std::string_view file) {
  constexpr std::size_t kHash = 52;
  const std::string_view name = file_name_of(file);
  return name.size() == kHash + 3 && name.front() == 'c' && name.ends_with(".py") &&
         name.substr(0, kHash).find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == std::string_view::npos;
}

bool is_of_our_hook(std::string_view file) { return file.find("_warpmark_") != std::string_view::npos; }

bool is_library_code(std::string_view file) {
  constexpr std::array<std::string_view, 13> kWithin = {"/site-packages/",
                                                        "/dist-packages/",
                                                        "/lib/python",
                                                        "/lib64/python",
                                                        "importlib",
                                                        "/usr/include/",
                                                        "/include/c++/",
                                                        "/cuda/include/",
                                                        "/x86_64-linux/include/",
                                                        "/sbsa-linux/include/",
                                                        "/aarch64-linux/include/",  // targets of a toolkit elsewhere
                                                        "tmpxft_",                  // what nvcc makes of a .cu
                                                        "_warpmark_"};              // our own hook
  // PyTorch's profiler cuts what stands before a package or a module of Python's own.
  constexpr std::array<std::string_view, 16> kBegin = {
      "<",           "torch/",       "jax/",          "jaxlib/",  "cupy/",
      "numpy/",      "threading.py", "contextlib.py", "runpy.py", "multiprocessing/",
      "concurrent/", "selectors.py", "queue.py",      "flax/",    "transformers/",
      "accelerate/"};
  return file.empty() || is_of_cuda_toolkit(file) || is_generated_by_compiler(file) ||
         std::ranges::any_of(kWithin, [file](auto part) { return file.find(part) != std::string_view::npos; }) ||
         std::ranges::any_of(kBegin, [file](auto begin) { return file.starts_with(begin); });
}

std::string_view file_name_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace warpmark::analyze
