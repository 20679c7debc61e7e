#include "exchange/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/text.h"
#include "exchange/imported.h"
#include "model/names.h"
#include "model/run_query.h"

namespace warpmark::exchange {
namespace {

constexpr std::size_t kShownKeys = 5;
constexpr std::size_t kShownLetters = 40;

std::string shortened(std::string_view text) {
  const std::string clean = clean_text(text.substr(0, kShownLetters));
  return text.size() > kShownLetters ? clean + "..." : clean;
}

std::string keys_of(const Json& object) {
  std::string keys;
  std::size_t count = 0;
  for (const auto& [key, value] : object.items()) {
    if (count++ == kShownKeys) return keys + ", ...";
    keys += (keys.empty() ? "'" : ", '") + shortened(key) + "'";
  }
  return keys;
}

/// Relatives whose marks are certain, though they are not read.
std::string relative(const Json& json) {
  const auto has = [&](const char* key) { return json.is_object() && json.contains(key); };
  if (has("schema") && json["schema"].is_string() && json["schema"].get<std::string>().starts_with("warpmark.")) {
    return "a warpmark document of the schema " + shortened(json["schema"].get<std::string>()) +
           ", which holds no results of runs";
  }
  if (has("traceEvents")) return "a profile; 'warpmark analyze' reads it";
  if (has("HostEnvironmentInfo") && has("Benchmarks")) return "JSON of BenchmarkDotNet";
  return {};
}

std::string json_looks_like(const Json& json) {
  if (const auto known = relative(json); !known.empty()) return known;
  if (json.is_object()) return json.empty() ? "an empty JSON object" : "JSON with the keys " + keys_of(json);
  if (!json.is_array()) return std::string("JSON that is only a ") + json.type_name();
  if (json.empty()) return "an empty JSON array";
  if (json[0].is_object()) return "a JSON array of objects with the keys " + keys_of(json[0]);
  return std::string("a JSON array of the type ") + json[0].type_name();
}

/// "an HTML page", "JSON with the keys 'a', 'b'", ...
std::string looks_like(const Document& document) {
  if (document.json) return json_looks_like(*document.json);
  const std::string_view text = document.text;
  if (trim(text).empty()) return "empty";
  if (text.starts_with("SQLite format 3")) return "a SQLite database";
  if (text.starts_with("\x1F\x8B") || text.starts_with("\x28\xB5\x2F\xFD") || text.starts_with("PK\x03\x04")) {
    return "a compressed file; unpack it first";
  }
  if (text.substr(0, 4096).find('\0') != std::string_view::npos) return "a binary file";
  if (text.starts_with("<?xml") || text.starts_with("<testsuite")) return "XML, which is written but not read";
  if (trim(text).starts_with("<")) return "a page of HTML or XML";
  return "text that begins with '" + shortened(trim(text).substr(0, trim(text).find('\n'))) + "'";
}

/// What reads a file of ours that holds no results; empty for any other.
std::string reader_of(const Document& document) {
  constexpr std::string_view kOurs = "warpmark.";
  if (!document.json || !document.json->is_object()) return {};
  const auto found = document.json->find("schema");
  if (found == document.json->end() || !found->is_string()) return {};
  const auto schema = found->get<std::string>();
  if (!schema.starts_with(kOurs)) return {};
  const std::string kind = schema.substr(kOurs.size(), schema.find('/') - kOurs.size());
  constexpr std::pair<std::string_view, std::string_view> kReaders[] = {
      {"load", "loads are compared by: warpmark load compare A.json B.json"},
      {"analysis", "start from it: warpmark optimize ANALYSIS.json -- COMMAND"},
      {"profile", "warpmark analyze FILE reads profiles"},
      {"scores", "warpmark eval pareto SCORES.json=SPEED ... reads scores; eval compare takes the answers"},
      {"net", "measurements of a network are stored: warpmark history list shows their ids, which every verb takes"},
  };
  for (const auto& [name, reader] : kReaders) {
    if (name == kind) return std::string(reader);
  }
  return "it is the answer of a verb (" + schema + "), which no verb reads; name the results that it was made from";
}

/// The one format of the document.
Result<const Format*> format_of(const Document& document, const std::string& wanted) {
  if (!wanted.empty()) {
    const Format* format = find_in(formats(), wanted);
    if (format == nullptr || format->read == nullptr) {
      const auto meant = nearest(wanted, readable_formats());
      return usage_error((format == nullptr ? "there is no format '" : "there is no reading of '") + wanted + "'",
                         (meant.empty() ? "" : "did you mean '" + meant + "'? ") + kFormatsHint);
    }
    return format;
  }
  std::vector<const Format*> fitting;
  for (const Format* format : formats()) {
    if (format->detect != nullptr && format->detect(document)) fitting.push_back(format);
  }
  if (fitting.size() > 1) std::erase_if(fitting, [](const Format* format) { return format->is_fallback; });
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) {
    if (auto reader = reader_of(document); !reader.empty()) {
      return data_error(document.name + " holds no results of benchmarks; it is " + looks_like(document),
                        std::move(reader));
    }
    return data_error(document.name + " has no known format of results: it is " + looks_like(document), kFormatsHint);
  }
  std::string names;
  for (const Format* format : fitting)
    names += (names.empty() ? "--format " : " or --format ") + std::string(format->id);
  return usage_error(document.name + " does not say which of several formats it is", "add " + names);
}

bool says_nothing(const Machine& machine) {
  return machine.hostname.empty() && machine.cpu.empty() && machine.kernel.empty() && machine.os.empty() &&
         machine.devices.empty();
}

/// What a file says of a machine, without what changes by itself (clocks).
std::string facts_of(const Machine& machine) {
  std::string facts = machine.hostname + '\n' + machine.os + '\n' + machine.kernel + '\n' + machine.cpu + '\n';
  for (const auto& device : machine.devices) {
    facts += fmt::format("{}\n{}\n{}\n{}\n", device.id, device.name, device.compute_units, device.memory_bytes);
    for (const auto& cache : device.caches) facts += fmt::format("{} {}\n", cache.level, cache.bytes);
  }
  for (const auto& [name, version] : machine.software) facts += name + ' ' + version + '\n';
  return facts;
}

void name_machine(Session& session, const ImportOptions& options) {
  Machine& machine = session.machine;
  if (options.measured_on) {
    machine = *options.measured_on;
    return;
  }
  if (!options.machine.empty()) machine.hostname = options.machine;
  machine.fingerprint = says_nothing(machine)     ? kUnknownMachine
                        : options.machine.empty() ? "imported-" + digest(facts_of(machine))
                                                  : "imported-" + digest("named " + options.machine);
  if (machine.hostname.empty()) machine.hostname = kUnknownMachine;
}

/// Of everything that makes these results these results. Lengths come first, so that no two lists join to the same
/// text.
std::string digest_of(const Session& session) {
  Digest digest;
  const auto add = [&](const std::string& part) {
    digest.add(std::to_string(part.size()) + ':');
    digest.add(part);
  };
  for (const auto& part : {session.build.version, session.started, session.commit, session.branch,
                           session.machine.fingerprint, session.machine.hostname}) {
    add(part);
  }
  for (const Run& run : session.runs) {
    add(run.workload);
    add(to_text(run.params));
    add(run.device);
    add(run.started);
    add(std::to_string(static_cast<int>(run.mode)));
    add(std::to_string(static_cast<int>(run.outcome)));
    for (const Metric& metric : run.metrics) {
      add(metric.id);
      add(metric.unit);
      digest.add({reinterpret_cast<const char*>(metric.samples.data()), metric.samples.size() * sizeof(double)});
      digest.add(".");
    }
    digest.add(";");
  }
  return digest.text();
}

Status identify(Session& session, const Format& format, const ImportOptions& options) {
  if (!options.commit.empty()) session.commit = options.commit;
  if (!options.branch.empty()) session.branch = options.branch;
  if (!options.started.empty()) {
    const auto utc = to_utc(options.started);
    if (!utc) return usage_error("'" + options.started + "' is no date", "for example 2026-03-01T12:00:00Z");
    session.started = *utc;
  }
  name_machine(session, options);
  session.id = std::string(format.id) + "-" + digest_of(session);
  if (session.started.empty()) session.started = options.fallback_started;
  for (Run& run : session.runs) run.id = fmt::format("{}.{}", session.id, run.index);
  return {};
}

/// Distinct results of one name, in the order of the file: the second is called "name #2". Repeats of one configuration
/// are rounds of one run already. How many there are is noted, as files that differ in it cannot be paired by number.
void number_twins(Session& session) {
  struct Place {
    std::uint64_t key;  ///< a digest, as a file may hold very many
    std::size_t run;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const Run& run = session.runs[i];
    Digest digest;
    digest.add(run.workload + '\n' + run.device + '\n' + name_of(run.mode) + '\n');
    for (const auto& [name, value] : run.params.items()) digest.add(name + '=' + to_text(value) + '\n');
    places.push_back({digest.bits(), i});
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.key != b.key ? a.key < b.key : a.run < b.run; });
  for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    while (end < places.size() && places[end].key == places[begin].key) ++end;
    for (std::size_t i = begin; end - begin > 1 && i < end; ++i) {
      Run& run = session.runs[places[i].run];
      if (i > begin) run.workload += fmt::format(" #{}", i - begin + 1);
      run.notes.emplace_back(kTwinNote, fmt::format("{} of {}", i - begin + 1, end - begin));
    }
  }
}

