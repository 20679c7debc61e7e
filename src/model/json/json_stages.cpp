// Stages and sizes as JSON. Written only.
#include "model/json/json_parts.h"
#include "model/speedup.h"
#include "model/stages.h"

namespace warpmark {
namespace {

using Size = SizeFit::Size;

constexpr auto has_items = [](const Stage& stage) { return stage.items > 0; };
constexpr auto has_limit = [](const Stage& stage) { return stage.limit != LimitState::none; };

constexpr Field kStageFields[] = {
    field<&Stage::name>("name", "Absent of the whole.").unless_empty(),
    field<&Stage::seconds>("seconds", "Median."),
    inlined<&Stage::interval>(kCiInterval),
    field<&Stage::share>("share", "Of all."),
    field<&Stage::items>("items", "That a run processes.").when(has_items),
    derived("items_per_second", "", [](const Stage& stage) { return stage.items / stage.seconds; }).when(has_items),
    derived("seconds_per_item", "", [](const Stage& stage) { return stage.seconds / stage.items; }).when(has_items),
    field<&Stage::gain_doubled>(
        "gain_if_twice_as_fast",
        "Speedup of the whole if this stage were 2x faster (Amdahl, AFIPS 30, 1967); of the whole, if all were."),
    field<&Stage::limit_s>("limit_s").when(has_limit),
    field<&Stage::limit>("limit", "Undecided where the interval lies on both sides.").when(has_limit),
};
constexpr RecordOf<Stage> kStage{"stage", "", kStageFields};

constexpr Field kStagedRunFields[] = {
    field<&StagedRun::run>("run", "Its index."),
    field<&StagedRun::all>("all", "", kStage),
    field<&StagedRun::outside>("outside", "Share that no stage has."),
    field<&StagedRun::stages>("stages", "", kStage),
};

constexpr Field kSizeFields[] = {
    field<&Size::run>("run", "Its index."),
    field<&Size::items>("items"),
    field<&Size::seconds>("seconds", "Median."),
    field<&Size::fixed_share>("fixed_share", "Of its time."),
    field<&Size::too_small>("too_small", "Most of it is the fixed cost: it says little about the work."),
};
constexpr RecordOf<Size> kSize{"size", "", kSizeFields};

constexpr Field kSizeFitFields[] = {
    field<&SizeFit::parameter>("parameter"),
    field<&SizeFit::fixed_s>("fixed_s"),
    field<&SizeFit::fixed_interval>("fixed", "", kInterval),
    field<&SizeFit::per_item_s>("per_item_s"),
    field<&SizeFit::per_item_interval>("per_item", "", kInterval),
    field<&SizeFit::straight>("straight", "The times lie on a line; otherwise the figures are unreliable."),
    field<&SizeFit::sizes>("sizes", "The smallest first.", kSize),
};

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

constexpr RecordOf<StagedRun> kStagedRun{"staged_run", "", kStagedRunFields};
constexpr RecordOf<SizeFit> kSizeFit{"size_fit", "", kSizeFitFields};

constexpr RecordOf<RunSpeedUp> kRunSpeedUp{"speedup", "", kRunSpeedUpFields};

}  // namespace warpmark
