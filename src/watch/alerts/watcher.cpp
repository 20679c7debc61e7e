#include "watch/alerts/watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <optional>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "watch/alerts/alert.h"
#include "watch/alerts/history.h"

namespace warpmark::watch {
namespace {

constexpr double kBlindAfter_s = 300;
constexpr double kToleratedGap_s = 3600;  // as Prometheus' rules.alert.for-outage-tolerance
constexpr double kSaveAnyway_s = 300;
constexpr double kLeap_s = 30;
constexpr std::size_t kMostLines = 20;  // of a rule's alerts at one look
constexpr auto kPause = std::chrono::milliseconds(100);

AlertRule blind_rule(const AlertRules& rules) {
  AlertRule rule;
  rule.name = kBlindRule;
  rule.summary = "rules over stored results are not evaluated";
  rule.source = RuleSource::history;
  rule.for_s = kBlindAfter_s;
  for (const auto& sink : rules.sinks) rule.to.push_back(sink.name);
  return rule;
}

bool knows_store(const AlertRule& rule) {
  constexpr std::string_view kFamilies[] = {
      "warpmark_store_up",         "warpmark_result",        "warpmark_result_low",
      "warpmark_result_high",      "warpmark_result_passed", "warpmark_result_timestamp_seconds",
      "warpmark_session_complete", "warpmark_session_runs",  "warpmark_session_rounds_pending"};
  return std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](std::string_view name) { return glob_match(rule.select, name); });
}

}  // namespace

struct Watcher::Parts {
  explicit Parts(WatcherOptions given, StateFile opened)
      : options(std::move(given)),
        file(std::move(opened)),
        exporter(options.live),
        history(options.rules.rules),
        all_rules(options.rules.rules) {
    all_rules.push_back(blind_rule(options.rules));
  }

  WatcherOptions options;
  StateFile file;
  Exporter exporter;
  StoredHistory history;
  std::vector<AlertRule> all_rules;  ///< with the one of our own
  WatchState state;
  std::map<std::string, std::future<Delivery>> flights;  ///< by sink
  std::map<std::string, std::string> titles;             ///< of what flies
  double base_watch_s = 0;
  std::int64_t base_ns = 0;
  std::optional<Instant> last;                  ///< of the last look
  std::map<std::string, std::string> problems;  ///< by rule, as told
  bool dirty = true;
  double saved_s = -1e18;
  std::string save_problem;
  std::string blind;

  [[nodiscard]] Instant now() const {
    return {base_watch_s + static_cast<double>(options.clock.monotonic_ns() - base_ns) * 1e-9, options.clock.wall_s()};
  }
  void log(const std::string& text) const { options.log(format_utc(options.clock.wall_s()) + " " + text); }

  Status begin();
  void notice_leap(const Instant& at);
  [[nodiscard]] Status read_history(const Instant& at);
  void update(const AlertRule& rule, const Evaluation& found, const Instant& at);
  void say_problem(const std::string& rule, const std::string& problem);
  void log_changes(const std::string& rule, const std::vector<Alert>& changed) const;
  void make_messages(bool at_once);
  void send_due();
  void save();
  void save_if_needed();
  [[nodiscard]] WatchOutcome outcome() const;
};

