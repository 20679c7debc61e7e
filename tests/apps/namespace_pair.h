// Two network namespaces of this machine with a cable between them.
#pragma once

#include <unistd.h>

#include <string>

#include "base/subprocess.h"

namespace warpmark::apps {

/// Removed with this. Not made where that is not allowed: see problem().
class NamespacePair {
 public:
  NamespacePair() : id_(std::to_string(getpid())) {
    if (geteuid() != 0) {
      problem_ = "only root makes network namespaces";
      return;
    }
    const std::string setup = "set -e; ip netns add " + a() + "; ip netns add " + b() + "; ip link add " +
                              interface_of_a() + " netns " + a() + " type veth peer name vb" + id_ + " netns " + b() +
                              "; ip -n " + a() + " addr add " + kAddressOfA + "/24 dev " + interface_of_a() +
                              "; ip -n " + b() + " addr add " + kAddressOfB + "/24 dev vb" + id_ + "; ip -n " + a() +
                              " link set " + interface_of_a() + " up; ip -n " + b() + " link set vb" + id_ +
                              " up; ip -n " + b() + " link set lo up";
    const auto made = run_process({"sh", "-c", setup}, {.deadline_s = 30});
    if (made.ok() && made->exit_code == 0) return;
    problem_ = "network namespaces are not allowed here: " + (made.ok() ? made->err : made.error().what);
  }
  ~NamespacePair() {
    (void)run_process({"sh", "-c", "ip netns del " + a() + "; ip netns del " + b()}, {.deadline_s = 30});
  }
  NamespacePair(const NamespacePair&) = delete;
  NamespacePair& operator=(const NamespacePair&) = delete;

  static constexpr const char* kAddressOfA = "10.99.0.1";
  static constexpr const char* kAddressOfB = "10.99.0.2";
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::string interface_of_a() const { return "va" + id_; }
  /// In front of a command of a shell.
  [[nodiscard]] std::string in_a() const { return "ip netns exec " + a() + " "; }
  [[nodiscard]] std::string in_b() const { return "ip netns exec " + b() + " "; }

 private:
  [[nodiscard]] std::string a() const { return "wma" + id_; }
  [[nodiscard]] std::string b() const { return "wmb" + id_; }

  std::string id_;
  std::string problem_;
};

}  // namespace warpmark::apps
