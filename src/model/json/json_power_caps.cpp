#include "base/json.h"
#include "model/json/json_parts.h"
#include "model/power_caps.h"

namespace warpmark {
namespace {

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

constexpr RecordOf<PowerCaps> kPowerCaps{
    "power_caps",
    "Result of `warpmark scale --power-cap-sweep`. Powers in W, energy in J; speed is the ratio to the largest cap.",
    kPowerCapsFields, kPowerCapsSchema};

Json to_json(const PowerCaps& caps) { return write(kPowerCaps, caps); }

}  // namespace warpmark
