#include "optimize/job.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "optimize/outcome.h"
#include "optimize/search.h"

namespace warpmark::optimize {
namespace {

/// JSON's strings are YAML's, too.
std::string quoted_json(const std::string& text) { return dump_json(Json(text), -1); }

/// The words and variables of the job, and what an image must have beside them.
struct Container {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> notes;
};

Result<Container> container_of(const Optimization& optimization, const Program& program) {
  const Settings settings = plan_of(optimization);
  WM_ASSIGN(const auto command, command_with(program, settings));
  Container container{.words = command.words, .variables = command.environment, .notes = {}};
  bool hook = false;
  for (const auto& setting : command.plan.knobs) {
    hook = hook || !(setting.first.starts_with("env.") || setting.first.starts_with("process."));
  }
  if (hook) {  // --apply puts on arguments and launchers by itself
    container.words = {"warpmark", "optimize", "--apply", "plan.yaml", "--"};
    container.words.insert(container.words.end(), program.words.begin(), program.words.end());
    container.notes.emplace_back("warpmark and plan.yaml");
  }
  for (const auto& setting : settings) {
    for (const auto& own : program.user_knobs) {
      if (own.name != setting.knob) continue;
      if (own.place == UserKnobPlace::patch) container.notes.push_back("the program with the patch " + own.target);
      if (own.place == UserKnobPlace::file) {
        container.notes.push_back(fmt::format("{} in {}", own.name + "=" + setting.value, own.target));
      }
    }
  }
  return container;
}

std::string heading(const std::string& what, const Container& container) {
  std::string text = "# " + what + "\n";
  if (!container.notes.empty()) text += "# The image must have: " + join(container.notes, ", ") + ".\n";
  return text;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + quoted_json(word);
  return "[" + text + "]";
}

std::string variables_of(const Container& container, const std::string& indent) {
  if (container.variables.empty()) return {};
  std::string text = indent + "env:\n";
  for (const auto& [name, value] : container.variables) {
    text += fmt::format("{}  - {{name: {}, value: {}}}\n", indent, name, quoted_json(value));
  }
  return text;
}

}  // namespace

Result<std::string> job_yaml(const Optimization& optimization, const Program& program) {
  WM_ASSIGN(const auto container, container_of(optimization, program));
  std::string text = heading("A job with what was proven: kubectl create -f job.yaml", container);
  text +=
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: optimized}\nspec:\n  template:\n    spec:\n"
      "      restartPolicy: Never\n      containers:\n        - name: program\n          image: YOUR_IMAGE\n";
  text += "          command: " + list_of(container.words) + "\n" + variables_of(container, "          ");
  if (optimization.device != "cpu")
    text += fmt::format("          resources: {{limits: {{nvidia.com/gpu: {}}}}}\n", optimization.ranks);
  return text;
}

Result<std::string> vertex_yaml(const Optimization& optimization, const Program& program) {
  WM_ASSIGN(const auto container, container_of(optimization, program));
  std::string text = heading(
      "A custom job of Vertex AI: gcloud ai custom-jobs create --region=REGION --display-name=optimized "
      "--config=vertex.yaml",
      container);
  text += "workerPoolSpecs:\n  - machineSpec:\n      machineType: YOUR_MACHINE_TYPE\n";
  if (optimization.device != "cpu") {
    text += fmt::format("      acceleratorType: YOUR_ACCELERATOR\n      acceleratorCount: {}\n", optimization.ranks);
  }
  text += "    replicaCount: 1\n    containerSpec:\n      imageUri: YOUR_IMAGE\n";
  return text + "      command: " + list_of(container.words) + "\n" + variables_of(container, "      ");
}

}  // namespace warpmark::optimize
