// Looks at rules and tells somebody, until it is told to stop; once, for cron and CI; or over the past, to try them.
#include <fmt/format.h>

#include <ostream>

#include "base/clock.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/units.h"
#include "device/machine.h"
#include "report/draw/format.h"
#include "store/location.h"
#include "store/sqlite/sqlite_store.h"
#include "warpmark/command.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/report_output.h"
#include "warpmark/terminal/served.h"
#include "watch/alerts/replay.h"
#include "watch/alerts/watcher.h"
#include "watch/exporter/stored.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kWatchOptions[] = {
    {"--once", "", "evaluate once, notify of changes, and end: for cron and CI"},
    {"--dry-run", "", "notify nobody: show which alerts the stored history would have fired"},
    {"--since", "TIME|DATE", "with --dry-run: how far back, such as 30d (default) or 2026-11-01"},
    {"--send-test", "", "send each sink a message that says it is a test, and end"},
    {"--state", "FILE", "where it keeps what it knows (default: next to the database, one for each file of rules)"},
    {"--format", "FORMAT", "with --dry-run: text (default), md, html, json", false, "text md html json"},
    {"--json", "[FILE]", "with --dry-run: also write it as JSON (warpmark.alert_replay/1)"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or ~/.local/share/warpmark/warpmark.db)"},
};

constexpr double kPatience_s = 5;  // for a lock of the database, as it looks again soon

struct WatchRequest {
  std::string file;
  watch::AlertRules rules;
  std::string location;  ///< of the store
};

Result<WatchRequest> watch_request_of(const Context& context, const ParsedOptions& options) {
  WatchRequest request;
  if (options.positionals().size() != 1) {
    return usage_error("give one file of rules", "warpmark watch RULES.yaml; docs/watch.md has examples");
  }
  const bool dry = options.has("--dry-run");
  if (options.has("--once") + dry + options.has("--send-test") > 1) {
    return usage_error("--once, --dry-run and --send-test are three different things", "give one of them");
  }
  for (const char* name : {"--since", "--format", "--json"}) {
    if (options.has(name) && !dry) return usage_error(std::string(name) + " goes with --dry-run");
  }
  request.file = options.positionals().front();
  WM_ASSIGN(const auto text, read_file(request.file, 1 << 20));
  WM_ASSIGN(request.rules, watch::parse_alert_rules(text, request.file));
  WM_ASSIGN(request.location, store_location(context, options));
  return request;
}

Result<double> begin_of(const ParsedOptions& options, double now_s) {
  const std::string text = options.get("--since", "30d");
  if (const auto date = watch::unix_seconds(text.size() == 10 ? text + "T00:00:00Z" : text)) return *date;
  const auto duration = parse_duration_s(text);
  if (!duration.ok())
    return usage_error("--since " + text + " is neither a duration nor a date", "30d, 12h, 2026-11-01");
  return now_s - *duration;
}

Result<int> dry_run(Context& context, const ParsedOptions& options, const WatchRequest& request) {
  WM_ASSIGN(const auto format, format_of(options));
  const double now_s = wall_clock_s();
  WM_ASSIGN(const double from_s, begin_of(options, now_s));
  if (from_s >= now_s) return usage_error("--since lies in the future");
  watch::StoredHistory history(request.rules.rules);
  {
    WM_ASSIGN(const auto store, existing_store(context, request.location, kPatience_s)());
    WM_TRY(history.refresh(*store, {.since_s = from_s, .interrupted = &context.interrupted}, now_s));
  }
  WM_ASSIGN(const auto past, watch::replay(request.rules, history,
                                           {.from_s = from_s,
                                            .to_s = std::max(now_s, history.newest_s()),
                                            .host = device::host_name(),
                                            .interrupted = &context.interrupted}));
  const auto shown = shown_as([&past] { return write(watch::kReplay, past); }, watch::build_report(past));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_named_files(options, shown));
  return kSuccess;
}

Result<std::filesystem::path> state_file_of(const Context& context, const ParsedOptions& options,
                                            const WatchRequest& request) {
  if (options.has("--state")) return std::filesystem::path(options.get("--state"));
  WM_ASSIGN(const auto folder, store::sibling_folder(request.location, context.environment));
  std::error_code code;
  const auto rules = std::filesystem::weakly_canonical(request.file, code).string();
  WM_TRY(make_folder(folder, "name a file with --state"));
  return folder / fmt::format("watch-{}.json", sha256_hex(rules + "\n" + request.location).substr(0, 12));
}

