// Serves what machine and store tell to Prometheus, or writes it for node_exporter, until it is told to stop.
#include <ostream>

#include "base/files.h"
#include "base/units.h"
#include "device/machine.h"
#include "store/location.h"
#include "warpmark/command.h"
#include "warpmark/sessions/new_session.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/served.h"
#include "watch/exporter/exporter.h"
#include "watch/server/server.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kExporterOptions[] = {
    {"--host", "ADDRESS", "address to listen on (default 127.0.0.1); any but loopback needs --token-file"},
    {"--port", "N", "port (default 9464; 0 takes a free one)"},
    {"--token-file", "FILE", "file with a token that every request needs, as bearer or as basic password", false,
     "<files>"},
    {"--textfile", "FILE", "write FILE for node_exporter's collector instead of listening", false, "<files>"},
    {"--interval", "TIME", "with --textfile: between two writings (default 15s, at least 1s)"},
    {"--once", "", "with --textfile: write once and end"},
    {"--no-store", "", "leave out stored results"},
    {"--state", "FILE", "where it remembers this host's GPUs (default: next to the database)", false, "<files>"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or ~/.local/share/warpmark/warpmark.db)", false, "<files>"},
};

/// What scrapes need comes back at the next one; what the first look at a store or at GPUs needed does not.
constexpr double kExporterTidying_s = 60;

Result<int> write_textfile(Context& context, const ParsedOptions& options, watch::Exporter& exporter) {
  double interval_s = 15;
  if (options.has("--interval")) {
    WM_ASSIGN(interval_s, parse_duration_s(options.get("--interval")));
  }
  if (!(interval_s >= 1)) return usage_error("--interval is too short", "the shortest is 1s");
  const std::string path = options.get("--textfile");
  if (!path.ends_with(".prom")) {
    return usage_error("node_exporter reads files that end with .prom only", "--textfile " + path + ".prom");
  }
  WM_TRY(check_folder_of(path));
  do {
    WM_TRY(write_file(path, exporter.text(watch::TextFormat::prometheus)));
  } while (!options.has("--once") && wait(context, interval_s));
  return kSuccess;
}

Result<int> run_exporter(Context& context, const ParsedOptions& options) {
  watch::ExporterOptions wanted{.host = device::host_name(), .gpus = monitor::nvml_source()};
  wanted.version = build_info().version;
  wanted.revision = build_info().git_sha;
  std::string location;  // where there is neither a store nor a home folder, --state says where
  if (!options.has("--no-store") || !options.has("--state")) {
    WM_ASSIGN(location, store_location(context, options));
  }
  WM_ASSIGN(auto inventory, inventory_of(context, location, options.get("--state")));
  wanted.poll = remembering(context, inventory);
  if (!options.has("--no-store")) {
    wanted.open_store = existing_store(context, location);
    wanted.store_stamp = [location] { return store::file_stamp(location); };
    WM_ASSIGN(wanted.running_folder, store::folder_beside(location, context.environment));
  } else if (options.has("--state")) {  // watches that keep their state there, as watch-NAME.json, are told
    wanted.running_folder = std::filesystem::absolute(options.get("--state")).parent_path();
  }
  for (const char* name : {"--interval", "--once"}) {
    if (options.has(name) && !options.has("--textfile"))
      return usage_error(std::string(name) + " goes with --textfile");
  }
  watch::ServerOptions server{.host = options.get("--host", "127.0.0.1")};
  WM_ASSIGN(const auto port, count_of(options, "--port", 9464, 0, 65535));
  server.port = static_cast<std::uint16_t>(port);
  WM_ASSIGN(server.token, token_of(options));
  server.checks_names = true;
  server.handlers = 2;  // who asks for /healthz does not wait for a look
  watch::Exporter exporter(wanted);
  if (options.has("--textfile")) return write_textfile(context, options, exporter);
  WM_ASSIGN(const auto running,
            watch::Server::start(server, [&](const auto& asked) { return exporter.answer(asked); }));
  context.out << "listening on " << running->url() << '\n' << std::flush;
  do {
    watch::give_back_unused();
  } while (wait(context, kExporterTidying_s));
  return kSuccess;
}

}  // namespace

extern const Command exporter_command{
    .id = "exporter",
    .summary = "serve GPU, host and benchmark metrics to Prometheus",
    .details =
        "Serves /metrics for Prometheus, as text or OpenMetrics, and /healthz: GPUs under the names of NVIDIA's DCGM "
        "exporter, so "
        "that "
        "its dashboards work unchanged; processors, memory, pressure, network interfaces and peers of the host; the "
        "newest stored result of each benchmark with its interval, verdict and time; and how far the newest session "
        "is, and what it measures now. Unavailable metrics are omitted. monitoring/ has alert rules and a Grafana "
        "dashboard.\n"
        "\n"
        "Prints \"listening on http://127.0.0.1:PORT/\" when it is ready. Listens on loopback; on another address "
        "every "
        "request needs the token of --token-file. There is no TLS: put a proxy in front where others can listen.\n"
        "\n"
        "Ctrl-C ends it; the exit code is 0 then as well.",
    .options = kExporterOptions,
    .positional = {},
    .examples =
        "warpmark exporter\n"
        "warpmark exporter --host 0.0.0.0 --token-file token\n"
        "warpmark exporter --textfile /var/lib/prometheus/node-exporter/warpmark.prom",
    .run = run_exporter,
};

}  // namespace warpmark::apps
