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
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kCollectiveOptions[] = {
    {"--ranks", "N", "processes, started through mpirun or srun (default: 2 with MPI)"},
    {"-g", "GPUS", "GPUs that one process drives (default: all with one process, else 1)"},
    {"--engine", "ENGINE", "mpi, nccl, or auto (default): NCCL where there are GPUs and --ranks is not given", false,
     "auto mpi nccl"},
    {"-b", "BYTES", "smallest size (default 8); K, M and G are powers of 1024"},
    {"-e", "BYTES", "largest size (default 64M with MPI, 1G with NCCL)"},
    {"-f", "FACTOR", "between sizes (default 8)"},
    {"-i", "BYTES", "step between sizes, instead of a factor"},
    {"-n", "N", "timed calls of each size and placement (default 20)"},
    {"-w", "N", "calls before them (default 5)"},
    {"-d", "TYPE", "f64 f32 f16 bf16 int8 uint8 int32 int64, or nccl-tests' names (default f32)", false,
     "f64 f32 f16 bf16 int8 uint8 int32 int64"},
    {"-o", "OP", "sum prod min max avg, or all (default sum)", false, "sum prod min max avg all"},
    {"-r", "RANK", "root of broadcast, reduce, gather and scatter (default 0)"},
    {"-c", "N", "check what was received (default 1); 0: do not"},
    {"-a", "0..3", "time of rank 0, mean (1, default), least or largest over ranks"},
    {"-G", "N", "replay the calls N times as one CUDA graph (NCCL_GRAPH_REGISTER=0 unless it is set)"},
    {"-T", "SECONDS", "longest without progress, then all ranks are ended (default 60)"},
    {"--place", "WHICH", "out, in, or both (default)", false, "out in both"},
    {"--preset", "NAME",
     "gradients (1.2e9 elements' worth of 1M to 2G, in place) or decades (1 to 10000 MB); -b and -e leave sizes out",
     false, "gradients decades"},
    {"--rounds", "N", "sweeps, each in fresh processes (default 1; 3 with --sweep and --tune)"},
    {"--fabric", "RATE", "what the link between ranks carries, such as 400GB/s: 92 % of it is expected"},
    {"--expect", "RATIO", "share of the fabric that sizes from 64 MiB must reach (default 92%)"},
    {"--against", "SESSION", "a stored sweep or its file: at most --tolerance below it is expected", false, "<runs>"},
    {"--tolerance", "RATIO", "allowed below the baseline (default 5%)"},
    {"--links", "SESSION", "a session of `warpmark links`: its bandwidths are shown next to these", false, "<runs>"},
    {"--sweep", "NAME=A,B", "compare settings of variables with the default, as NCCL_ALGO=Ring,Tree", true},
    {"--tune", "",
     "try NCCL's algorithms, protocols, threads, channels and interfaces, or Open MPI's parameters, one by one"},
    {"--nvls", "", "let NCCL use NVLink's in-switch reductions, which are off unless asked for"},
    {"--launcher", "NAME", "mpirun, srun or auto (default)", false, "auto mpirun srun"},
    {"--launcher-arg", "WORD", "a further word for the launcher", true},
    {"--hosts", "FILE", "hosts for mpirun, one a line", false, "<files>"},
    {"--oversubscribe", "", "allow more ranks than processors"},
    {"--plant", "FAULT",
     "see that a fault is found: wrong_byte:RANK slow:RANK:TIME dead:RANK stopped:RANK unequal:RANK"},
    {"--as-rank", "PLAN", "be one of the ranks; what the launcher starts"},
    {"--alone", "", "with --as-rank: without MPI"},
    {"--json", "[FILE]", "write the results as JSON (warpmark.collective/1)", false, "<files>"},
    kHtmlOption,
    {"--out", "DIR", "write collective.json, report.md and report.html", false, "<files>"},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
    {"--no-store", "", "do not store the runs in the history"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or your own file)", false, "<files>"},
};

Result<std::int64_t> size_option(const ParsedOptions& options, const char* name, std::int64_t otherwise) {
  if (!options.has(name)) return otherwise;
  return collectives::parse_size(options.get(name));
}