/// Usage error for a name that nothing has: a typo would leave a metric without a direction.
Status set_directions(std::vector<Session>& sessions, const ImportOptions& options) {
  for (const auto& [glob, better] : options.better) {
    std::size_t found = 0;
    for (Session& session : sessions) {
      for (Run& run : session.runs) {
        for (Metric& metric : run.metrics) {
          if (!glob_match(glob, run.workload) && !glob_match(glob, run.workload + " " + metric.id)) continue;
          metric.better = better;
          ++found;
        }
      }
    }
    if (found == 0) return usage_error("--better " + glob + " matches no result of the file");
  }
  return {};
}

}  // namespace

Result<Document> open_document(std::string name, std::string_view text) {
  Document document{.name = std::move(name), .text = text, .json = {}, .not_json = {}, .collective = {}, .folder = {}};
  if (text.starts_with("\xEF\xBB\xBF")) document.text.remove_prefix(3);  // a byte order mark, from spreadsheets
  const auto body = trim(document.text);
  if (!body.starts_with('{') && !body.starts_with('[')) {
    // Some tools print a warning before their JSON.
    constexpr std::size_t kMostWarning = 4096;
    const auto brace = body.find("\n{");
    if (brace > kMostWarning || !body.ends_with('}')) return document;
    auto behind = parse_results(body.substr(brace + 1), document.name);
    if (behind.ok()) document.json = std::move(behind).value();
    return document;
  }
  auto json = parse_results(document.text, document.name);
  if (!json.ok()) {
    document.not_json = json.error();
    if (document.not_json->hint.empty()) document.not_json->hint = "is the file complete?";
    return document;
  }
  document.json = std::move(json).value();
  return document;
}

