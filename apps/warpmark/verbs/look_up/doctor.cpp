#include <utility>

#include "base/json.h"
#include "device/health.h"
#include "device/machine.h"
#include "model/json/json.h"
#include "report/build/doctor.h"
#include "warpmark/command.h"
#include "warpmark/sessions/tool_checks.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kDoctorOptions[] = {
    {"--json", "[FILE]", "write JSON (warpmark.doctor/1)"},
    kHtmlOption,
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
};

Result<int> run_doctor(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto format, format_of(options, {"text", "md", "html", "json"}));
  const Machine machine = device::machine_facts();
  const auto facts = device::gather_health_facts();
  auto checks = device::health_checks(facts);
  for (auto& check : tool_checks(ask_tool)) checks.push_back(std::move(check));
  Report report = report::doctor_report(machine, checks);
  if (auto topology = device::gpu_topology(facts); !topology.rows.empty()) {
    report.sections.push_back({"GPU topology", {std::move(topology)}});
  }
  const auto shown = shown_as([&] { return doctor_json(machine, checks); }, std::move(report));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_named_files(options, shown));
  return kSuccess;
}

}  // namespace

extern const Command doctor_command{
    .id = "doctor",
    .summary = "show the hardware and what will disturb measurements",
    .details =
        "Reads the processor, memory, GPUs, driver and libraries, reports what makes measurements slow or noisy, and "
        "how to fix each problem. Lists the profilers and frameworks that are installed, with versions and what each "
        "adds. It changes nothing.",
    .options = kDoctorOptions,
    .examples = "warpmark doctor\nwarpmark doctor --json",
    .run = run_doctor,
};

}  // namespace warpmark::apps
