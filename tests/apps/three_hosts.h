// Three network namespaces of this machine that stand in for three hosts.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "base/subprocess.h"

namespace warpmark::apps {

/// Three hosts: network namespaces with names of their own, on one bridge. Entered as by ssh.
class ThreeHosts {
 public:
  explicit ThreeHosts(const std::string& folder) : folder_(folder), id_("wm" + std::to_string(getpid())) {
    const std::string agent = folder_ + "/agent";
    std::string made = "set -e; ip netns add " + host(1) + "; ip -n " + host(1) + " link add br0 type bridge; ip -n " +
                       host(1) + " addr add 10.97.0.1/24 dev br0; ip -n " + host(1) + " link set br0 up; ip -n " +
                       host(1) + " link set lo up; ";
    for (const int i : {2, 3}) {
      const std::string n = std::to_string(i);
      made += "ip netns add " + host(i) + "; ip link add v" + n + " netns " + host(1) +
              " type veth peer name eth0 netns " + host(i) + "; ip -n " + host(1) + " link set v" + n +
              " master br0 up; ip -n " + host(i) + " addr add 10.97.0." + n + "/24 dev eth0; ip -n " + host(i) +
              " link set eth0 up; ip -n " + host(i) + " link set lo up; ";
    }
    made += "printf '127.0.0.1 localhost\\n10.97.0.1 " + host(1) + "\\n10.97.0.2 " + host(2) + "\\n10.97.0.3 " +
            host(3) + "\\n' > " + folder_ + "/hosts; printf '" + host(2) + " slots=1\\n" + host(3) + " slots=1\\n' > " +
            folder_ +
            "/hostfile; printf '#!/bin/sh\\nhost=$1; shift\\nexec ip netns exec $host unshare -mu sh -c \"hostname "
            "$host; " +
            "mount --bind " + folder_ + "/hosts /etc/hosts; $*\"\\n' > " + agent + "; chmod +x " + agent + "; " +
            agent + " " + host(1) + " true";
    const auto output = run_process({"sh", "-c", made});
    allowed = output.ok() && output->exit_code == 0;
    if (!allowed) why = output.ok() ? output->err : output.error().what;
  }
  ~ThreeHosts() {
    for (const int i : {1, 2, 3}) (void)run_process({"ip", "netns", "del", host(i)});
  }
  [[nodiscard]] std::string host(int number) const { return id_ + "h" + std::to_string(number); }
  /// Starts processes on the first and the others; for OMPI_MCA_plm_rsh_agent.
  [[nodiscard]] std::string agent() const { return folder_ + "/agent"; }
  /// What this host sends goes no faster, such as "200mbit"; false where the kernel cannot do that.
  [[nodiscard]] bool limit(int number, const std::string& rate) const {
    const auto set = run_process({"ip", "netns", "exec", host(number), "tc", "qdisc", "replace", "dev", "eth0", "root",
                                  "tbf", "rate", rate, "burst", "256kb", "latency", "50ms"});
    return set.ok() && set->exit_code == 0;
  }
  [[nodiscard]] std::string on_first(const std::string& command) const {
    return folder_ + "/agent " + host(1) + " '" + command + "'";
  }
  bool allowed = false;
  std::string why;

 private:
  std::string folder_, id_;
};

}  // namespace warpmark::apps
