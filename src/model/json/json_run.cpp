// Run as JSON, with its metrics, peak, error check and environment.
#include <cmath>

#include "base/json.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
#include "model/names.h"

namespace warpmark {
namespace {

// A relative error that is not a number has failed by any tolerance; JSON has no NaN or infinity to say so.
constexpr double kNotANumberError = 1e300;

constexpr Field kCiIntervalFields[] = {
    field<&Interval::low>("ci_low"),
    field<&Interval::high>("ci_high"),
    field<&Interval::confidence>("ci_confidence", "Ratio."),
};
constexpr Field kIntervalFields[] = {
    field<&Interval::low>("low"),
    field<&Interval::high>("high"),
    field<&Interval::confidence>("confidence", "Ratio."),
};

constexpr Field kPercentileFields[] = {
    field<&Percentile::p>("p", "Ratio: 0.95 is the 95th percentile."),
    field<&Percentile::value>("value"),
    inlined<&Percentile::interval>(kCiInterval),
    field<&Percentile::reason>("reason", "Why there is no value.").unless_empty(),
};
constexpr RecordOf<Percentile> kPercentile{"percentile", "", kPercentileFields, nullptr,
                                           R"({"anyOf": [{"required": ["value"]}, {"required": ["reason"]}]})"};

constexpr Field kSummaryFields[] = {
    field<&Summary::median>("median"),
    inlined<&Summary::median_interval>(kCiInterval),
    field<&Summary::min>("min"),
    field<&Summary::max>("max"),
    field<&Summary::mean>("mean"),
    field<&Summary::stdev>("stdev", "Bessel-corrected."),
    field<&Summary::mad>("mad", "Median absolute deviation from the median, unscaled."),
    field<&Summary::cv>("cv", "Coefficient of variation."),
    field<&Summary::autocorrelation>("autocorrelation", "Lag 1; absent where undefined."),
    field<&Summary::percentiles>("percentiles", "", kPercentile).added_later(),
    field<&Summary::outliers>("outliers", "Indices of samples beyond 14.826 MAD; none is removed.")
        .within(kNonNegative)
        .added_later(),
};
constexpr RecordOf<Summary> kSummary{"summary", "", kSummaryFields};

constexpr Field kMetricFields[] = {
    field<&Metric::id>("id", "time, flop_rate, bandwidth, energy, ...").within(kAtLeastOne),
    field<&Metric::unit>("unit", "SI without prefix: s, B/s, FLOP/s, J."),
    field<&Metric::better>("better"),
    field<&Metric::samples>("samples", "All of them, in the order taken.").added_later(),
    field<&Metric::round_sizes>("round_sizes", "How many samples each round contributed.")
        .within(kNonNegative)
        .added_later(),
    field<&Metric::summary, &Summary::n>("n").within(kNonNegative),
    inlined<&Metric::summary>(kSummary).when([](const Metric& metric) { return metric.summary.n != 0; }),
};
constexpr RecordOf<Metric> kMetric{"metric", "", kMetricFields};

constexpr Field kCostFields[] = {
    field<&Cost::flops>("flops").unless_empty(),
    field<&Cost::bytes>("bytes", "Each input read once, each output written once.").unless_empty(),
    field<&Cost::footprint_bytes>("footprint_bytes").within(kNonNegative).unless_empty(),
    field<&Cost::flop_type>("flop_type", "Data type whose peak limits it.").unless_empty(),
    field<&Cost::rate>("rate", "Metric of the speed of this work: flop_rate or bandwidth.").unless_empty(),
    field<&Cost::link>("link", "Which the bytes cross instead of the memory.").unless_empty(),
};
constexpr RecordOf<Cost> kCost{"cost", "Of one launch.", kCostFields};

constexpr Field kPeakFields[] = {
    field<&Peak::bound>("bound"),
    derived("percent", "100 times share.",
            [](const Peak& peak) { return peak.share != 0 ? std::optional(peak.share * 100) : std::nullopt; }),
    field<&Peak::share>("share", "Time that the peak allows / measured time.").unless_empty(),
    field<&Peak::flops_per_second>("flops_per_second").unless_empty(),
    field<&Peak::bytes_per_second>("bytes_per_second").unless_empty(),
    field<&Peak::intensity>("intensity", "FLOP per byte.").unless_empty(),
    field<&Peak::unreliable>("unreliable", "The ceiling is: the share is no better than it.")
        .unless_empty()
        .formerly("mistrusted"),
    field<&Peak::ceiling>("ceiling", "Which measured limit.").unless_empty(),
    field<&Peak::reason>("reason", "Why there is no share; next to a share, which limit is unknown.").unless_empty(),
};
constexpr RecordOf<Peak> kPeak{"peak", "", kPeakFields};

constexpr Field kErrorFields[] = {
    field<&ErrorCheck::value>("value").written_as(
        [](const ErrorCheck& error) { return std::isfinite(error.value) ? error.value : kNotANumberError; }),
    field<&ErrorCheck::tolerance>("tolerance"),
    field<&ErrorCheck::norm>("norm").unless_empty(),
    field<&ErrorCheck::reference>("reference").unless_empty(),
};
constexpr RecordOf<ErrorCheck> kError{
    "error", "The timed launches' output, compared with the reference. 1e300 stands for an error that is not a number.",
    kErrorFields};

constexpr Field kReadingFields[] = {
    field<&Reading::id>("id").within(kAtLeastOne),
    field<&Reading::unit>("unit"),
    field<&Reading::before>("before"),
    field<&Reading::after>("after"),
};
constexpr RecordOf<Reading> kReading{"reading", "", kReadingFields};

constexpr Field kDisturbanceFields[] = {
    field<&Disturbance::id>("id").within(kAtLeastOne),
    field<&Disturbance::cause>("cause"),
    field<&Disturbance::invalidates>("invalidates", "The result is unreliable because of it.").added_later(),
    field<&Disturbance::device>("device", "That it happened to.").unless_empty(),
};

constexpr Field kEnvironmentFields[] = {
    field<&Environment::readings>("readings", "", kReading).added_later(),
    field<&Environment::disturbances>("disturbances", "", kDisturbance).added_later(),
};
constexpr RecordOf<Environment> kEnvironment{"environment", "", kEnvironmentFields};

constexpr Field kWarmupFields[] = {
    field<&Warmup::launches>("launches").within(kNonNegative),
    field<&Warmup::seconds>("seconds"),
    field<&Warmup::settled>("settled"),
    field<&Warmup::reason>("reason").unless_empty(),
    field<&Warmup::first_s>(
        "first_s", "The very first launch, or run of a command, as the host saw it: with whatever happens once."),
};
constexpr RecordOf<Warmup> kWarmup{"warmup", "", kWarmupFields};

constexpr Field kTimingFields[] = {
    field<&Timing::method>("method"),
    field<&Timing::resolution_s>("resolution_s"),
    field<&Timing::overhead_s>("overhead_s", "Already subtracted from the samples."),
    field<&Timing::launches_per_sample>("launches_per_sample", "Above 1: a sample is the mean of a batch.")
        .within(kNonNegative),
    field<&Timing::sets>("sets", "Input sets rotated over.").within(kNonNegative),
};
constexpr RecordOf<Timing> kTiming{"timing", "", kTimingFields};

constexpr Form kParamForm{[](const void* value) -> Json {
                            return std::visit([](const auto& held) { return Json(held); },
                                              *static_cast<const ParamValue*>(value));
                          },
                          [](const Json& json, void* value) -> const char* {
                            auto& param = *static_cast<ParamValue*>(value);
                            if (json.is_string()) {
                              param = json.get<std::string>();
                            } else if (json.is_number_float()) {
                              param = json.get<double>();
                            } else if (json.is_number_integer()) {
                              param = json.get<std::int64_t>();
                            } else {
                              return "a text or a number";
                            }
                            return nullptr;
                          },
                          R"({"type": ["string", "number"]})"};

constexpr Type kParamsType = [] {
  Type type{.kind = Type::Kind::map, .item = &kTypeOf<ParamValue>};
  type.size = [](const void* params) { return static_cast<const Params*>(params)->items().size(); };
  type.at = [](const void* params, std::size_t i) -> const void* {
    return &static_cast<const Params*>(params)->items()[i].second;
  };
  type.key = [](const void* params, std::size_t i) -> std::string_view {
    return static_cast<const Params*>(params)->items()[i].first;
  };
  type.add = [](void* params, std::string_view key) -> void* { return &static_cast<Params*>(params)->add(key); };
  type.clear = [](void* params) { *static_cast<Params*>(params) = {}; };
  return type;
}();

/// Not measured at all: then warm-up and timing would only show their defaults.
constexpr auto was_measured = [](const Run& run) {
  const Warmup& warmup = run.warmup;
  const Timing& timing = run.timing;
  return warmup.launches != 0 || warmup.seconds != 0 || warmup.settled || !warmup.reason.empty() ||
         !timing.method.empty() || timing.resolution_s != 0 || timing.overhead_s != 0 ||
         timing.launches_per_sample != 1 || timing.sets != 1;
};

/// A wrong result has no speed.
const std::vector<Metric>& shown_metrics(const Run& run) {
  static const std::vector<Metric> kNone;
  return run.outcome == Outcome::failed ? kNone : run.metrics;
}

constexpr Field kRunFields[] = {
    field<&Run::id>("id").within(kAtLeastOne),
    field<&Run::index>("index", "Position in the session.").within(kNonNegative).added_later(),
    field<&Run::workload>("workload").within(kAtLeastOne),
    field<&Run::params>("params").with(&Field::type, &kParamsType).formed(kParamForm),
    field<&Run::device>("device").within(kAtLeastOne),
    field<&Run::mode>("mode", "How the inputs meet the caches."),
    field<&Run::outcome>("outcome"),
    field<&Run::reason>("reason", "Why the outcome is not passed.").unless_empty(),
    field<&Run::fault>("fault", "Whose fault an outcome \"error\" is."),
    field<&Run::out_of_memory>("out_of_memory", "The outcome is not passed because memory was used up.").unless_empty(),
    field<&Run::hint>("hint", "What to do about it.").unless_empty(),
    field<&Run::metrics>("metrics", "The first is the primary one. Empty unless the outcome is passed or unreliable.",
                         kMetric)
        .written_as([](const Run& run) -> const std::vector<Metric>& { return shown_metrics(run); })
        .added_later(),
    field<&Run::cost>("cost", "", kCost).unless_empty(),
    field<&Run::peak>("peak", "", kPeak).formerly("roof").when([](const Run& run) {
      return run.outcome != Outcome::failed;
    }),
    field<&Run::error>("error", "", kError),
    field<&Run::environment>("environment", "", kEnvironment).added_later(),
    field<&Run::warmup>("warmup", "", kWarmup).when(was_measured),
    field<&Run::timing>("timing", "", kTiming).when(was_measured),
    field<&Run::stopped_because>("stopped_because", "Of several rounds the most frequent reason.").unless_empty(),
    field<&Run::converged>("converged", "The interval of the median reached its target.").added_later(),
    field<&Run::rounds>("rounds", "Rounds merged into this run.").within(kNonNegative).added_later(),
    field<&Run::seed>("seed", "64 bits as decimal text.").decimal_text().added_later(),
    field<&Run::notes>("notes", "Facts in order; names may repeat.", kNamedText).unless_empty(),
    field<&Run::started>("started", "UTC.").unless_empty(),
    field<&Run::repro>("repro", "The command that measures this again.").unless_empty(),
};
constexpr const char* kRunRules = R"({"allOf": [
  {"if": {"properties": {"outcome": {"const": "passed"}}},
   "then": {"properties": {"metrics": {"minItems": 1}}}, "else": {"required": ["reason"]}},
  {"if": {"properties": {"outcome": {"const": "failed"}}}, "then": {"properties": {"metrics": {"maxItems": 0}}}}]})";

}  // namespace

constexpr RecordOf<Interval> kCiInterval{"ci_interval", "", kCiIntervalFields};
constexpr RecordOf<Interval> kInterval{"interval", "", kIntervalFields};
constexpr RecordOf<Disturbance> kDisturbance{"disturbance", "", kDisturbanceFields};
constexpr RecordOf<Run> kRun{"run", "", kRunFields, nullptr, kRunRules};

Json to_json(const Run& run) { return write(kRun, run); }
Result<Run> run_from_json(const Json& json) { return read(kRun, json); }

}  // namespace warpmark
