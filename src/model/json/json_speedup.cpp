#include "model/json/json_parts.h"
#include "model/speedup.h"

namespace warpmark {
namespace {

constexpr Field kRunSpeedUpFields[] = {
    field<&RunSpeedUp::run>("run", "Its index."),
    field<&RunSpeedUp::against>("against", "Index of the baseline, which differs in one parameter alone."),
    field<&RunSpeedUp::parameter>("parameter", "impl, dtype"),
    field<&RunSpeedUp::baseline>("baseline", "Value of the parameter there: standard, unfused, f32"),
    field<&RunSpeedUp::ratio>("ratio", "Time of the baseline over that of the run: above 1 the run is faster.")
        .within(kPositive),
    inlined<&RunSpeedUp::interval>(kCiInterval),
};

}  // namespace

constexpr RecordOf<RunSpeedUp> kRunSpeedUp{"speedup", "", kRunSpeedUpFields};

}  // namespace warpmark
