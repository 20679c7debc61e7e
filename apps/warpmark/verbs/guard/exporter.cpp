// Serves what machine and store tell to Prometheus, or writes it for node_exporter, until it is told to stop.
#include <ostream>

#include "base/files.h"
#include "device/machine.h"
#include "session/new_session.h"
#include "store/location.h"
#include "warpmark/command.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/served.h"
#include "watch/exporter/exporter.h"
#include "watch/server/server.h"

namespace warpmark::apps {
namespace {

struct ExporterVerb {
  std::string host = "127.0.0.1", textfile, state;
  std::uint16_t port = 9464;
  double interval_s = 15;
  bool once = false;
  bool stores = true;
};

constexpr OptionSpec kExporterOptions[] = {
    {"--host", "ADDRESS", "address to listen on; any but loopback needs --token-file", to<&ExporterVerb::host>},
    {"--port", "N", "port; 0 takes a free one", to<&ExporterVerb::port>.within({0, 65535})},
    {"--token-file", "FILE", "file with a token that every request needs, as bearer or as basic password"},
    {"--textfile", "FILE", "write FILE for node_exporter's collector instead of listening",
     to<&ExporterVerb::textfile>},
    {"--interval", "TIME", "with --textfile: between two writings, at least 1s",
     to<&ExporterVerb::interval_s>.within(kAtLeastOne)},
    {"--once", "", "with --textfile: write once and end", to<&ExporterVerb::once>},
    {"--no-store", "", "leave out stored results", to<&ExporterVerb::stores>},
    {"--state", "FILE", "where it remembers this host's GPUs (default: next to the database)",
     to<&ExporterVerb::state>},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or ~/.local/share/warpmark/warpmark.db)"},
};

/// What scrapes need comes back at the next one; what the first look at a store or at GPUs needed does not.
constexpr double kExporterTidying_s = 60;

Result<int> write_textfile(Context& context, const ExporterVerb& verb, watch::Exporter& exporter) {
  const auto& path = verb.textfile;
  if (!path.ends_with(".prom")) {
    return usage_error("node_exporter reads files that end with .prom only", "--textfile " + path + ".prom");
  }
  WM_TRY(check_folder_of(path));
  do {
    WM_TRY(write_file(path, exporter.text(watch::TextFormat::prometheus)));
  } while (!verb.once && wait(context, verb.interval_s));
  return kSuccess;
}

Result<int> run_exporter(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto verb, read_options<ExporterVerb>(options));
  watch::ExporterOptions wanted{.host = device::host_name(), .gpus = monitor::nvml_source()};
  wanted.version = session::build_info().version;
  wanted.revision = session::build_info().git_sha;
  std::string location;  // where there is neither a store nor a home folder, --state says where
  if (verb.stores || verb.state.empty()) {
    WM_ASSIGN(location, store_location(context, options));
  }
  WM_ASSIGN(auto inventory, inventory_of(context, location, verb.state));
  wanted.poll = remembering(context, inventory);
  if (verb.stores) {
    wanted.open_store = existing_store(context, location);
    wanted.store_stamp = [location] { return store::file_stamp(location); };
    WM_ASSIGN(wanted.running_folder, store::sibling_folder(location, context.environment));
  } else if (!verb.state.empty()) {  // watches that keep their state there, as watch-NAME.json, are told
    wanted.running_folder = std::filesystem::absolute(verb.state).parent_path();
  }
  for (const char* name : {"--interval", "--once"}) {
    if (options.has(name) && verb.textfile.empty()) return usage_error(std::string(name) + " goes with --textfile");
  }
  watch::ServerOptions server{.host = verb.host, .port = verb.port};
  WM_ASSIGN(server.token, token_of(options));
  server.checks_names = true;
  server.handlers = 2;  // who asks for /healthz does not wait for a look
  watch::Exporter exporter(wanted);
  if (!verb.textfile.empty()) return write_textfile(context, verb, exporter);
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
    .examples =
        "warpmark exporter\n"
        "warpmark exporter --host 0.0.0.0 --token-file token\n"
        "warpmark exporter --textfile /var/lib/prometheus/node-exporter/warpmark.prom",
    .run = run_exporter,
};

}  // namespace warpmark::apps
