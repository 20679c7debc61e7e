// loader: batches made of samples in files, by threads that work ahead of who takes the batches, as the processes of a
// DataLoader do: pictures decoded from JPEG or already decoded, words from text or from a binary file. For a GPU they
// are copied to it, too.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "workloads/cuda_bridge.h"
#include "workloads/feeding/loading.h"
#include "workloads/feeding/passes.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

constexpr ParamSpec kLoaderParams[] = {
    {"form", ParamKind::text, "jpeg", "pictures as JPEG files or decoded; words as text or as a binary file",
     "jpeg|arrays|text|binary"},
    {"samples", ParamKind::integer, "256", "of a pass; each comes once, at random"},
    {"batch", ParamKind::integer, "32", "samples of a batch"},
    {"workers", ParamKind::integer, "2", "threads that make batches ahead; 0 is who takes them, when he needs one"},
    {"side", ParamKind::integer, "224", "of the pictures of a batch"},
    {"width", ParamKind::integer, "500", "of the JPEG files"},
    {"height", ParamKind::integer, "375", "of the JPEG files"},
    {"words", ParamKind::integer, "1024", "of a sample of text"},
    {"step", ParamKind::number, "0", "seconds of the step that a batch is for: how much of loading it hides"},
    {"memory", ParamKind::text, "pageable", "for a GPU: of the batches that are copied to it", "pageable|pinned"},
    {"folder", ParamKind::path, "", "where the files are made; empty is the folder for temporary files"},
};

SampleShape shape_in(const Params& params) {
  const auto size = [&](const char* name) { return static_cast<int>(params.integer(name)); };
  return {.form = params.text("form"),
          .samples = static_cast<std::size_t>(params.integer("samples")),
          .width = size("width"),
          .height = size("height"),
          .side = size("side"),
          .words = static_cast<std::size_t>(params.integer("words"))};
}

/// bytes: of the batches that a pass makes.
Result<Cost> loader_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"samples", "batch", "side", "width", "height", "words"}));
  WM_TRY(require_at_least(params, 0, {"workers"}));
  for (const char* side : {"side", "width", "height"}) {
    if (params.integer(side) > 8192) return usage_error(std::string(side) + " is up to 8192");
  }
  if (params.integer("words") > (1 << 20)) return usage_error("words are up to 2^20");
  if (params.integer("workers") > 1024) return usage_error("workers are up to 1024");
  if (params.integer("samples") > 1'000'000 || params.integer("samples") % params.integer("batch") != 0) {
    return usage_error(
        fmt::format("{} samples do not make whole batches of {}", params.integer("samples"), params.integer("batch")),
        "samples are a multiple of the batch, up to 1000000");
  }
  if (!(params.number("step") >= 0)) return usage_error("step is not negative");
  const SampleShape shape = shape_in(params);
  const double bytes = static_cast<double>(shape.samples) * static_cast<double>(shape.sample_bytes());
  if (bytes > 1e12) return usage_error("the batches of a pass are more than 1 TB", "fewer samples, or a smaller side");
  return Cost{.flops = 0,
              .bytes = bytes,
              .footprint_bytes = static_cast<std::int64_t>(bytes),
              .flop_type = "",
              .link = shape.is_picture() ? "pictures" : "words",
              .rate = "bandwidth"};
}

device::Support supports_loader(const measure::Workload& self, const DeviceInfo& device, const Params& params) {
  if (device.backend == "cuda") return supports_on_cuda(self.id, device, params);
  if (device.backend != "cpu") return device::Support::no("samples are read by processors", "--device cpu");
  if (params.text("memory") == "pinned") {
    return device::Support::no("batches are pinned to be copied to a GPU", "--device cuda, or memory=pageable");
  }
  return device::Support::yes();
}

std::vector<Overrides> loader_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  if (device.backend == "cuda") return {{{"form", "arrays"}}, {{"form", "arrays"}, {"memory", "pinned"}}};
  if (device.backend != "cpu") return {};
  return {{{"form", "jpeg"}}, {{"form", "arrays"}}, {{"form", "text"}}, {{"form", "binary"}}};
}

