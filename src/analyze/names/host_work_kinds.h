// What a function of the host does, by its name, where that decides what helps.
#pragma once

#include <string_view>

namespace warpmark::analyze {

enum class HostWorkKind { other, compiling, collecting_garbage, sleeping, writing, locking };

/// Of a function or call as a recording names it: "compile_fx (compile_fx.py:1500)", "<built-in function sleep>".
[[nodiscard]] HostWorkKind kind_of_host_work(std::string_view name);

}  // namespace warpmark::analyze