Status Watcher::Parts::begin() {
  base_ns = options.clock.monotonic_ns();
  const double wall_s = options.clock.wall_s();
  base_watch_s = wall_s;
  state.ended = options.once;
  auto loaded = file.load();
  if (!loaded.ok() && loaded.error().kind != ErrorKind::data) return loaded.error();
  if (!loaded.ok()) log(loaded.error().what + "; " + loaded.error().hint);
  if (!loaded.ok() || !*loaded) return {};
  state = std::move(**loaded);
  state.ended = options.once;
  const double gap_s = std::max(0.0, wall_s - state.at.wall_s);
  base_watch_s = state.at.watch_s + gap_s;
  if (!options.once) {
    if (gap_s > std::max(kToleratedGap_s, 3 * options.rules.interval_s)) state.states.restart_pending(now());
    for (auto& [rule, series] : state.seen) {
      for (auto& [key, one] : series) one.last_s = base_watch_s;
    }
  }
  for (auto& [sink, queue] : state.outbox.queues()) queue.next_s = 0;  // tried at once: who restarts wants to know
  const auto& sinks = options.rules.sinks;
  std::erase_if(state.outbox.queues(), [&](const auto& entry) {
    const bool known = std::any_of(sinks.begin(), sinks.end(), [&](const Sink& s) { return s.name == entry.first; });
    if (!known && !entry.second.messages.empty()) {
      log(fmt::format("{} messages for the sink {} are dropped: it is not there any more", entry.second.messages.size(),
                      entry.first));
    }
    return !known;
  });
  return {};
}

void Watcher::Parts::notice_leap(const Instant& at) {
  if (last) {
    const double leap_s = (at.wall_s - last->wall_s) - (at.watch_s - last->watch_s);
    if (std::abs(leap_s) > kLeap_s) {
      log(fmt::format("the clock was set {} by {:.0f} s; durations are kept", leap_s > 0 ? "forward" : "back",
                      std::abs(leap_s)));
    }
  }
  last = at;
}

Status Watcher::Parts::read_history(const Instant& at) {
  WM_ASSIGN(const auto store, options.open_store());
  return history.refresh(*store, {.interrupted = options.delivery.interrupted}, at.watch_s);
}

void Watcher::Parts::say_problem(const std::string& rule, const std::string& problem) {
  auto& known = problems[rule];
  if (known == problem) return;
  if (!problem.empty()) log(fmt::format("rule {}: {}", rule, problem));
  if (problem.empty()) log(fmt::format("rule {} can be evaluated again", rule));
  known = problem;
}

void Watcher::Parts::log_changes(const std::string& rule, const std::vector<Alert>& changed) const {
  for (std::size_t i = 0; i < changed.size() && i < kMostLines; ++i) {
    log(fmt::format("{} {} {}", name_of(changed[i].state), changed[i].rule, line_of(changed[i])));
  }
  if (changed.size() > kMostLines) log(fmt::format("and {} more of {}", changed.size() - kMostLines, rule));
}

void Watcher::Parts::update(const AlertRule& rule, const Evaluation& found, const Instant& at) {
  std::string problem = found.problem;
  if (found.left_out > 0) {
    problem = fmt::format("more than {} alerts at a time; {} are left out", kMostAlertsOfRule, found.left_out);
  }
  say_problem(rule.name, problem);
  const auto changed = state.states.update(rule, found, at);
  dirty = dirty || !changed.empty();
  log_changes(rule.name, changed);
}

void Watcher::probe() {
  Parts& parts = *parts_;
  const Instant at = parts.now();
  parts.notice_leap(at);
  const auto& rules = parts.options.rules.rules;
  const auto has = [&](auto wanted) { return std::any_of(rules.begin(), rules.end(), wanted); };
  std::vector<Family> families;
  if (has([](const AlertRule& rule) { return rule.source == RuleSource::live; })) families = parts.exporter.families();
  Status read;
  if (has([](const AlertRule& rule) { return rule.source != RuleSource::live; })) read = parts.read_history(at);
  parts.blind = read.ok() ? "" : read.error().what;
  // Results of machines whose clocks are ahead of this one are there, too, as are those of before it was set back.
  const double history_s = std::max(at.wall_s, parts.history.newest_s());
  for (const auto& rule : rules) {
    Evaluation found{.rule = rule.name};
    if (rule.source == RuleSource::live) {
      found = evaluate_live(rule, families, at.watch_s, parts.state.seen[rule.name]);
    } else if (read.ok()) {
      found = parts.history.evaluate(rule, history_s);
    } else {
      found.known = false;
      found.problem = parts.blind;
    }
    parts.update(rule, found, at);
  }
  Evaluation blind{.rule = kBlindRule};
  if (!read.ok()) blind.active.push_back({{{"source", "store"}}, std::nullopt, "", parts.blind});
  parts.update(parts.all_rules.back(), blind, at);
  const auto ended = parts.state.states.keep_only(parts.all_rules, at);
  std::erase_if(parts.state.seen, [&](const auto& entry) {
    return !has([&](const AlertRule& rule) { return rule.name == entry.first; });
  });
  parts.dirty = parts.dirty || !ended.empty();
  parts.log_changes("rules that are gone", ended);
}