Result<int> test_sinks(Context& context, const WatchRequest& request, const watch::DeliveryOptions& delivery) {
  if (request.rules.sinks.empty()) return usage_error(request.file + " names no sinks", "see docs/watch.md");
  const auto problems = watch::send_test(request.rules, device::host_name(), delivery);
  for (const auto& sink : request.rules.sinks) {
    const auto found =
        std::find_if(problems.begin(), problems.end(), [&](const auto& problem) { return problem.first == sink.name; });
    context.out << fmt::format("{} ({}): {}\n", sink.name, watch::place_of(sink),
                               found == problems.end() ? "delivered" : found->second);
  }
  return problems.empty() ? kSuccess : kEnvironment;
}

/// Whoever fires comes first: it is what the gate is for.
int exit_code_of_once(Context& context, const watch::WatchOutcome& outcome) {
  if (outcome.firing > 0) {
    return exit_because(
        context, kGateFailed,
        report::format_plural(static_cast<std::size_t>(outcome.firing), "alert is", "alerts are") + " firing");
  }
  if (outcome.undelivered > 0) {
    return exit_because(
        context, kEnvironment,
        report::format_plural(static_cast<std::size_t>(outcome.undelivered), "message was", "messages were") +
            " not delivered");
  }
  return outcome.blind.empty() ? kSuccess : exit_because(context, kEnvironment, outcome.blind);
}

Result<int> run_watch(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto request, watch_request_of(context, options));
  if (options.has("--dry-run")) return dry_run(context, options, request);
  set_grace(3);  // a mail on its way ends within a second or two
  watch::DeliveryOptions delivery{
      .environment = context.environment, .hidden = {}, .interrupted = &context.interrupted};
  WM_TRY(watch::check_sinks(request.rules, request.file, delivery.environment));
  if (options.has("--send-test")) return test_sinks(context, request, delivery);

  watch::WatcherOptions wanted{.rules = request.rules};
  WM_ASSIGN(wanted.state_file, state_file_of(context, options, request));
  wanted.live = {.host = device::host_name(), .gpus = monitor::nvml_source()};
  WM_ASSIGN(auto inventory, inventory_of(context, request.location, ""));
  wanted.live.poll = remembering(context, inventory);
  wanted.open_store = existing_store(context, request.location, kPatience_s);
  wanted.delivery = delivery;
  wanted.log = [&context](const std::string& line) { context.out << line << '\n' << std::flush; };
  wanted.once = options.has("--once");
  const auto state_file = wanted.state_file;
  WM_ASSIGN(const auto watcher, watch::Watcher::start(std::move(wanted)));
  if (options.has("--once")) {
    const auto outcome = watcher->run_once();
    context.out << fmt::format("{} firing, {} messages wait\n", outcome.firing, outcome.undelivered);
    return context.interrupted.load() ? static_cast<int>(kInterrupted) : exit_code_of_once(context, outcome);
  }
  context.out << fmt::format("watching {} rules every {:g} s; state in {}\n", request.rules.rules.size(),
                             request.rules.interval_s, state_file.string())
              << std::flush;
  (void)watcher->run();
  return kSuccess;
}

}  // namespace

extern const Command watch_command{
    .id = "watch",
    .summary = "alert on regressions, failed checks and unhealthy machines",
    .details =
        "Evaluates the rules of a file repeatedly: new results and change points in the store, verdicts against the "
        "history of a branch, live metrics of this machine, and missing data. An alert that holds long enough is sent "
        "to commands, webhooks (Slack, Teams, JSON), by mail or as a comment on a GitHub issue: grouped, repeated "
        "after an interval, and once more when it is resolved. States and intervals follow Prometheus and its "
        "Alertmanager. docs/watch.md describes the rules.\n"
        "\n"
        "The state is kept in a file and survives kill -9. Undelivered messages are retried. Secrets come from "
        "variables or files that the rules name.\n"
        "\n"
        "Exit codes of --once: 0 nothing fires; 1 something fires; 2 the rules are invalid; 5 a message could not be "
        "delivered or the store not be read. Without --once, Ctrl-C ends the watch with 0.",
    .options = kWatchOptions,
    .positional = {"RULES.yaml", "rules and the groups to notify", false, "<files>"},
    .examples =
        "warpmark watch rules.yaml\n"
        "warpmark watch rules.yaml --dry-run --since 30d\n"
        "warpmark watch rules.yaml --send-test\n"
        "warpmark watch rules.yaml --once",
    .run = run_watch,
};

}  // namespace warpmark::apps
