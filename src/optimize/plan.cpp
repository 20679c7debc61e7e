#include "optimize/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/yaml_keys.h"
#include "optimize/search.h"

namespace warpmark::optimize {
namespace {

/// A YAML scalar in double quotes: always valid, whatever a command holds.
std::string yaml_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += ' ';
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string knob_yaml(const UserKnob& knob) {
  if (knob.place == UserKnobPlace::patch) {
    return fmt::format("  - name: {}\n    patch: {}\n    changes: {}\n", knob.name, yaml_quoted(knob.target),
                       name_of(knob.numerics));
  }
  std::string values;
  for (const auto& value : knob.values) values += (values.empty() ? "" : ", ") + yaml_quoted(value);
  const char* place = knob.place == UserKnobPlace::argument   ? "argument"
                      : knob.place == UserKnobPlace::variable ? "variable"
                                                              : "file";
  std::string text = fmt::format("  - name: {}\n    {}: {}\n", knob.name, place, yaml_quoted(knob.target));
  if (knob.place == UserKnobPlace::file) text += "    pattern: " + yaml_quoted(knob.pattern) + "\n";
  return text + fmt::format("    values: [{}]\n    changes: {}\n", values, name_of(knob.numerics));
}

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

constexpr YamlKey kPlanKeys[] = {
    yaml_schema(kPlanSchema),
    yaml_key<&Plan::program>("program"),
    yaml_key<&Plan::speedup>("speedup"),
    yaml_key("settings").needed("there are no settings"),
    yaml_key<&Plan::user_knobs, read_user_knobs>("knobs"),
};

}  // namespace

std::string plan_yaml(const Optimization& optimization, const std::vector<UserKnob>& user_knobs) {
  std::string text = fmt::format("# Run with it: warpmark optimize --apply plan.yaml -- {}\nschema: {}\nprogram: {}\n",
                                 optimization.program, kPlanSchema, yaml_quoted(optimization.program));
  if (optimization.measured_speedup) {
    const auto& speedup = *optimization.measured_speedup;
    text +=
        fmt::format("speedup: {}\n",
                    yaml_quoted(fmt::format("{:.3g}x ({:.3g} to {:.3g})", speedup.ratio, speedup.low, speedup.high)));
  }
  text += optimization.plan.empty() ? "settings: {}\n" : "settings:\n";
  for (const auto& [knob, value] : optimization.plan) {
    text += fmt::format("  {}: {}\n", knob, yaml_quoted(value));
  }
  std::string own;
  for (const auto& knob : user_knobs) {
    const bool used =
        std::ranges::any_of(optimization.plan, [&](const auto& setting) { return setting.first == knob.name; });
    if (used) own += knob_yaml(knob);
  }
  return own.empty() ? text : text + "knobs:\n" + own;
}

Result<Plan> parse_plan(std::string_view yaml, std::string_view file_name) {
  WM_ASSIGN(const auto root, read_yaml(yaml, file_name));
  const YamlReader reader(file_name);
  if (!root.is_map()) return data_error(std::string(file_name) + " is no map", "is it a plan.yaml?");
  Plan plan;
  WM_TRY(reader.fill(root, "", kPlanKeys, plan));
  YamlPairs settings;
  WM_TRY(reader.value(root["settings"], {"settings"}, settings));
  auto known = ids_of(knobs());
  for (const auto& knob : plan.user_knobs) known.push_back(knob.name);
  for (const auto& [knob, value] : settings) {
    if (std::ranges::find(known, knob) == known.end()) {
      const auto meant = nearest(knob, known);
      return reader.error(
          root["settings"], "there is no knob '" + knob + "'",
          meant.empty() ? "`warpmark optimize --list-knobs` shows all" : "did you mean '" + meant + "'?");
    }
    const bool own =
        std::ranges::any_of(plan.user_knobs, [&, name = knob](const auto& one) { return one.name == name; });
    const Knob* of_catalog = own ? nullptr : find_in(knobs(), knob);
    if (of_catalog != nullptr && !takes(*of_catalog, value)) {
      return reader.error(root["settings"], fmt::format("{} has no value '{}'", knob, value),
                          "it takes " + values_text(*of_catalog));
    }
    plan.settings.push_back({knob, value});
  }
  return plan;
}

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

Settings plan_of(const Optimization& optimization) {
  Settings settings;
  for (const auto& [knob, value] : optimization.plan) settings.push_back({knob, value});
  return settings;
}

const OptimizationStep* refused_request(const Optimization& optimization) {
  for (const auto lost : {TrialOutcome::rejected, TrialOutcome::slower, TrialOutcome::no_gain, TrialOutcome::failed}) {
    for (const auto& step : optimization.steps) {
      // Of several values one that held is enough.
      const bool held =
          std::ranges::any_of(optimization.plan, [&](const auto& setting) { return setting.first == step.knob; });
      if (step.asked && !held && step.outcome == lost) return &step;
    }
  }
  return nullptr;
}

int outcome_code(const Optimization& optimization) {
  if (!optimization.unreliable.empty()) return 5;
  if (!optimization.complete && !optimization.optimized) return 3;
  if (const auto* step = refused_request(optimization)) return step->outcome == TrialOutcome::rejected ? 4 : 1;
  if (!optimization.plan.empty()) return optimization.optimized ? 0 : 3;
  const bool open = std::ranges::any_of(
      optimization.steps, [](const OptimizationStep& step) { return step.outcome == TrialOutcome::undecided; });
  return open ? 3 : 0;
}

}  // namespace warpmark::optimize
