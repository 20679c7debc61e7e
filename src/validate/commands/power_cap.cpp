#include "validate/commands/power_cap.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/units.h"

namespace warpmark::validate {
namespace {

namespace nvml = device::nvml;

/// In a session of its own, so that Ctrl-C and a killed group do not reach it.
Result<std::pair<int, int>> start_restorer(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return environment_error(std::string("pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<std::string> copy = words;
  std::vector<char*> pointers;
  for (auto& word : copy) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t id = 0;
  const int failure = ::posix_spawnp(&id, pointers[0], &files, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[0]);
  if (failure == 0) return std::pair{static_cast<int>(id), ends[1]};
  ::close(ends[1]);
  return environment_error(std::string("cannot start who would restore power limits: ") + std::strerror(failure));
}

}  // namespace

Result<PowerCap> PowerCap::take(std::vector<std::string> uuids, std::vector<std::string> restorer_words) {
  PowerCap cap;
  for (const auto& uuid : uuids) {
    WM_ASSIGN(const auto limits, nvml::power_limits_of(uuid));
    cap.found_.push_back(limits);
    restorer_words.push_back(fmt::format("{}={:.3f}", uuid, limits.now_w));
  }
  cap.uuids_ = std::move(uuids);
  WM_ASSIGN(const auto restorer, start_restorer(restorer_words));
  cap.restorer_ = restorer.first;
  cap.restorer_pipe_ = restorer.second;
  for (std::size_t i = 0; i < cap.uuids_.size(); ++i) {
    WM_TRY(nvml::set_power_limit(cap.uuids_[i], cap.found_[i].now_w));
  }
  return cap;
}

PowerCap::PowerCap(PowerCap&& other) noexcept
    : uuids_(std::move(other.uuids_)),
      found_(std::move(other.found_)),
      restorer_pipe_(std::exchange(other.restorer_pipe_, -1)),
      restorer_(std::exchange(other.restorer_, 0)),
      changed_(std::exchange(other.changed_, false)) {}

PowerCap::~PowerCap() {
  const bool restored = !changed_ || restore().ok();
  if (restorer_pipe_ < 0) return;
  // Without these words the restorer does what we could not.
  if (restored) (void)!::write(restorer_pipe_, "done\n", 5);
  ::close(restorer_pipe_);
  int status = 0;
  while (::waitpid(restorer_, &status, 0) < 0 && errno == EINTR) {
  }
}

Status PowerCap::set(double watts) {
  changed_ = true;
  for (const auto& uuid : uuids_) WM_TRY(nvml::set_power_limit(uuid, watts));
  return {};
}

Status PowerCap::restore() {
  Status first;
  for (std::size_t i = 0; i < uuids_.size(); ++i) {
    const Status set = nvml::set_power_limit(uuids_[i], found_[i].now_w);
    if (first.ok()) first = set;
    const auto now = nvml::power_limits_of(uuids_[i]);
    if (first.ok() && (!now.ok() || std::abs(now->now_w - found_[i].now_w) > 1)) {
      first = environment_error(
          fmt::format("the power limit of {} was {:.0f} W and is not again", uuids_[i], found_[i].now_w),
          fmt::format("nvidia-smi -i {} -pl {:.0f}", uuids_[i], found_[i].now_w));
    }
  }
  if (first.ok()) changed_ = false;
  return first;
}

Status restore_on_command(const std::vector<std::string>& limits) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  std::array<char, 16> reported{};
  std::size_t size = 0;
  while (true) {
    const auto got = ::read(STDIN_FILENO, reported.data() + size, reported.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
    if (size == reported.size()) break;
  }
  if (std::string_view(reported.data(), size).starts_with("done")) return {};
  Status first;
  for (const auto& limit : limits) {
    const auto equals = limit.find('=');
    const auto watts = parse_number(equals == std::string::npos ? "" : limit.substr(equals + 1));
    const Status set = watts.ok() ? nvml::set_power_limit(limit.substr(0, equals), *watts)
                                  : usage_error(limit + " is no GPU with its limit");
    if (first.ok()) first = set;
  }
  return first;
}

GpuEnergy::GpuEnergy() : probe_(measure::nvml_probe()) {
  for (auto& uuid : probe_.list()) {
    if (probe_.energy_j(uuid)) gpus_.push_back(std::move(uuid));
  }
}

std::optional<double> GpuEnergy::joules(std::size_t count) const {
  if (gpus_.empty()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < gpus_.size() && i < count; ++i) {
    const auto energy = probe_.energy_j(gpus_[i]);
    if (!energy) return std::nullopt;
    sum += *energy;
  }
  return sum;
}

}  // namespace warpmark::validate
