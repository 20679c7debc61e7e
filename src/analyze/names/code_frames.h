// Frames of stacks as recorders write them: "/home/me/train.py:57 main" (warpmark), "train.py(50): main" and
// "<built-in method item of Tensor object at 0x7f>" (PyTorch's profiler, whose lines are those where functions begin),
// "$train.py:50 main" (JAX).
#pragma once

#include <cstdint>
#include <string_view>

namespace warpmark::analyze {

/// Parts of the name of a Python event; views into it.
struct CodeFrame {
  std::string_view file;  ///< empty of built-in functions and modules
  std::int64_t line = 0;
  std::string_view function;  ///< "main"; of built-in functions their name alone: "item"
};

[[nodiscard]] CodeFrame parse_code_frame(std::string_view name);

/// The file is of a package, of Python itself, or none that one could open.
[[nodiscard]] bool is_library_code(std::string_view file);
/// What torch.compile writes and runs.
[[nodiscard]] bool is_generated_by_compiler(std::string_view file);
[[nodiscard]] bool is_of_our_hook(std::string_view file);

/// "train.py" of "/home/me/train.py".
[[nodiscard]] std::string_view file_name_of(std::string_view path);

}  // namespace warpmark::analyze
