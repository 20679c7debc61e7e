#include "serving/results/load_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/units.h"
#include "model/json/json_parts.h"
#include "model/names.h"

namespace warpmark::serving {
namespace {

constexpr const char* kRatesDefinition =
    "per second of the window; a request counts with the share of its time from sending to its last token that lies in "
    "it, tokens by when they arrived";

/// Those that `load compare` looks at.
bool keeps_samples(const LoadMetric& metric) {
  constexpr const char* kKept[] = {"ttft",    "tpot",         "e2e", "request_throughput", "output_throughput",
                                   "goodput", "output_tokens"};
  const bool of_turn = metric.id.find("_turn_") != std::string::npos;
  return !metric.samples.empty() &&
         (of_turn || std::any_of(std::begin(kKept), std::end(kKept), [&](const char* id) { return metric.id == id; }));
}

constexpr Field kPercentileFields[] = {
    field<&Percentile::value>("value"),
    inlined<&Percentile::interval>(kInterval),
    field<&Percentile::reason>("reason", "Why there is no value or no interval.").unless_empty(),
};
constexpr RecordOf<Percentile> kPercentile{"percentile", "", kPercentileFields};

using NamedPercentile = std::pair<std::string, Percentile>;
using Percentiles = std::vector<NamedPercentile>;

constexpr auto has_percentiles = [](const LoadMetric& metric) { return !metric.percentiles.empty(); };

constexpr Field kLoadMetricFields[] = {
    field<&LoadMetric::unit>("unit"),
    field<&LoadMetric::better>("better"),
    field<&LoadMetric::n>("n").within(kNonNegative),
    field<&LoadMetric::mean>("mean"),
    field<&LoadMetric::mean_interval>("mean_interval", "", kInterval),
    field<&LoadMetric::samples>(
        "samples", "In order, one a request; of rates, of equal parts of the window. At most 20000, evenly chosen.")
        .when([](const LoadMetric& metric) { return keeps_samples(metric); }),
    field<&LoadMetric::stdev>("stdev"),
    field<&LoadMetric::min>("min"),
    field<&LoadMetric::max>("max"),
    field<&LoadMetric::interval_method>("interval_method").when(has_percentiles),
    derived("percentiles", "By name: p50, p99.9.", kPercentile,
            [](const LoadMetric& metric) {
              Percentiles named;
              for (const auto& item : metric.percentiles) named.emplace_back(percentile_name(item.p), item);
              return named;
            })
        .with(&Field::type, &kMapOf<Percentiles, &NamedPercentile::first, &NamedPercentile::second>)
        .when(has_percentiles),
};
constexpr RecordOf<LoadMetric> kLoadMetric{"metric", "", kLoadMetricFields};

constexpr Field kSendLagFields[] = {
    field<&ClientReport::send_lag_p50_s>("p50"),
    field<&ClientReport::send_lag_p99_s>("p99"),
    field<&ClientReport::send_lag_max_s>("max"),
};
constexpr RecordOf<ClientReport> kSendLag{"send_lag", "", kSendLagFields};
constexpr Field kReceiveLagFields[] = {
    field<&ClientReport::receive_lag_p50_s>("p50"),
    field<&ClientReport::receive_lag_p99_s>("p99"),
    field<&ClientReport::receive_lag_max_s>("max"),
};
constexpr RecordOf<ClientReport> kReceiveLag{"receive_lag", "", kReceiveLagFields};
constexpr Field kLagFields[] = {
    derived("unit", "", [](const ClientReport& /*client*/) { return "s"; }),
    field<&ClientReport::lag_limit_s>("limit",
                                      "Of both p99: 5 % of the smallest objective, at least 1 ms; without "
                                      "objectives 5 % of the median TTFT, at most 1 ms.")
        .added_later(),
    group("send", "", kSendLag),
    group("receive", "", kReceiveLag),
};
constexpr RecordOf<ClientReport> kLag{"lag", "", kLagFields};

constexpr Field kClientShareFields[] = {
    field<&ClientShare::host>("host"),
    field<&ClientShare::requests>("requests"),
};
constexpr RecordOf<ClientShare> kClientShare{"client_share", "", kClientShareFields};

constexpr Field kClientFields[] = {
    derived("verdict", "", [](const ClientReport& client) { return client.verdict(); })
        .ruled(R"({"enum": ["reliable", "unreliable"]})"),
    derived("cause", "Of unreliable: the client was busy itself, or the machine did not run it in time.",
            [](const ClientReport& client) { return client.cause(); })
        .ruled(R"({"enum": ["client", "machine"]})")
        .unless_empty(),
    field<&ClientReport::reasons>("reasons", "Why it is unreliable."),
    group("lag", "", kLag),
    field<&ClientReport::kernel_times>("kernel_receive_times"),
    field<&ClientReport::busy_share>("busy_share"),
    field<&ClientReport::cpu_s>("cpu_s"),
    field<&ClientReport::others_share>("other_programs_share", "Of this machine's CPU time."),
    field<&ClientReport::shares>("clients", "Of --clients: how many requests each of them sent.", kClientShare)
        .unless_empty(),
};
constexpr RecordOf<ClientReport> kClient{"client", "", kClientFields};

constexpr Field kOwnTokensFields[] = {
    field<&OwnTokens::tokenizer>("tokenizer"),
    field<&OwnTokens::tokens>("tokens", "Counted in all, before and after the load."),
    field<&OwnTokens::seconds>("seconds", "That took; in no latency."),
    field<&OwnTokens::input>("input_mean"),
    field<&OwnTokens::template_tokens>("template_tokens",
                                       "In input_mean: what the server adds to the words of a prompt.")
        .when([](const OwnTokens& own) { return own.input.has_value(); }),
    field<&OwnTokens::output>("output_mean"),
};
constexpr RecordOf<OwnTokens> kOwnTokens{
    "own_tokens",
    "Counted by the tokenizer of --tokenizer: means of a request, of those that the server has counted too.",
    kOwnTokensFields};

constexpr Field kTokensFields[] = {
    field<&TokenCheck::source>("source").ruled(R"({"enum": ["usage", "events", "tokenizer", "mixed", "none"]})"),
    field<&TokenCheck::input_asked>("input_asked_mean"),
    field<&TokenCheck::input_reported>("input_reported_mean"),
    field<&TokenCheck::output_asked>("output_asked_mean"),
    field<&TokenCheck::output_reported>("output_reported_mean"),
    field<&TokenCheck::tokens_per_event>("tokens_per_event"),
    field<&TokenCheck::disagreements>("disagreements", "Beyond 2 %."),
    field<&TokenCheck::own>("own", "", kOwnTokens),
};
constexpr RecordOf<TokenCheck> kTokens{"tokens", "", kTokensFields};

constexpr Field kPromptsFields[] = {
    field<&PromptCheck::kind>("kind").ruled(
        R"({"enum": ["unique", "shared prefix", "conversation", "data set", "trace"]})"),
    field<&PromptCheck::seed>("seed").within(kNonNegative),
    field<&PromptCheck::repeats>("repeats", "--seed was given: another run with it sends the same prompts."),
    field<&PromptCheck::cached>("cached_share", "Of the tokens of first questions, as the server says."),
    field<&PromptCheck::warning>("warning", "What contradicts the kind.").unless_empty(),
};
constexpr RecordOf<PromptCheck> kPrompts{"prompts", "Whether prompts can have been in the server's prefix cache.",
                                         kPromptsFields};

constexpr Field kSloFields[] = {
    field<&SloOutcome::text>("objective"),
    field<&SloOutcome::verdict>("verdict", "Met and missed where the whole interval is on one side.")
        .ruled(R"({"enum": ["met", "missed", "undecided"]})"),
    field<&SloOutcome::reason>("reason", "Why it is undecided, and which option decides it.").unless_empty(),
    field<&SloOutcome::option>("option", "That decides it, with its value.").unless_empty(),
    field<&SloOutcome::value>("value"),
    inlined<&SloOutcome::interval>(kInterval),
};
constexpr RecordOf<SloOutcome> kSlo{"slo", "", kSloFields};

constexpr Field kMlperfCheckFields[] = {
    field<&MlperfCheck::name>("name"),
    field<&MlperfCheck::met>("met"),
    field<&MlperfCheck::text>("text", "With its numbers, and what to do where it is not met."),
};
constexpr RecordOf<MlperfCheck> kMlperfCheck{"mlperf_check", "", kMlperfCheckFields};

constexpr Name kValidity[] = {{true, "VALID"}, {false, "INVALID"}};
constexpr Field kMlperfFields[] = {
    field<&MlperfVerdict::scenario>("scenario")
        .ruled(R"({"enum": ["SingleStream", "MultiStream", "Server", "Offline"]})"),
    field<&MlperfVerdict::valid>("result").named(kValidity),
    field<&MlperfVerdict::metric>("metric", "90th percentile latency, samples per second, ..."),
    field<&MlperfVerdict::unit>("unit"),
    field<&MlperfVerdict::queries>("queries"),
    field<&MlperfVerdict::duration_s>("duration_s"),
    field<&MlperfVerdict::checks>("checks", "", kMlperfCheck),
    field<&MlperfVerdict::value>("value", "As LoadGen reports it."),
    field<&MlperfVerdict::estimate>("early_stopping_estimate", "What may be claimed of the percentile."),
};
constexpr RecordOf<MlperfVerdict> kMlperf{"mlperf", "The rules of MLPerf's LoadGen for --mlperf.", kMlperfFields};

constexpr Field kQualityFields[] = {
    field<&QualityFacts::task>("task"),
    field<&QualityFacts::asked>("questions_asked", "Of which an answer, or a failure, is known."),
    field<&QualityFacts::of>("questions"),
    field<&QualityFacts::unanswered>("unanswered", "Questions without a usable answer, which count as wrong."),
};
constexpr RecordOf<QualityFacts> kQuality{
    "quality", "Of --eval: the task whose questions were the load. Its scores are the metrics named quality.NAME.",
    kQualityFields};

constexpr Field kWindowFields[] = {
    field<&ScenarioResult::window_begin_s>("begin_s"),
    field<&ScenarioResult::window_s>("seconds"),
    field<&ScenarioResult::whole_load>("whole_load", "From the first request due to the last answer."),
    derived("rates", "How rates are counted.", [](const ScenarioResult& /*result*/) { return kRatesDefinition; }),
};
constexpr RecordOf<ScenarioResult> kWindow{
    "window", "Of the rates, after the start: without warm-up; of a load of a given number of requests all of it.",
    kWindowFields};

constexpr Field kRequestsFields[] = {
    field<&ScenarioResult::sent>("sent").within(kNonNegative),
    field<&ScenarioResult::completed>("completed").within(kNonNegative),
    field<&ScenarioResult::failed>("failed").within(kNonNegative),
    field<&ScenarioResult::censored>("censored").within(kNonNegative),
    field<&ScenarioResult::never_sent>("never_sent").within(kNonNegative),
    field<&ScenarioResult::warmup>("warmup").within(kNonNegative),
    field<&ScenarioResult::retried>("sent_again").within(kNonNegative),
    field<&ScenarioResult::without_done>("without_done_mark").within(kNonNegative),
    field<&ScenarioResult::buffered>("buffered", "Answers whose events arrived all at once.").within(kNonNegative),
    field<&ScenarioResult::oldest_censored_s>("oldest_censored_s").when([](const ScenarioResult& result) {
      return result.censored > 0;
    }),
};
constexpr RecordOf<ScenarioResult> kRequests{"requests", "", kRequestsFields};

constexpr auto closed_loop = [](const ScenarioResult& result) { return result.arrivals == "closed"; };
constexpr auto open_loop = [](const ScenarioResult& result) { return result.arrivals != "closed"; };

constexpr Field kScenarioFields[] = {
    field<&ScenarioResult::scenario>("scenario"),
    field<&ScenarioResult::arrivals>("arrivals", "closed, poisson, ..."),
    field<&ScenarioResult::users>("concurrency").within(kAtLeastOne).when(closed_loop),
    field<&ScenarioResult::rate>("rate_per_s", "Asked for.").when(open_loop),
    field<&ScenarioResult::batch>("batch", "Documents a request, if more than one: embeddings, reranking.")
        .ruled(R"({"minimum": 2})")
        .when([](const ScenarioResult& result) { return result.batch > 1; }),
    field<&ScenarioResult::turns>("turns", "Of a conversation, if more than one.")
        .when([](const ScenarioResult& result) { return result.turns > 1; }),
    field<&ScenarioResult::parameters>("parameters",
                                       "Everything that defines this load besides scenario, arrivals, level, batch and "
                                       "turns; what is as usual is left out."),
    field<&ScenarioResult::started>("started", "UTC."),
    field<&ScenarioResult::wall_s>("wall_s", "From the first request due to the last answer."),
    group("window", "", kWindow),
    group("requests", "", kRequests),
    field<&ScenarioResult::errors>("errors", "By class: http_503, timeout, stall, reset, truncated, ...")
        .within(kNonNegative),
    field<&ScenarioResult::first_error>("first_error", "What the first of them said.").unless_empty(),
    field<&ScenarioResult::stopped_because>("stopped_because"),
    field<&ScenarioResult::interrupted>("interrupted"),
    keyed<&ScenarioResult::metrics, &LoadMetric::id>("metrics", "ttft, tpot, itl, e2e, ...: docs/serving.md.",
                                                     kLoadMetric),
    field<&ScenarioResult::tokens>("tokens", "", kTokens),
    field<&ScenarioResult::prompts>("prompts", "", kPrompts),
    field<&ScenarioResult::client>("client", "", kClient),
    field<&ScenarioResult::slo>("slo", "", kSlo).unless_empty(),
    field<&ScenarioResult::mlperf>("mlperf", "", kMlperf),
    field<&ScenarioResult::quality>("quality", "", kQuality),
};
constexpr RecordOf<ScenarioResult> kScenario{"scenario", "", kScenarioFields};

/// Of this report, and of the one that it goes on with.
struct ShownScenario {
  const ScenarioResult* result;
};
constexpr Form kShownScenario{
    [](const void* shown) { return to_json(*static_cast<const ShownScenario*>(shown)->result); }, nullptr, nullptr};

std::vector<ShownScenario> shown_scenarios(const LoadReport& report) {
  std::vector<ShownScenario> all;
  for (const auto& one : report.earlier) all.push_back({&one});
  for (const auto& one : report.scenarios) all.push_back({&one});
  return all;
}

constexpr Field kFirstProbeFields[] = {
    field<&LoadReport::first_s>("first_s"),
    field<&LoadReport::warm_s>("warm_s"),
    field<&LoadReport::repeated_s>("repeated_s"),
    field<&LoadReport::cached_tokens>("cached_tokens").when([](const LoadReport& report) {
      return report.cached_tokens >= 0;
    }),
};
constexpr RecordOf<LoadReport> kFirstProbe{"first_probe",
                                           "Before the load, of one token: the very first request, a later one of its "
                                           "size, and the same prompt once more.",
                                           kFirstProbeFields};

using Fact = std::pair<std::string, std::string>;

constexpr Field kLoadReportFields[] = {
    field<&LoadReport::id>("id"),
    field<&LoadReport::started>("started", "UTC."),
    field<&LoadReport::command>("command"),
    field<&LoadReport::options>("options", "Of the command, by name, with their values; a flag has one empty value.")
        .unless_empty(),
    field<&LoadReport::version>("version"),
    field<&LoadReport::host>("host"),
    field<&LoadReport::complete>("complete"),
    keyed<&LoadReport::target, &Fact::first, &Fact::second>("target", "base, model, api, engine, ..."),
    derived("scenarios", "", kScenario, [](const LoadReport& report) { return shown_scenarios(report); })
        .formed(kShownScenario),
    field<&LoadReport::scenarios>("scenarios", "", kScenario).only_read(),
    group("first_probe", "", kFirstProbe).when([](const LoadReport& report) { return report.warm_s > 0; }),
    field<&LoadReport::search>("search", "What a search for the highest load found."),
    field<&LoadReport::search_met>("search_met", "A load that meets the objectives was found.").unless_empty(),
    field<&LoadReport::notes>("notes"),
};

}  // namespace

std::string percentile_name(double p) { return fmt::format("p{:g}", std::round(p * 1e6) / 1e4); }

const LoadMetric* metric_of(const ScenarioResult& result, std::string_view id) {
  const auto found = std::find_if(result.metrics.begin(), result.metrics.end(),
                                  [&](const LoadMetric& metric) { return metric.id == id; });
  return found == result.metrics.end() ? nullptr : &*found;
}

const Percentile* percentile_of(const LoadMetric& metric, double p) {
  const auto found = std::find_if(metric.percentiles.begin(), metric.percentiles.end(),
                                  [&](const Percentile& item) { return std::abs(item.p - p) < 1e-9; });
  return found == metric.percentiles.end() ? nullptr : &*found;
}

constexpr RecordOf<LoadReport> kLoadReport{
    "load", "What `warpmark load run --json` writes. Times are seconds, rates per second; an absent key is unknown.",
    kLoadReportFields, kLoadSchema};

Json to_json(const ScenarioResult& result) { return write(kScenario, result); }
Json to_json(const LoadReport& report) { return write(kLoadReport, report); }

namespace {

Status read_percentiles(const Json& json, LoadMetric& metric) {
  for (const auto& [name, item] : json.items()) {
    WM_ASSIGN(Percentile percentile, read(kPercentile, item));
    WM_ASSIGN(const double of_100, parse_number(name.starts_with('p') ? name.substr(1) : name));
    percentile.p = of_100 / 100;
    metric.percentiles.push_back(std::move(percentile));
  }
  std::ranges::sort(metric.percentiles, {}, &Percentile::p);
  return {};
}

}  // namespace

Result<LoadReport> load_report_from_json(const Json& json) {
  WM_ASSIGN(LoadReport report, read(kLoadReport, json));
  for (std::size_t i = 0; i < report.scenarios.size(); ++i) {
    ScenarioResult& result = report.scenarios[i];
    result.client.trusted = result.client.reasons.empty();
    for (auto& metric : result.metrics) {
      const Json& written = json["scenarios"][i]["metrics"][metric.id];
      if (written.contains("percentiles")) WM_TRY(read_percentiles(written["percentiles"], metric));
    }
  }
  return report;
}

}  // namespace warpmark::serving
