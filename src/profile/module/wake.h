// A recorder that sleeps within its program: it touches nothing of CUPTI until `warpmark profile --pid` asks for a
// recording. The request is a file FOLDER/PID.wake, renamed into place, of lines NAME=VALUE: the variables that a
// recorder which is awake finds in its environment. The Python hook reads the same file (_warpmark_dormant.py).
#pragma once

#include <functional>
#include <map>
#include <string>

namespace warpmark::profile::module {

using Request = std::map<std::string, std::string, std::less<>>;

/// Lines without a "=" are left out.
[[nodiscard]] Request parse_request(const std::string& text);

/// Calls `record` from a thread of its own for each request to this process; ten looks a second, for as long as the
/// program runs. One that came before CUDA was loaded counts; --dormant removes leftovers.
void await_requests(std::string folder, std::function<void(const Request&)> record);

}  // namespace warpmark::profile::module
