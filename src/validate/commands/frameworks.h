// Which versions of the frameworks a Python command will use, asked of its interpreter and of the packages' metadata.
// No framework is imported, in our process or in the interpreter's.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace warpmark::validate {

/// The interpreter that a command runs: "python3" of {"python3", "train.py"}, or what the first line of a script names,
/// as of torchrun. Empty for what is no Python. `path` is PATH.
[[nodiscard]] std::string python_of(const std::vector<std::string>& words, const std::string& path);

/// {"PyTorch", "2.6.0"}, {"PyTorch's CUDA", "12.4"}, {"JAX", "0.5.0"}, ... of what is installed for the command; none
/// where it is no Python, or the interpreter does not answer within some seconds. Asked once for each interpreter: some
/// 50 ms. Any thread.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> framework_versions(const std::vector<std::string>& words,
                                                                                  const std::string& directory = {});

}  // namespace warpmark::validate
