#include "warpmark/collective/collective_request.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>

#include "base/text.h"
#include "base/units.h"
#include "collectives/mpi/mpi_module_api.h"
#include "collectives/net/live.h"
#include "collectives/results/tuning.h"
#include "collectives/results/verdict.h"
#include "collectives/start/worker.h"
#include "device/cuda/backend.h"
#include "device/nvml/nvml.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using collectives::Expectation;
using collectives::LaunchOptions;
using collectives::Plan;

Result<std::vector<collectives::ReduceOp>> parse_ops(const std::string& text) {
  using collectives::ReduceOp;
  if (text == "all") return std::vector{ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};
  WM_ASSIGN(const auto op, collectives::parse_reduce_op(text));
  return std::vector{op};
}

Result<double> parse_byte_rate(const std::string& text) {
  WM_ASSIGN(const double rate, parse_quantity(text, "B/s"));
  return rate > 0 ? Result<double>(rate) : usage_error("--fabric must be above 0");
}

using Sweep = CollectiveRequest;
constexpr OptionSpec kCollectiveOptions[] = {
    {"--ranks", "N", "processes, started through mpirun or srun (default: 2 with MPI)",
     to<&Sweep::ranks>.within({1, 100'000})},
    {"-g", "GPUS", "GPUs that one process drives (default: all with one process, else 1)",
     to<&Sweep::gpus>.within({1, 64})},
    {"--engine", "ENGINE", "mpi, nccl, or auto: NCCL where there are GPUs and --ranks is not given",
     to<&Sweep::asked_engine>.chosen(), "auto mpi nccl"},
    {"-b", "BYTES", "smallest size (default 8); K, M and G are powers of 1024",
     by<collectives::parse_size, &Sweep::from>},
    {"-e", "BYTES", "largest size (default 64M with MPI, 1G with NCCL)", by<collectives::parse_size, &Sweep::to>},
    {"-f", "FACTOR", "between sizes", to<&Sweep::factor>},
    {"-i", "BYTES", "step between sizes, instead of a factor", by<collectives::parse_size, &Sweep::step>},
    {"-n", "N", "timed calls of each size and placement", to<&Plan::iterations>.within({1, 1'000'000})},
    {"-w", "N", "calls before them", to<&Sweep::plan, &Plan::warmups>.within({0, 1'000'000})},
    {"-d", "TYPE", "f64 f32 f16 bf16 int8 uint8 int32 int64, or nccl-tests' names (default f32)",
     by<collectives::parse_data_type, &Sweep::type>, "f64 f32 f16 bf16 int8 uint8 int32 int64"},
    {"-o", "OP", "sum prod min max avg, or all (default sum)", by<parse_ops, &Plan::ops>, "sum prod min max avg all"},
    {"-r", "RANK", "root of broadcast, reduce, gather and scatter (default 0)", to<&Plan::root>.within({0, 1'000'000})},
    {"-c", "N", "check what was received (default 1); 0: do not", to<&Plan::check>},
    {"-a", "0..3", "0: time of rank 0, 1: mean, 2: least, 3: largest over ranks", to<&Plan::average>.within({0, 3})},
    {"-G", "N", "replay the calls N times as one CUDA graph (NCCL_GRAPH_REGISTER=0 unless it is set)",
     to<&Plan::graph>.within({0, 1000})},
    {"-T", "SECONDS", "longest without progress, then all ranks are ended", to<&Plan::timeout_s>.within(kPositive)},
    {"--place", "WHICH", "out, in, or both", to<&Sweep::place>.chosen(), "out in both"},
    {"--preset", "NAME",
     "gradients (1.2e9 elements' worth of 1M to 2G, in place) or decades (1 to 10000 MB); -b and -e leave sizes out",
     to<&Sweep::preset>.chosen(), "gradients decades"},
    {"--rounds", "N", "sweeps, each in fresh processes (default 1; 3 with --sweep and --tune)",
     to<&Sweep::asked_rounds>.within({1, 1000})},
    {"--fabric", "RATE", "what the link between ranks carries, such as 400GB/s: 92 % of it is expected",
     by<parse_byte_rate, &Sweep::fabric>},
    {"--expect", "RATIO", "share of the fabric that sizes from 64 MiB must reach", to<&Expectation::share>},
    {"--against", "SESSION", "a stored sweep or its file: at most --tolerance below it is expected",
     to<&Sweep::against>},
    {"--tolerance", "RATIO", "allowed below the baseline", to<&Expectation::tolerance>},
    {"--links", "SESSION", "a session of `warpmark links`: its bandwidths are shown next to these", to<&Sweep::links>},
    {"--sweep", "NAME=A,B", "compare settings of variables with the default, as NCCL_ALGO=Ring,Tree",
     to<&Sweep::sweeps>},
    {"--tune", "",
     "try NCCL's algorithms, protocols, threads, channels and interfaces, or Open MPI's parameters, one by one",
     to<&Sweep::tunes>},
    {"--nvls", "", "let NCCL use NVLink's in-switch reductions, which are off unless asked for", to<&Sweep::nvls>},
    {"--launcher", "NAME", "mpirun, srun or auto", to<&LaunchOptions::launcher>, "auto mpirun srun"},
    {"--launcher-arg", "WORD", "a further word for the launcher", to<&LaunchOptions::more>},
    {"--hosts", "FILE", "hosts for mpirun, one a line", to<&LaunchOptions::hosts>},
    {"--oversubscribe", "", "allow more ranks than processors", to<&LaunchOptions::oversubscribe>},
    {"--plant", "FAULT",
     "see that a fault is found: wrong_byte:RANK slow:RANK:TIME dead:RANK stopped:RANK unequal:RANK",
     by<collectives::parse_plant, &Plan::plant>},
    {"--as-rank", "PLAN", "be one of the ranks; what the launcher starts", to<&Sweep::as_rank>},
    {"--alone", "", "with --as-rank: without MPI", to<&Sweep::alone>},
    {"--json", "[FILE]", "write the results as JSON (warpmark.collective/1)"},
    kHtmlOption,
    {"--out", "DIR", "write collective.json, report.md and report.html"},
    {"--format", "FORMAT", "format of what is printed: text, md, html, json", to<&Sweep::format>.chosen(),
     "text md html json"},
    {"--no-store", "", "do not store the runs in the history"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or your own file)"},
};

Status choose_engine(const std::optional<collectives::Placed>& placed, CollectiveRequest& request) {
  const auto& asked = request.asked_engine;
  const bool gpus = device::kCudaBackend.available().available;
  const bool nccl = asked == "nccl" || (asked == "auto" && (request.gpus || (gpus && !request.ranks)));
  request.plan.engine = nccl ? "nccl" : "mpi";
  const int ranks = request.launch.ranks = request.ranks.value_or(nccl ? 1 : 2);
  request.plan.gpus = request.gpus.value_or(ranks > 1 ? 1 : 0);
  if (!nccl && request.gpus) return usage_error("-g counts GPUs, which MPI does not use", "give --ranks");
  if (!nccl && ranks < 2 && !placed) {
    return usage_error("one rank has no peer", "use --ranks 2 or more");
  }
  if (nccl && ranks == 1 && request.launch.launcher == "auto") request.launch.launcher = "none";
  return {};
}

/// What a preset says and the options contradict.
Status no_contradiction(const ParsedOptions& options, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!options.has(name)) continue;
    return usage_error(fmt::format("--preset {} already says what {} does", options.get("--preset"), name),
                       "leave one of them away");
  }
  return {};
}

/// -b and -e leave sizes of a preset out.
Status cut_sizes(CollectiveRequest& request) {
  auto& sizes = request.plan.sizes;
  std::erase_if(
      sizes, [&](std::int64_t size) { return size < request.from.value_or(0) || (request.to && size > *request.to); });
  return sizes.empty() ? usage_error("-b and -e leave no size of the preset") : Status();
}

Status take_preset(const ParsedOptions& options, CollectiveRequest& request) {
  auto& plan = request.plan;
  if (request.preset == "gradients") {
    WM_TRY(no_contradiction(options, {"-f", "-i", "-d", "--place"}));
    // A model of 1.2e9 parameters exchanges 2.4 GB in bf16: buckets of 1 MiB up to the whole.
    plan.out_of_place = false;
    plan.type = collectives::DataType::f32;
    WM_ASSIGN(plan.sizes, collectives::sizes_of({.from = 1 << 20, .to = std::int64_t{2} << 30, .factor = 2}));
    return cut_sizes(request);
  }
  WM_TRY(no_contradiction(options, {"-f", "-i"}));
  for (std::int64_t megabytes = 1; megabytes <= 10'000; megabytes *= 10) plan.sizes.push_back(megabytes * 1'000'000);
  // MPI counts 2^31 - 1 elements at most, of which 10 GB have 2.5e9 in f32.
  if (plan.engine == "mpi" && !request.type) plan.type = collectives::DataType::f64;
  return cut_sizes(request);
}

Status take_sizes(const ParsedOptions& options, CollectiveRequest& request) {
  auto& plan = request.plan;
  plan.out_of_place = request.place != "in";
  plan.in_place = request.place != "out";
  plan.type = request.type.value_or(collectives::DataType::f32);
  if (!request.preset.empty()) return take_preset(options, request);
  collectives::SizeRange range{.from = request.from.value_or(8)};
  const std::int64_t largest = plan.engine == "nccl" ? std::int64_t{1} << 30 : std::int64_t{64} << 20;
  range.to = request.to.value_or(request.from ? std::max(range.from, largest) : largest);
  if (options.has("-f") && options.has("-i")) return usage_error("give a factor -f or a step -i, not both");
  range.step = request.step;
  if (range.step == 0) range.factor = request.factor;
  WM_ASSIGN(plan.sizes, collectives::sizes_of(range));
  return {};
}

std::vector<std::string> network_interfaces() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net", ignored)) {
    const auto name = entry.path().filename().string();
    if (name != "lo") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The default, and one variable at a time: all combinations of all would take hours.
Result<std::vector<collectives::Settings>> tuned_settings(const CollectiveRequest& request) {
  const auto& plan = request.plan;
  std::vector<collectives::Settings> settings{{}};
  if (plan.engine == "nccl") {
    for (const auto& variable : collectives::tuned_variables(network_interfaces())) {
      WM_ASSIGN(const auto some, collectives::combinations({variable}));
      settings.insert(settings.end(), some.begin() + 1, some.end());
    }
    return settings;
  }
  WM_ASSIGN(const std::string parameters, collectives::open_mpi_parameters());
  const auto all =
      collectives::open_mpi_settings(plan.kind, parameters, !request.launch.hosts.empty(), network_interfaces());
  settings.insert(settings.end(), all.begin(), all.end());
  return settings;
}

Status take_settings(const ParsedOptions& options, CollectiveRequest& request) {
  const auto& sweeps = request.sweeps;
  if (!sweeps.empty() && request.tunes) return usage_error("give --sweep or --tune, not both");
  for (const char* name : {"--against", "--links"}) {
    if (!options.has(name) || (sweeps.empty() && !request.tunes)) continue;
    return usage_error(std::string(name) + " is for one sweep, --sweep and --tune compare settings", "leave it out");
  }
  if (!sweeps.empty()) {
    WM_ASSIGN(request.settings, collectives::combinations(sweeps));
  }
  if (request.tunes) {
    WM_ASSIGN(request.settings, tuned_settings(request));
  }
  request.rounds = request.asked_rounds.value_or(request.settings.empty() ? 1 : 3);
  return {};
}

/// What joins this host to others: all InfiniBand and RoCE ports that are up.
void expect_of_network(collectives::Expectation& expectation) {
  int up = 0;
  for (const auto& port : collectives::net::infiniband_ports()) {
    if (port.state.find("ACTIVE") == std::string::npos || !(port.speed > 0)) continue;
    expectation.network += port.speed;
    expectation.port = std::max(expectation.port, port.speed);
    ++up;
  }
  expectation.network_source = fmt::format("{} InfiniBand port{} of a host", up, up == 1 ? "" : "s");
}

/// The fabric of this machine's NVLinks, and of its network; which of them counts shows where ranks are.
void expect_of_topology(CollectiveRequest& request) {
  if (request.fabric) {
    request.expectation.fabric = *request.fabric;
    request.expectation.source = "given";
    request.expectation.given = true;
    return;
  }
  if (request.plan.engine != "nccl") return;
  const auto gpus = device::nvml::gpu_list();
  if (!gpus.ok() || gpus->empty()) return;
  const auto& gpu = gpus->front();
  const auto given = std::pair(request.expectation.share, request.expectation.tolerance);
  request.expectation =
      collectives::expectation_of_nvlinks(gpu.nvlink_version.value_or(0), gpu.nvlinks_active.value_or(0));
  std::tie(request.expectation.share, request.expectation.tolerance) = given;
  expect_of_network(request.expectation);
}

}  // namespace

std::span<const OptionSpec> collective_options() { return kCollectiveOptions; }

Result<CollectiveRequest> collective_request_of(const Context& context, const ParsedOptions& options) {
  const auto& words = options.positionals();
  if (words.size() != 1) {
    return usage_error(words.empty() ? "which collective?" : "one collective at a time",
                       "one of " + join(ids_of(collectives::collectives()), ", "));
  }
  CollectiveRequest request;
  WM_TRY(read_options(options, request, request.plan, request.launch, request.expectation));
  WM_ASSIGN(request.plan.kind, collectives::parse_collective(words[0]));
  const auto placed = collectives::placed_by(context.environment);  // by the user's own mpirun or srun
  WM_TRY(choose_engine(placed, request));
  WM_TRY(take_sizes(options, request));
  WM_TRY(take_settings(options, request));
  expect_of_topology(request);
  if (request.plan.plant.fault == collectives::Fault::unequal && request.launch.ranks == 1 && !placed) {
    return usage_error("ranks of one process are called with one size", "plant it with --ranks, a process each");
  }
  request.launch.interrupted = &context.interrupted;
  if (!request.nvls && request.plan.engine == "nccl") request.launch.environment.emplace_back("NCCL_NVLS_ENABLE", "0");
  // Graphs of several GPUs in one process did not end with NCCL 2.28.9, which registers captured buffers by itself.
  if (request.plan.graph > 0 && request.plan.engine == "nccl" &&
      context.environment("NCCL_GRAPH_REGISTER") == nullptr) {
    request.launch.environment.emplace_back("NCCL_GRAPH_REGISTER", "0");
  }
  return request;
}

}  // namespace warpmark::apps
