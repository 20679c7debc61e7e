#include "collectives/mpi/mpi_module_api.h"

#include <map>

#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "model/fields/names.h"

namespace warpmark::collectives {
namespace {

constexpr const char* kVariable = "OMPI_MCA_";  // before the name of a parameter

/// The name of its function in Open MPI's component "tuned"; empty where that has no algorithms.
constexpr auto kCollectiveFunctions = in_order(Collective::sendrecv, "allreduce", "allgather", "reduce_scatter_block",
                                               "bcast", "reduce", "alltoall", "gather", "scatter", "");
std::string function_of(Collective kind) { return name_in(kCollectiveFunctions, static_cast<std::int64_t>(kind)); }

struct Parameter {
  std::string value;
  std::vector<std::string> choices;  ///< of an enumeration
};

/// Of lines such as "mca:btl:tcp:param:btl_tcp_links:value:1" and "...:btl_x:enumerator:value:3:none".
std::map<std::string, Parameter> parameters_in(std::string_view text) {
  std::map<std::string, Parameter> parameters;
  for (const auto& line : split(text, '\n')) {
    const auto words = split(line, ':');
    if (words.size() < 7 || words[0] != "mca" || words[3] != "param") continue;
    Parameter& parameter = parameters[words[4]];
    if (words[5] == "value") parameter.value = words[6];
    if (words[5] == "enumerator" && words.size() >= 9) parameter.choices.push_back(words[8]);
  }
  return parameters;
}

}  // namespace

Result<std::string> open_mpi_parameters() {
  std::string all;
  for (const char* framework : {"coll", "btl"}) {
    const auto reported =
        run_process({"ompi_info", "--param", framework, framework == std::string_view("coll") ? "tuned" : "all",
                     "--level", "9", "--parsable"},
                    {.deadline_s = 60});
    if (!reported.ok() || reported->exit_code != 0) {
      return environment_error(
          "ompi_info does not list the settings of Open MPI",
          "it comes with Open MPI (openmpi-bin); of another MPI name the variables: --sweep NAME=A,B");
    }
    all += reported->out;
  }
  return all;
}

std::vector<Settings> open_mpi_settings(Collective kind, std::string_view text, bool several_hosts,
                                        const std::vector<std::string>& interfaces) {
  const auto parameters = parameters_in(text);
  std::vector<Settings> all;
  const auto add = [&](const std::string& name, const std::string& value) {
    const auto known = parameters.find(name);
    if (known != parameters.end() && known->second.value != value) all.push_back({{kVariable + name, value}});
  };
  const std::string algorithm = "coll_tuned_" + function_of(kind) + "_algorithm";
  if (const auto known = parameters.find(algorithm); known != parameters.end()) {
    for (const auto& choice : known->second.choices) {
      if (choice == "ignore") continue;
      all.push_back({{std::string(kVariable) + "coll_tuned_use_dynamic_rules", "1"}, {kVariable + algorithm, choice}});
    }
  }
  // Ranks of one host: "vader" until Open MPI 4, "sm" since 5.
  for (const std::string component : {"btl_vader_", "btl_sm_"}) {
    if (const auto copies = parameters.find(component + "single_copy_mechanism"); copies != parameters.end()) {
      for (const auto& choice : copies->second.choices) add(component + "single_copy_mechanism", choice);
    }
    const auto limit = parameters.find(component + "eager_limit");
    if (limit == parameters.end()) continue;
    const auto bytes = parse_integer(limit->second.value);
    for (const std::int64_t factor : {4, 16}) {
      if (bytes.ok() && *bytes > 0 && *bytes < 1 << 26) add(component + "eager_limit", std::to_string(*bytes * factor));
    }
  }
  if (!several_hosts) return all;
  for (const char* links : {"2", "4"}) add("btl_tcp_links", links);
  for (const auto& name : interfaces) {
    if (interfaces.size() > 1) add("btl_tcp_if_include", name);
  }
  return all;
}

}  // namespace warpmark::collectives