void Watcher::Parts::make_messages(bool at_once) {
  const Instant at = now();
  const auto on_its_way = [&](const AlertGroup& group) { return state.outbox.waits(group.sink, group.labels); };
  auto messages =
      state.groups.flush(state.states, options.rules,
                         {.now = at, .host = options.live.host, .at_once = at_once, .on_its_way = on_its_way});
  for (auto& message : messages) {
    dirty = true;
    const std::string sink = message.sink;
    if (!state.outbox.add(std::move(message))) {
      log(fmt::format("more than {} messages wait for {}; the oldest is dropped", kMostWaiting, sink));
    }
  }
}

void Watcher::Parts::send_due() {
  const double watch_s = now().watch_s;
  for (const auto& sink : options.rules.sinks) {
    const Message* message = state.outbox.due(sink.name, watch_s);
    if (message == nullptr || flights.contains(sink.name)) continue;
    DeliveryOptions how = options.delivery;
    how.hidden = secret_variables(options.rules.sinks);
    try {
      flights[sink.name] =
          std::async(std::launch::async, [sink, copy = *message, how] { return deliver(sink, copy, how); });
    } catch (const std::system_error& exception) {
      flights.erase(sink.name);
      log(fmt::format("cannot notify {}: no thread: {}", sink.name, exception.what()));
      state.outbox.failed(sink.name, watch_s, 0);
      continue;
    }
    titles[sink.name] = title_of(*message);
    state.outbox.sending(sink.name);
  }
}

void Watcher::Parts::save() {
  state.at = now();
  const auto saved = file.save(state);
  const std::string problem = saved.ok() ? "" : saved.error().what;
  if (problem != save_problem) {
    log(problem.empty() ? "the state is written again"
                        : "the state is not written, a restart would forget: " + problem);
  }
  save_problem = problem;
  dirty = !saved.ok();
  saved_s = state.at.watch_s;
}

void Watcher::Parts::save_if_needed() {
  const double watch_s = now().watch_s;
  const bool retry = !save_problem.empty() && watch_s - saved_s >= 1;
  if ((dirty && save_problem.empty()) || retry || watch_s - saved_s >= kSaveAnyway_s) save();
}

void Watcher::notify() {
  Parts& parts = *parts_;
  parts.make_messages(parts.options.once);
  parts.save_if_needed();  // before it is sent: what a kill interrupts is sent again, and nothing is lost
  parts.send_due();
}

bool Watcher::collect() {
  Parts& parts = *parts_;
  for (auto flight = parts.flights.begin(); flight != parts.flights.end();) {
    auto& [sink, outcome] = *flight;
    if (outcome.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      ++flight;
      continue;
    }
    const Delivery delivery = outcome.get();
    if (delivery.delivered) {
      parts.state.outbox.delivered(sink);
      parts.log(fmt::format("notified {}: {}", sink, parts.titles[sink]));
    } else {
      const double watch_s = parts.now().watch_s;
      parts.state.outbox.failed(sink, watch_s, delivery.retry_after_s);
      const bool ends = parts.options.once || parts.options.delivery.interrupted->load();
      const double wait_s = parts.state.outbox.queues()[sink].next_s - watch_s;
      parts.log(fmt::format("cannot notify {}: {}; {}", sink, delivery.problem,
                            ends ? "the next run tries again" : fmt::format("tried again in {:.0f} s", wait_s)));
    }
    parts.dirty = true;
    flight = parts.flights.erase(flight);
  }
  return !parts.flights.empty();
}

