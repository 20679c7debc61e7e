#include "base/json.h"
#include "model/json/json_parts.h"
#include "model/scaling.h"

namespace warpmark {
namespace {

constexpr Field kRangedFields[] = {
    field<&Ranged::value>("value"),
    inlined<&Ranged::interval>(kInterval),
};

constexpr Field kStepSharesFields[] = {
    field<&StepShares::ranks>("ranks"),
    field<&StepShares::step_s>("step"),
    field<&StepShares::communication_s>("communication", "Not overlapped, and waiting for ranks without work."),
    field<&StepShares::imbalance_s>("imbalance", "Waiting for ranks that have more work."),
    field<&StepShares::loading_s>("loading", "The GPU idle while batches are awaited."),
    field<&StepShares::host_s>("host", "The GPU idle for its host: dispatching, waits, allocations, copies."),
    field<&StepShares::rest_s>("rest", "Kernels, exposed copies, and what is not explained."),
    field<&StepShares::compute_s>("compute", "Of the rest: kernels."),
    field<&StepShares::utilization>("utilization", "Anything runs on the GPU, collectives included.").within(kShare),
    field<&StepShares::loading_host_s>("loading_host", "The host's wait for a batch."),
    field<&StepShares::late_rank>("late_rank", "That the others wait for.").when([](const StepShares& shares) {
      return shares.late_rank >= 0;
    }),
};
constexpr RecordOf<StepShares> kStepShares{
    "profile", "Of a recorded step, mean over ranks, s; communication, imbalance, loading, host and rest sum to step.",
    kStepSharesFields};

constexpr Field kEfficiencyLossFields[] = {
    field<&EfficiencyLoss::communication>("communication"),
    field<&EfficiencyLoss::imbalance>("imbalance"),
    field<&EfficiencyLoss::loading>("loading"),
    field<&EfficiencyLoss::host>("host"),
    field<&EfficiencyLoss::rest>("rest"),
};
constexpr RecordOf<EfficiencyLoss> kEfficiencyLoss{
    "lost", "Sums to 1 - efficiency. Negative: the cause takes less than with the smallest number of workers.",
    kEfficiencyLossFields};

using Part = std::pair<std::string, double>;

constexpr Field kScalingPointFields[] = {
    field<&ScalingPoint::workers>("workers"),
    field<&ScalingPoint::throughput>("throughput", "Of each run, in order, in units of work a second."),
    field<&ScalingPoint::seconds>("seconds", "Of each run."),
    field<&ScalingPoint::median>("median", "Of the throughput."),
    field<&ScalingPoint::speed_up>("speed_up", "Relative to the smallest number of workers, times that number.",
                                   kRanged),
    field<&ScalingPoint::efficiency>("efficiency", "Ratio.", kRanged),
    field<&ScalingPoint::grade>("grade", "excellent, good, moderate, poor, or those that the interval spans."),
    field<&ScalingPoint::failures>("failures"),
    field<&ScalingPoint::usual>("usual", "Compared with the usual range for this number of GPUs.").unless_empty(),
    field<&ScalingPoint::reason>("reason", "Of the last failure.").unless_empty(),
    field<&ScalingPoint::peak_memory_bytes>("peak_memory", "Largest resident set of any process, median over runs, B."),
    field<&ScalingPoint::gpu_memory_bytes>("gpu_memory", "Peak of the GPU that was filled most, median over runs, B."),
    field<&ScalingPoint::gpu_utilization>("gpu_utilization", "Mean over the GPUs used, median over runs."),
    field<&ScalingPoint::energy_per_work_j>("energy_per_work", "Of what counts: GPUs, or processors, J.", kRanged),
    field<&ScalingPoint::work_per_joule>("work_per_joule"),
    keyed<&ScalingPoint::parts, &Part::first, &Part::second>("parts", "Named times that the command reports, medians.")
        .unless_empty(),
    field<&ScalingPoint::profile>("profile", "", kStepShares),
    field<&ScalingPoint::profile_problem>("profile_problem", "Why there is no profile, where one was asked for.")
        .unless_empty(),
    field<&ScalingPoint::loss>("lost", "", kEfficiencyLoss),
};
constexpr RecordOf<ScalingPoint> kScalingPoint{"point", "", kScalingPointFields};

using Off = std::pair<int, double>;
constexpr Field kOffFields[] = {
    field<&Off::first>("workers"),
    field<&Off::second>("ratio", "How far their mean is from the law."),
};
constexpr RecordOf<Off> kOff{"off", "", kOffFields};

using Parameter = std::pair<std::string, Ranged>;

constexpr Field kScalingLawFitFields[] = {
    field<&ScalingLawFit::law>("law"),
    field<&ScalingLawFit::reason>("reason", "Why it was not fitted, or does not hold.").unless_empty(),
    field<&ScalingLawFit::residual>("residual", "Standard deviation of a run about the law, ratio.")
        .when([](const ScalingLawFit& fit) { return !fit.off.empty(); }),
    field<&ScalingLawFit::aicc>("aicc", "Above that of the law that describes best."),
    field<&ScalingLawFit::chosen>("chosen", "Forecasts are its own.").when([](const ScalingLawFit& fit) {
      return fit.reason.empty();
    }),
    field<&ScalingLawFit::off>("off", "", kOff).unless_empty(),
    keyed<&ScalingLawFit::parameters, &Parameter::first, &Parameter::second>("parameters", "", kRanged).unless_empty(),
};
constexpr RecordOf<ScalingLawFit> kScalingLawFit{"fit", "", kScalingLawFitFields};

constexpr Field kScalingForecastFields[] = {
    field<&ScalingForecast::workers>("workers"),
    field<&ScalingForecast::law>("law"),
    field<&ScalingForecast::speed_up>("speed_up", "", kRanged),
    field<&ScalingForecast::efficiency>("efficiency"),
};
constexpr RecordOf<ScalingForecast> kScalingForecast{"forecast", "", kScalingForecastFields};

constexpr Field kScalingFields[] = {
    field<&Scaling::id>("id"),
    field<&Scaling::started>("started", "UTC."),
    field<&Scaling::command>("command"),
    field<&Scaling::worker>("worker").ruled(R"({"enum": ["GPU", "rank"]})"),
    field<&Scaling::mode>("mode").ruled(R"({"enum": ["strong", "weak"]})"),
    field<&Scaling::unit>("unit", "Of the work: samples, runs."),
    field<&Scaling::seed>("seed").decimal_text(),
    field<&Scaling::complete>("complete"),
    field<&Scaling::points>("points", "", kScalingPoint).ruled(R"({"minItems": 1})"),
    field<&Scaling::fits>("fits", "", kScalingLawFit),
    field<&Scaling::forecasts>("forecasts", "", kScalingForecast),
    field<&Scaling::causes>("causes", "Where efficiency is lost, as far as known."),
    field<&Scaling::machine>("machine", "", kMachine),
    field<&Scaling::build>("build", "", kBuild),
    field<&Scaling::energy_method>("energy_method", "What was read, and its uncertainty.").unless_empty(),
    field<&Scaling::no_forecast>("no_forecast", "Why there are no forecasts.").unless_empty(),
    field<&Scaling::peak_workers>("peak_workers",
                                  "With which the chosen USL predicts the most throughput, near what was measured."),
};

constexpr Field kPowerCapPointFields[] = {
    field<&PowerCapPoint::cap_w>("cap", "Of each GPU.").within(kNonNegative),
    field<&PowerCapPoint::throughput>("throughput", "Of each run, units of work a second.").within(kNonNegative),
    field<&PowerCapPoint::energy_per_work>("energy_per_work_samples", "Of each run, J; empty without energy counters.")
        .within(kNonNegative),
    field<&PowerCapPoint::speed>("speed", "Ratio to the largest cap, by rounds.", kRanged),
    field<&PowerCapPoint::failures>("failures"),
    field<&PowerCapPoint::energy>("energy_per_work", "Of a unit of work, J.", kRanged),
    field<&PowerCapPoint::work_per_joule>("work_per_joule").within(kNonNegative),
    field<&PowerCapPoint::reason>("reason", "Of the last failure.").unless_empty(),
};
constexpr RecordOf<PowerCapPoint> kPowerCapPoint{"point", "", kPowerCapPointFields};

constexpr Field kPowerCapsFields[] = {
    field<&PowerCaps::id>("id"),
    field<&PowerCaps::started>("started", "UTC."),
    field<&PowerCaps::command>("command"),
    field<&PowerCaps::unit>("unit"),
    field<&PowerCaps::gpus>("gpus"),
    field<&PowerCaps::found_w>("found", "The cap before, which is set again.").within(kNonNegative),
    field<&PowerCaps::default_w>("default", "The GPU's own.").within(kNonNegative),
    field<&PowerCaps::restored>("restored"),
    field<&PowerCaps::complete>("complete"),
    field<&PowerCaps::points>("points", "Ascending by cap.", kPowerCapPoint),
    field<&PowerCaps::verdict>("verdict"),
    field<&PowerCaps::machine>("machine", "", kMachine),
    field<&PowerCaps::build>("build", "", kBuild),
    field<&PowerCaps::energy_method>("energy_method").unless_empty(),
    field<&PowerCaps::most_efficient>("most_efficient", "The cap with the most work per joule.").within(kNonNegative),
};

}  // namespace

constexpr RecordOf<Ranged> kRanged{"ranged", "", kRangedFields};
constexpr RecordOf<Scaling> kScaling{"scaling", "Result of `warpmark scale`. Numbers are SI; ratios from 0 to 1.",
                                     kScalingFields, kScalingSchema};

Json to_json(const Ranged& ranged) { return write(kRanged, ranged); }
Json to_json(const Scaling& scaling) { return write(kScaling, scaling); }

constexpr RecordOf<PowerCaps> kPowerCaps{
    "power_caps",
    "Result of `warpmark scale --power-cap-sweep`. Powers in W, energy in J; speed is the ratio to the largest cap.",
    kPowerCapsFields, kPowerCapsSchema};

Json to_json(const PowerCaps& caps) { return write(kPowerCaps, caps); }

}  // namespace warpmark
