// Pages over the store for people without a terminal, until it is told to stop; or the same as static files.
#include <fmt/format.h>

#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "device/machine.h"
#include "loadtest/pages/load_page.h"
#include "session/new_session.h"
#include "store/location.h"
#include "warpmark/ab/compare_stored.h"
#include "warpmark/command.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/served.h"
#include "watch/dashboard/dashboard.h"
#include "watch/dashboard/export.h"
#include "watch/dashboard/live.h"
#include "watch/server/server.h"

namespace warpmark::apps {
namespace {

struct DashboardVerb {
  std::string host = "127.0.0.1", certificate, key, files, folder;
  std::uint16_t port = 9465;
};

constexpr OptionSpec kDashboardOptions[] = {
    {"--host", "ADDRESS", "address to listen on; any but loopback needs a token and TLS", to<&DashboardVerb::host>},
    {"--port", "N", "port; 0 takes a free one", to<&DashboardVerb::port>.within({0, 65535})},
    {"--token-file", "FILE", "file with a token that every request needs: the password that the browser asks for"},
    {"--tls-cert", "FILE", "certificate chain (PEM) for HTTPS", to<&DashboardVerb::certificate>},
    {"--tls-key", "FILE", "its key (PEM)", to<&DashboardVerb::key>},
    {"--files", "DIR", "also show the recordings and JSON reports in this folder", to<&DashboardVerb::files>},
    {"--export", "DIR", "write everything as static files into a folder instead of listening",
     to<&DashboardVerb::folder>},
    {"--sessions", "N", "with --export: newest sessions with their runs",
     to<&watch::ExportOptions::sessions>.within({1, 500})},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or ~/.local/share/warpmark/warpmark.db)"},
};

/// What requests needed and nobody uses goes back to the system, so that days of them do not make it grow.
constexpr double kDashboardTidying_s = 60;

/// As `warpmark compare A B` compares them.
Result<watch::ComparedSessions> compare_in_store(store::Store& store, const std::string& a, const std::string& b) {
  watch::ComparedSessions pair;
  WM_ASSIGN(pair.a, load_session(store, a));
  WM_ASSIGN(pair.b, load_session(store, b));
  WM_ASSIGN(pair.comparison, compare_sessions(store, pair.a, pair.b, {}, pair.not_compared));
  return pair;
}

watch::DashboardOptions dashboard_options_of(Context& context, const std::string& location, const DashboardVerb& verb) {
  watch::DashboardOptions wanted;
  wanted.open_store = existing_store(context, location);
  wanted.keeps_store = store::is_postgres(location) || !verb.folder.empty();
  wanted.compare = compare_in_store;
  wanted.report_of = loadtest::page_of_document;
  wanted.files = verb.files;
  wanted.about = "warpmark " + session::build_info().version;
  return wanted;
}

Result<watch::ServerOptions> server_options_of(const ParsedOptions& options, const DashboardVerb& verb) {
  watch::ServerOptions server{.host = verb.host, .port = verb.port};
  WM_ASSIGN(server.token, token_of(options));
  server.certificate_file = verb.certificate;
  server.key_file = verb.key;
  server.needs_tls = true;
  server.checks_names = true;
  server.handlers = 4;
  server.most_connections = 1024;
  server.most_streams = 512;
  return server;
}

Result<int> export_pages(Context& context, const ParsedOptions& options, const std::filesystem::path& folder,
                         watch::Dashboard& dashboard) {
  for (const char* name : {"--host", "--port", "--token-file", "--tls-cert", "--tls-key"}) {
    if (options.has(name)) return usage_error(std::string(name) + " has no effect with --export", "leave it out");
  }
  WM_ASSIGN(const auto wanted, read_options<watch::ExportOptions>(options));
  WM_TRY(open_to_read(context, options));
  WM_TRY(make_named_folder(folder));
  WM_ASSIGN(const auto written, watch::export_dashboard(dashboard, folder, wanted));
  context.out << fmt::format("{} files, {} sessions and {} benchmarks, in {}: open {}\n", written.files,
                             written.sessions, written.cases, folder.string(), (folder / "index.html").string());
  return kSuccess;
}

Result<int> run_dashboard(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto verb, read_options<DashboardVerb>(options));
  WM_ASSIGN(const auto location, store_location(context, options));
  if (!verb.files.empty() && !std::filesystem::is_directory(verb.files)) {
    return usage_error("--files " + verb.files + " is no folder");
  }
  if (options.has("--sessions") && verb.folder.empty()) return usage_error("--sessions goes with --export");
  watch::Dashboard dashboard(dashboard_options_of(context, location, verb));
  if (!verb.folder.empty()) return export_pages(context, options, verb.folder, dashboard);
  WM_ASSIGN(const auto server, server_options_of(options, verb));
  WM_ASSIGN(const auto running,
            watch::Server::start(server, [&](const auto& asked) { return dashboard.answer(asked); }));
  const watch::Live live(
      {.root = "/",
       .host = device::host_name(),
       .gpus = monitor::nvml_source(),
       .open_store = existing_store(context, location)},
      [&] { return running->streams() > 0; }, [&](const std::string& document) { running->publish(document); });
  context.out << "listening on " << running->url() << '\n' << std::flush;
  do {
    watch::give_back_unused();
  } while (wait(context, kDashboardTidying_s));
  return kSuccess;
}

}  // namespace

extern const Command dashboard_command{
    .id = "dashboard",
    .summary = "browse machines, runs and history in a web browser",
    .details =
        "Serves web pages over the database: the current state of the machine, runs, each benchmark over time with "
        "its change points, comparisons of two sessions, the nodes that share the database, and with --files the "
        "recordings and JSON reports of a folder. /api/ serves the same as JSON (docs/dashboard.md). The pages are "
        "read-only.\n"
        "\n"
        "Prints \"listening on http://127.0.0.1:PORT/\" when ready. It listens on loopback: use ssh -L from another "
        "machine. On another address it needs a token and TLS; the browser asks for the token as a password, with any "
        "user name.\n"
        "\n"
        "--export writes static files for a CI artifact or GitHub Pages, without live values and without other "
        "sessions and comparisons.\n"
        "\n"
        "Ctrl-C ends it with exit code 0.",
    .options = kDashboardOptions,
    .examples =
        "warpmark dashboard\n"
        "warpmark dashboard --files results/ --db postgresql://bench@db/warpmark\n"
        "warpmark dashboard --host 0.0.0.0 --token-file t --tls-cert a.pem --tls-key k\n"
        "warpmark dashboard --export site/",
    .run = run_dashboard,
};

}  // namespace warpmark::apps