WatchOutcome Watcher::Parts::outcome() const { return {state.states.firing(), state.outbox.size(), blind}; }

WatchOutcome Watcher::run() {
  Parts& parts = *parts_;
  const auto stop = [&] { return parts.options.delivery.interrupted->load(); };
  const auto interval_ns = static_cast<std::int64_t>(parts.options.rules.interval_s * 1e9);
  const std::int64_t began_ns = parts.options.clock.monotonic_ns();
  std::int64_t next_ns = began_ns;
  while (!stop()) {
    const std::int64_t now_ns = parts.options.clock.monotonic_ns();
    if (now_ns >= next_ns) {
      probe();
      // Looks that came too late are left out rather than made up for.
      next_ns = began_ns + ((parts.options.clock.monotonic_ns() - began_ns) / interval_ns + 1) * interval_ns;
      parts.make_messages(false);
    }
    const auto due_s = parts.state.groups.next_s(parts.options.rules);
    if (due_s && *due_s <= parts.now().watch_s) parts.make_messages(false);
    parts.save_if_needed();
    parts.send_due();
    collect();
    std::this_thread::sleep_for(kPause);
  }
  for (auto& [sink, flight] : parts.flights) flight.wait();  // they have seen it, too
  collect();
  parts.state.ended = true;
  parts.save();
  return parts.outcome();
}

WatchOutcome Watcher::run_once() {
  Parts& parts = *parts_;
  const auto& rules = parts.options.rules.rules;
  const bool live = std::any_of(rules.begin(), rules.end(), [](const auto& r) { return r.source == RuleSource::live; });
  if (live) {  // rates are since the look before
    (void)parts.exporter.families();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  probe();
  notify();
  while (true) {
    const bool flying = collect();
    if (!parts.options.delivery.interrupted->load())
      parts.send_due();  // the next in the queue; a failed one has to wait
    if (!flying && parts.flights.empty()) break;
    std::this_thread::sleep_for(kPause / 10);
  }
  parts.save();
  return parts.outcome();
}

const WatchState& Watcher::state() const { return parts_->state; }

Result<std::unique_ptr<Watcher>> Watcher::start(WatcherOptions options) {
  if (!options.clock.wall_s) options.clock = {wall_clock_s, monotonic_ns};
  WM_ASSIGN(auto file, StateFile::open(options.state_file));
  options.live.rates = true;
  const auto& rules = options.rules.rules;
  if (std::any_of(rules.begin(), rules.end(),
                  [](const AlertRule& rule) { return rule.source == RuleSource::live && knows_store(rule); })) {
    options.live.open_store = options.open_store;
  }
  auto parts = std::make_unique<Parts>(std::move(options), std::move(file));
  WM_TRY(parts->begin());
  return std::unique_ptr<Watcher>(new Watcher(std::move(parts)));
}

Watcher::Watcher(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Watcher::~Watcher() = default;

std::vector<std::pair<std::string, std::string>> send_test(const AlertRules& rules, const std::string& host,
                                                           const DeliveryOptions& options) {
  std::vector<std::pair<std::string, std::string>> problems;
  for (const auto& sink : rules.sinks) {
    Message message{.id = "test", .sink = sink.name, .host = host, .time = format_utc(wall_clock_s())};
    message.reason = "test";
    message.group = {{"rule", "test"}};
    DeliveryOptions how = options;
    how.hidden = secret_variables(rules.sinks);
    const auto delivery = deliver(sink, message, how);
    if (!delivery.delivered) problems.emplace_back(sink.name, delivery.problem);
  }
  return problems;
}

}  // namespace warpmark::watch
