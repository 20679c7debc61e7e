#include "profile/module/recorder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <utility>

namespace warpmark::profile::module {
namespace {

constexpr auto kBetweenPolls = std::chrono::milliseconds(100);

std::int64_t written_ns(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return 0;
  return static_cast<std::int64_t>(found.st_mtim.tv_sec) * 1'000'000'000 + found.st_mtim.tv_nsec;
}

}  // namespace

Request parse_request(const std::string& text) {
  Request request;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals != std::string::npos) request[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return request;
}

void await_requests(std::string folder, std::function<void(const Request&)> record) {
  const std::string path = std::move(folder) + "/" + std::to_string(getpid()) + ".wake";
  std::thread([path, record = std::move(record), seen = std::int64_t{0}]() mutable {
    while (true) {
      std::this_thread::sleep_for(kBetweenPolls);
      const std::int64_t written = written_ns(path);
      if (written == 0 || written == seen) continue;
      seen = written;
      std::ifstream file(path);
      record(parse_request({std::istreambuf_iterator<char>(file), {}}));
    }
  }).detach();
}

}  // namespace warpmark::profile::module