ErrorCheck check_of(const Loading& loading, const SampleShape& shape) {
  if (!shape.is_picture()) {
    return {loading.difference().sum, 0, "words that differ", "the words of the last batches"};
  }
  // JPEG of quality 90 with half the resolution of colours; arrays are rounded to 8 bits once.
  const double tolerance = shape.form == "jpeg" ? 0.05 : 0.003;
  return {std::sqrt(loading.difference().mean), tolerance, "root of mean squares of pixels in [0, 1]",
          "the last batches from pictures that were never compressed"};
}

void add_metrics(Run& run, const Loading& loading, bool copied, const std::vector<double>& passes) {
  const auto batches = static_cast<double>(loading.batches());
  const double step = run.params.number("step");
  add_rate(run, "samples_rate", "1/s", static_cast<double>(run.params.integer("samples")), passes);
  add_rate(run, "bandwidth", "B/s", run.cost.bytes, passes);
  std::vector<double> batch_times, hidden, copies;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    batch_times.push_back(passes[i] / batches);
    copies.push_back(loading.copy_seconds()[i + 1] / batches);
    // The driver stages ordinary memory on the thread that has the step to do.
    const double staged = copied && run.params.text("memory") == "pageable" ? copies.back() : 0;
    const double most = 1 - staged * batches / passes[i];
    hidden.push_back(
        run.params.integer("workers") == 0 ? 0 : std::clamp(step * batches / passes[i], 0.0, std::max(0.0, most)));
  }
  add_samples(run, "batch_time", "s", Better::lower, std::move(batch_times));
  if (copied) add_samples(run, "copy_time", "s", Better::lower, std::move(copies));
  if (step > 0) add_samples(run, "hidden", "ratio", Better::higher, std::move(hidden));
}

Status measure_loader(const measure::Case& what, device::Device& device, const measure::RoundOptions& options,
                      Run& run) {
  const auto& params = what.params;
  WM_ASSIGN(run.cost, what.workload->cost(*what.workload, params));
  if (const auto s = supports_loader(*what.workload, device.info(), params); !s.available) {
    return unsupported_error(s.reason, s.hint);
  }
  std::unique_ptr<measure::Prepared> prepared;
  if (device.info().backend == "cuda") {
    WM_ASSIGN(prepared, prepare_on_cuda(what.workload->id, {device, params, 1, options.seed}));
  }
  auto* copies = static_cast<BatchCopies*>(prepared.get());  // what the module has under this workload's name
  const SampleShape shape = shape_in(params);
  WM_ASSIGN(const auto files, SampleFiles::make(shape, params.text("folder")));
  const LoadingPlan plan{.batch = static_cast<std::size_t>(params.integer("batch")),
                         .workers = static_cast<std::size_t>(params.integer("workers")),
                         .seed = options.seed};
  Loading loading(*files, shape, plan, copies);
  WM_TRY(loading.prepare());
  WM_ASSIGN(const auto passes, time_passes(options, run, [&](double& seconds) { return loading.pass(seconds); }));
  if (passes.empty()) return {};
  ErrorCheck error = check_of(loading, shape);
  std::string reason = fmt::format("batches are not what the files hold: {} is {:.3g}", error.norm, error.value);
  WM_ASSIGN(const double different, loading.different_on_device());
  if (different > 0) {
    error = {different, 0, "bytes that differ", "the last batches in the host's memory"};
    reason = fmt::format("the device has {:.0f} other bytes than the batches", different);
  }
  if (!record_passes(run, error, reason, passes)) return {};
  add_metrics(run, loading, copies != nullptr, passes);
  run.notes.emplace_back("files", fmt::format("{:.4g} MB, {:.4g} kB a sample", files->bytes() * 1e-6,
                                              files->bytes() * 1e-3 / static_cast<double>(shape.samples)));
  return {};
}

}  // namespace

extern const measure::Workload kLoader{
    .id = "loader",
    .summary = "batches of pictures or words, read from files by workers, copied to a GPU",
    .params = kLoaderParams,
    .cost = loader_cost,
    .supports = supports_loader,
    .prepare = nullptr,
    .cases = loader_cases,
    .default_mode = Mode::hot,
    .measure = measure_loader,
};

}  // namespace warpmark::workloads