Result<std::vector<Session>> import_results(const Document& document, const ImportOptions& options) {
  auto found = format_of(document, options.format);
  // A log may begin with a bracket, too: only what no format knows is damaged JSON.
  if (!found.ok() && document.not_json && options.format.empty()) return *document.not_json;
  WM_ASSIGN(const Format* const format, std::move(found));
  auto sessions = format->read(document);
  if (!sessions.ok()) {
    if (document.not_json) return *document.not_json;
    Error error = sessions.error();
    error.what = document.name + ": " + error.what;
    return error;
  }
  std::size_t runs = 0;
  WM_TRY(set_directions(*sessions, options));
  for (Session& session : *sessions) {
    runs += session.runs.size();
    if (!session.id.empty()) continue;
    number_twins(session);
    WM_TRY(identify(session, *format, options));
  }
  if (runs == 0) return data_error(document.name + " holds no results", "did the benchmark end before its first one?");
  return sessions;
}

// clang-format off
#define WARPMARK_FORMATS(X) \
  X(kWarpmark)              \
  X(kGoogleBenchmark)       \
  X(kPytestBenchmark)       \
  X(kNvbench)               \
  X(kHyperfine)             \
  X(kNcclTests)             \
  X(kCustomSmallerIsBetter) \
  X(kCustomBiggerIsBetter)  \
  X(kGithubActionHistory)   \
  X(kPyperf)                \
  X(kAsv)                   \
  X(kCriterion)             \
  X(kJmh)                   \
  X(kGoBench)               \
  X(kCargoBench)            \
  X(kConbench)              \
  X(kIperf3)                \
  X(kNvbandwidth)           \
  X(kOsu)                   \
  X(kSuperbench)            \
  X(kServingResults)        \
  X(kNvbenchCsv)            \
  X(kToolCsv)               \
  X(kBencher)               \
  X(kFlatMetrics)           \
  X(kJunit)                 \
  X(kCsv)                   \
  X(kWideCsv)
// clang-format on

#define WARPMARK_DECLARE(name) extern const Format name;
WARPMARK_FORMATS(WARPMARK_DECLARE)
#undef WARPMARK_DECLARE

Catalog<Format> formats() {
#define WARPMARK_ROW(name) &name,
  static constexpr const Format* kFormats[] = {WARPMARK_FORMATS(WARPMARK_ROW)};
#undef WARPMARK_ROW
  return kFormats;
}

std::vector<std::string> readable_formats() {
  std::vector<std::string> ids;
  for (const Format* format : formats()) {
    if (format->read != nullptr) ids.emplace_back(format->id);
  }
  return ids;
}

std::vector<std::string> writable_formats() {
  std::vector<std::string> ids;
  for (const Format* format : formats()) {
    if (format->write != nullptr) ids.emplace_back(format->id);
  }
  return ids;
}

Result<Exported> exported(std::string text, std::size_t written, std::size_t left_out, const std::string& needed) {
  if (written == 0) {
    return usage_error("no run of the session has " + needed + ", which is what this format holds",
                       "the format 'warpmark' holds everything");
  }
  Exported result{std::move(text), {}};
  if (left_out > 0) {
    result.left_out.push_back(fmt::format("{} {} without {}", left_out, left_out == 1 ? "run" : "runs", needed));
  }
  return result;
}

Result<Exported> without_other_metrics(Result<Exported> result, const Session& session,
                                       bool (*holds)(const Metric& metric)) {
  if (!result.ok()) return result;
  std::set<std::string> others;
  for (const Run& run : session.runs) {
    for (const Metric& metric : run.metrics) {
      if (!holds(metric)) others.insert(metric.id);
    }
  }
  std::string names;
  for (const auto& name : others) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) result->left_out.push_back("metrics that the format has no place for: " + names);
  return result;
}

Result<Exported> exported_json(const Json& json, std::size_t written, std::size_t left_out, const std::string& needed) {
  return exported(dump_json(json) + "\n", written, left_out, needed);
}

}  // namespace warpmark::exchange
