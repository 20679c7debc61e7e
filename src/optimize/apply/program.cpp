#include "optimize/apply/program.h"

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace warpmark::optimize {
namespace {

const UserKnob* own_knob(const Program& program, const std::string& name) {
  for (const auto& knob : program.user_knobs) {
    if (knob.name == name) return &knob;
  }
  return nullptr;
}

/// Before the program's words; of several launchers the one that is set last stands first.
void put_launcher(workers::HookedCommand& command, const Knob& knob, const std::string& value) {
  std::vector<std::string> words;
  for (auto& word : split(knob.launcher, ' ')) words.push_back(word == "{}" ? value : std::move(word));
  command.words.insert(command.words.begin(), words.begin(), words.end());
  command.plan.knobs.emplace_back(knob.id, value);
}

/// The user's own value and ours.
std::string joined_value(const Knob& knob, const std::string& value) {
  const char* theirs = std::getenv(knob.variable);
  if (knob.joined == '\0' || theirs == nullptr || *theirs == '\0') return value;
  return std::string(theirs) + knob.joined + value;
}

void set_variable(workers::HookedCommand& command, const std::string& name, const std::string& value) {
  std::erase_if(command.environment, [&](const auto& item) { return item.first == name; });
  command.environment.emplace_back(name, value);
  command.plan.knobs.emplace_back("env." + name, value);  // read back in the end
}

}  // namespace

Result<workers::HookedCommand> command_with(const Program& program, const Settings& settings) {
  workers::HookedCommand command{
      .words = program.words, .environment = program.environment, .directory = program.directory};
  for (const auto& setting : settings) {
    if (const UserKnob* own = own_knob(program, setting.knob)) {
      if (own->place == UserKnobPlace::argument) {
        command.words = with_argument(std::move(command.words), own->target, setting.value);
      } else if (own->place == UserKnobPlace::variable) {
        set_variable(command, own->target, setting.value);
      }
      continue;
    }
    const Knob* knob = find_in(knobs(), setting.knob);
    if (knob == nullptr) return usage_error("there is no knob '" + setting.knob + "'");
    if (*knob->variable != '\0') {
      set_variable(command, knob->variable, joined_value(*knob, setting.value));
    } else if (*knob->launcher != '\0') {
      put_launcher(command, *knob, setting.value);
    } else {
      command.plan.knobs.emplace_back(setting.knob, setting.value);
    }
  }
  return command;
}

Status set_file_values(const Program& program, const Settings& settings, const std::filesystem::path& original) {
  for (const auto& knob : program.user_knobs) {
    if (knob.place != UserKnobPlace::file) continue;
    const auto file = original / knob.target;
    WM_ASSIGN(auto text, read_file(file, 64 << 20));
    // Several knobs may name one file: each starts from the original and applies all settings of that file.
    for (const auto& setting : settings) {
      const UserKnob* own = own_knob(program, setting.knob);
      if (own == nullptr || own->place != UserKnobPlace::file || own->target != knob.target) continue;
      WM_ASSIGN(text, with_value(text, own->pattern, setting.value));
    }
    WM_TRY(write_file(std::filesystem::path(program.directory) / knob.target, text));
  }
  for (const auto& setting : settings) {
    const UserKnob* own = own_knob(program, setting.knob);
    if (own == nullptr || own->place != UserKnobPlace::patch) continue;
    WM_ASSIGN(const auto output, run_process({"patch", "-p1", "--batch", "--forward", "-i", own->target},
                                             {.deadline_s = 60, .directory = program.directory}));
    if (output.exit_code != 0) {
      return data_error("the patch " + own->target + " does not fit: " + output.out.substr(0, 300),
                        "make it with git diff, in the folder that the program runs in");
    }
  }
  return {};
}

}  // namespace warpmark::optimize
