// Makes what the sampler of Python stacks (workers/hook/_warpmark_stacks.py), or that of native ones
// (profile/module/stacks/native_stacks.h), wrote part of a recording: for each thread a row "Python stack" or "C++
// stack", whose events are the frames, one within the other, for as long as samples show them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::profile {

/// Name of the rows; their process and thread are those of the thread that was sampled.
inline constexpr const char* kPythonStackRow = "Python stack";
inline constexpr const char* kNativeStackRow = "C++ stack";

/// For each part "<process>.wmrec" of which `stacks` holds "<process>.jsonl": a file "<process>.wmrec.stacks" beside it
/// with chunks that go on from it, put behind it in `parts`. Environment error if it cannot be written; lines that make
/// no sense are left out, as the program may have been killed while it wrote. `problem`: why native stacks have no
/// names.
[[nodiscard]] Status add_stacks(const std::filesystem::path& stacks, std::vector<std::filesystem::path>& parts,
                                std::string& problem);

}  // namespace warpmark::profile
