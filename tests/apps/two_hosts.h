// Two network namespaces of this machine that stand in for two hosts, and what mpirun needs to start processes on both.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace warpmark::apps {

/// Removed with this. Not made where that is not allowed: see problem().
class TwoHosts {
 public:
  explicit TwoHosts(std::filesystem::path folder) : folder_(std::move(folder)), id_(std::to_string(getpid())) {
    if (geteuid() != 0) {
      problem_ = "only root makes network namespaces";
      return;
    }
    const std::string setup = "set -e; ip netns add " + a() + "; ip netns add " + b() + "; ip link add va" + id_ +
                              " netns " + a() + " type veth peer name vb" + id_ + " netns " + b() + "; ip -n " + a() +
                              " addr add 10.97.0.1/24 dev va" + id_ + "; ip -n " + b() +
                              " addr add 10.97.0.2/24 dev vb" + id_ + "; for n in " + a() + " " + b() +
                              "; do ip -n $n link set lo up; done; ip -n " + a() + " link set va" + id_ +
                              " up; ip -n " + b() + " link set vb" + id_ + " up";
    const auto made = run_process({"sh", "-c", setup}, {.deadline_s = 30});
    if (!made.ok() || made->exit_code != 0) {
      problem_ = "network namespaces are not allowed here: " + (made.ok() ? made->err : made.error().what);
      return;
    }
    // What mpirun takes for ssh: the second host is the second namespace, with a name of its own.
    const std::string agent = "#!/bin/sh\nshift\nexec ip netns exec " + b() +
                              " unshare --uts sh -c 'hostname second-host; exec sh -c \"$*\"' sh \"$*\"\n";
    (void)write_file(agent_path(), agent);
    std::error_code ignored;
    std::filesystem::permissions(agent_path(), std::filesystem::perms::owner_all, ignored);
    (void)write_file(hosts(), "10.97.0.1 slots=1\n10.97.0.2 slots=1\n");
  }
  ~TwoHosts() {
    (void)run_process({"sh", "-c", "ip netns del " + a() + "; ip netns del " + b()}, {.deadline_s = 30});
    std::error_code ignored;
    std::filesystem::remove(agent_path(), ignored);
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::string hosts() const { return (folder_ / "hosts").string(); }
  /// warpmark on the first host, told how the second is reached.
  [[nodiscard]] Result<ProcessOutput> warpmark(const std::string& program, std::vector<std::string> words,
                                               const std::vector<std::string>& command = {}) const {
    words.insert(words.begin(), {"ip", "netns", "exec", a(), program});
    for (const auto& word : {std::string("--mca"), std::string("plm_rsh_agent"), agent_path(), std::string("--mca"),
                             std::string("oob_tcp_if_include"), std::string("10.97.0.0/24"), std::string("--mca"),
                             std::string("btl_tcp_if_include"), std::string("10.97.0.0/24")}) {
      words.insert(words.end(), {"--launcher-arg", word});
    }
    words.insert(words.end(), command.begin(), command.end());
    return run_process(words, {.deadline_s = 100, .own_group = true});
  }

 private:
  [[nodiscard]] std::string a() const { return "wmha" + id_; }
  [[nodiscard]] std::string b() const { return "wmhb" + id_; }
  /// mpirun takes a space in it for the end of it; that of temporary files may have one.
  [[nodiscard]] std::string agent_path() const { return "/tmp/" + a() + ".agent"; }

  std::filesystem::path folder_;
  std::string id_;
  std::string problem_;
};

}  // namespace warpmark::apps