Status choose_engine(const ParsedOptions& options, const std::optional<collectives::Placed>& placed,
                     CollectiveRequest& request) {
  const std::string asked = options.get("--engine", "auto");
  if (asked != "auto" && asked != "mpi" && asked != "nccl") {
    return usage_error("there is no engine '" + asked + "'", "engines: auto, mpi, nccl");
  }
  const bool gpus = device::kCudaBackend.available().available;
  const bool nccl = asked == "nccl" || (asked == "auto" && (options.has("-g") || (gpus && !options.has("--ranks"))));
  request.plan.engine = nccl ? "nccl" : "mpi";
  WM_ASSIGN(const auto ranks, count_of(options, "--ranks", nccl ? 1 : 2, 1, 100'000));
  WM_ASSIGN(const auto per_process, count_of(options, "-g", ranks > 1 ? 1 : 0, 1, 64));
  request.launch.ranks = static_cast<int>(ranks);
  request.plan.gpus = static_cast<int>(per_process);
  if (!nccl && options.has("-g")) return usage_error("-g counts GPUs, which MPI does not use", "give --ranks");
  if (!nccl && ranks < 2 && !placed) {
    return usage_error("one rank has no peer", "use --ranks 2 or more");
  }
  if (nccl && ranks == 1 && options.get("--launcher", "auto") == "auto") request.launch.launcher = "none";
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
Status cut_sizes(const ParsedOptions& options, collectives::Plan& plan) {
  WM_ASSIGN(const auto from, size_option(options, "-b", 0));
  WM_ASSIGN(const auto to, size_option(options, "-e", INT64_MAX));
  std::erase_if(plan.sizes, [&](std::int64_t size) { return size < from || size > to; });
  if (plan.sizes.empty()) return usage_error("-b and -e leave no size of the preset");
  return {};
}

Status read_preset(const ParsedOptions& options, collectives::Plan& plan) {
  const std::string preset = options.get("--preset");
  if (preset == "gradients") {
    WM_TRY(no_contradiction(options, {"-f", "-i", "-d", "--place"}));
    // A model of 1.2e9 parameters exchanges 2.4 GB in bf16: buckets of 1 MiB up to the whole.
    plan.out_of_place = false;
    plan.type = collectives::DataType::f32;
    WM_ASSIGN(plan.sizes, collectives::sizes_of({.from = 1 << 20, .to = std::int64_t{2} << 30, .factor = 2}));
    return cut_sizes(options, plan);
  }
  if (preset != "decades") return usage_error("there is no preset '" + preset + "'", "presets: gradients, decades");
  WM_TRY(no_contradiction(options, {"-f", "-i"}));
  for (std::int64_t megabytes = 1; megabytes <= 10'000; megabytes *= 10) plan.sizes.push_back(megabytes * 1'000'000);
  // MPI counts 2^31 - 1 elements at most, of which 10 GB have 2.5e9 in f32.
  if (plan.engine == "mpi" && !options.has("-d")) plan.type = collectives::DataType::f64;
  return cut_sizes(options, plan);
}

Status read_sizes(const ParsedOptions& options, collectives::Plan& plan) {
  if (options.has("--preset")) return read_preset(options, plan);
  collectives::SizeRange range;
  WM_ASSIGN(range.from, size_option(options, "-b", 8));
  const std::int64_t largest = plan.engine == "nccl" ? std::int64_t{1} << 30 : std::int64_t{64} << 20;
  WM_ASSIGN(range.to, size_option(options, "-e", options.has("-b") ? std::max(range.from, largest) : largest));
  if (options.has("-f") && options.has("-i")) return usage_error("give a factor -f or a step -i, not both");
  WM_ASSIGN(range.step, size_option(options, "-i", 0));
  if (range.step == 0) {
    WM_ASSIGN(range.factor, parse_number(options.get("-f", "8")));
  }
  WM_ASSIGN(plan.sizes, collectives::sizes_of(range));
  return {};
}

Status read_calls(const ParsedOptions& options, collectives::Plan& plan) {
  WM_ASSIGN(const auto iterations, count_of(options, "-n", 20, 1, 1'000'000));
  WM_ASSIGN(const auto warmups, count_of(options, "-w", 5, 0, 1'000'000));
  WM_ASSIGN(const auto root, count_of(options, "-r", 0, 0, 1'000'000));
  WM_ASSIGN(const auto check, count_of(options, "-c", 1, 0, 1'000'000));
  WM_ASSIGN(const auto average, count_of(options, "-a", 1, 0, 3));
  WM_ASSIGN(const auto graph, count_of(options, "-G", 0, 0, 1'000));
  plan.iterations = static_cast<int>(iterations);
  plan.warmups = static_cast<int>(warmups);
  plan.root = static_cast<int>(root);
  plan.check = check > 0;
  plan.average = static_cast<collectives::RankAverage>(average);
  plan.graph = static_cast<int>(graph);
  if (options.has("-T")) {
    WM_ASSIGN(plan.timeout_s, parse_duration_s(options.get("-T")));
    if (!(plan.timeout_s > 0)) return usage_error("-T must be above 0");
  }
  const std::string place = options.get("--place", "both");
  if (place != "both" && place != "in" && place != "out") return usage_error("--place is out, in or both");
  plan.out_of_place = place != "in";
  plan.in_place = place != "out";
  WM_ASSIGN(plan.type, collectives::parse_data_type(options.get("-d", "f32")));
  const std::string op = options.get("-o", "sum");
  plan.ops.clear();
  if (op == "all") {
    using collectives::ReduceOp;
    plan.ops = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};
    return {};
  }
  WM_ASSIGN(const auto parsed, collectives::parse_reduce_op(op));
  plan.ops = {parsed};
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
Result<std::vector<collectives::Settings>> tuned_settings(const ParsedOptions& options, const collectives::Plan& plan) {
  std::vector<collectives::Settings> settings{{}};
  if (plan.engine == "nccl") {
    for (const auto& variable : collectives::tuned_variables(network_interfaces())) {
      WM_ASSIGN(const auto some, collectives::combinations({variable}));
      settings.insert(settings.end(), some.begin() + 1, some.end());
    }
    return settings;
  }
  WM_ASSIGN(const std::string parameters, collectives::open_mpi_parameters());
  const auto all = collectives::open_mpi_settings(plan.kind, parameters, options.has("--hosts"), network_interfaces());
  settings.insert(settings.end(), all.begin(), all.end());
  return settings;
}

Status read_settings(const ParsedOptions& options, CollectiveRequest& request) {
  const auto sweeps = options.all("--sweep");
  if (!sweeps.empty() && options.has("--tune")) return usage_error("give --sweep or --tune, not both");
  for (const char* name : {"--against", "--links"}) {
    if (!options.has(name) || (sweeps.empty() && !options.has("--tune"))) continue;
    return usage_error(std::string(name) + " is for one sweep, --sweep and --tune compare settings", "leave it out");
  }
  if (!sweeps.empty()) {
    WM_ASSIGN(request.settings, collectives::combinations(sweeps));
  }
  if (options.has("--tune")) {
    WM_ASSIGN(request.settings, tuned_settings(options, request.plan));
  }
  WM_ASSIGN(const auto rounds, count_of(options, "--rounds", request.settings.empty() ? 1 : 3, 1, 1000));
  request.rounds = static_cast<int>(rounds);
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
  if (request.plan.engine != "nccl") return;
  const auto gpus = device::nvml::gpu_list();
  if (!gpus.ok() || gpus->empty()) return;
  const auto& gpu = gpus->front();
  request.expectation =
      collectives::expectation_of_nvlinks(gpu.nvlink_version.value_or(0), gpu.nvlinks_active.value_or(0));
  expect_of_network(request.expectation);
}

Status read_expectation(const ParsedOptions& options, CollectiveRequest& request) {
  expect_of_topology(request);
  if (options.has("--fabric")) {
    request.expectation = {.source = "given", .given = true};
    WM_ASSIGN(request.expectation.fabric, parse_quantity(options.get("--fabric"), "B/s"));
    if (!(request.expectation.fabric > 0)) return usage_error("--fabric must be above 0");
  }
  WM_ASSIGN(request.expectation.share, ratio_of(options, "--expect", request.expectation.share));
  WM_ASSIGN(request.expectation.tolerance, ratio_of(options, "--tolerance", request.expectation.tolerance));
  return {};
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
  WM_ASSIGN(request.plan.kind, collectives::parse_collective(words[0]));
  const auto placed = collectives::placed_by(context.environment);  // by the user's own mpirun or srun
  WM_TRY(choose_engine(options, placed, request));
  WM_TRY(read_calls(options, request.plan));
  WM_TRY(read_sizes(options, request.plan));
  WM_TRY(read_settings(options, request));
  WM_TRY(read_expectation(options, request));
  if (options.has("--plant")) {
    WM_ASSIGN(request.plan.plant, collectives::parse_plant(options.get("--plant")));
    if (request.plan.plant.fault == collectives::Fault::unequal && request.launch.ranks == 1 && !placed) {
      return usage_error("ranks of one process are called with one size", "plant it with --ranks, a process each");
    }
  }
  if (options.has("--launcher")) request.launch.launcher = options.get("--launcher");
  request.launch.hosts = options.get("--hosts");
  request.launch.oversubscribe = options.has("--oversubscribe");
  request.launch.more = options.all("--launcher-arg");
  request.launch.interrupted = &context.interrupted;
  if (!options.has("--nvls") && request.plan.engine == "nccl")
    request.launch.environment.emplace_back("NCCL_NVLS_ENABLE", "0");
  // Graphs of several GPUs in one process did not end with NCCL 2.28.9, which registers captured buffers by itself.
  if (request.plan.graph > 0 && request.plan.engine == "nccl" &&
      context.environment("NCCL_GRAPH_REGISTER") == nullptr) {
    request.launch.environment.emplace_back("NCCL_GRAPH_REGISTER", "0");
  }
  WM_ASSIGN(request.format, format_of(options));
  return request;
}

}  // namespace warpmark::apps
