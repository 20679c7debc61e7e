#include "warpmark/terminal/completion.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "warpmark/terminal/every_verb_options.h"

namespace warpmark::apps {
namespace {

constexpr const char* kBash = R"sh(# bash completion of warpmark; source it, or put it into /etc/bash_completion.d/
_warpmark() {
  # bash splits words at = and :, which belong to them here.
  local -a words=()
  local line=$COMP_LINE piece i fresh
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]} fresh=$((i == 0))
    while [[ $line == [[:space:]]* ]]; do line=${line:1} fresh=1; done
    line=${line#"$piece"}
    if ((fresh)); then words+=("$piece"); else words[${#words[@]}-1]+=$piece; fi
  done
  local current=${COMP_WORDS[COMP_CWORD]} whole=${words[${#words[@]}-1]}
  [[ $current == [=:] ]] && current=
  local before=${whole%"$current"} word files=
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then files=1; continue; fi
    word=${line%%$'\t'*}
    COMPREPLY+=("${word#"$before"}")
  done < <("${words[0]/#\~/$HOME}" completion complete -- "${words[@]:1}" 2>/dev/null)
  if [[ $files && ${#COMPREPLY[@]} -gt 0 ]]; then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
    compopt -o filenames
  elif [[ $files ]]; then
    compopt -o default
  fi
}
complete -F _warpmark warpmark
)sh";

constexpr const char* kZsh = R"sh(#compdef warpmark
# zsh completion of warpmark; save it as _warpmark in a folder of $fpath, or source it after compinit
_warpmark() {
  local line word files=
  local -a found
  local program="${(Q)words[1]/#\~/$HOME}"
  for line in "${(@f)$("$program" completion complete -- "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      files=1
    elif [[ -n $line ]]; then
      word=${line%%$'\t'*}
      found+=("${word//:/\\:}:${line#*$'\t'}")
    fi
  done
  (( ${#found} )) && _describe -V warpmark found -Q
  if [[ -n $files ]]; then
    compset -P '--[^=]##='
    _files
  fi
}
if [[ ${funcstack[1]} == _warpmark ]]; then
  _warpmark "$@"
else
  compdef _warpmark warpmark
fi
)sh";

constexpr const char* kFish = R"sh(# fish completion of warpmark; save it as ~/.config/fish/completions/warpmark.fish
function __warpmark_complete
    set -l words (commandline -opc)
    set -l current (string trim --left --chars '"\'' -- (commandline -ct))
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -e words[1]
    $program completion complete -- $words "$current" 2>/dev/null
end
# Files are fish's own, which knows ~ and quotes.
complete -c warpmark -n '__warpmark_complete | string match -q :files' -F
complete -c warpmark -f -a '(__warpmark_complete | string match -v :files)'
)sh";

void add(Candidates& found, const std::string& begin, std::string word, std::string help = {}) {
  if (word.starts_with(begin)) found.words.push_back({std::move(word), std::move(help)});
}

/// Values of a comma-separated list are completed one by one; `before` is what stands in front of the value.
void add_values(Candidates& found, const std::string& completion, const std::string& current, std::string before,
                std::span<const std::string> words, const Lister& lister) {
  if (completion == "<files>") {
    found.files = true;
    return;
  }
  const bool kind = completion.starts_with('<');
  const auto values = kind ? lister(completion.substr(1, completion.size() - 2), words) : split(trim(completion), ' ');
  std::string value = current;
  if (const auto comma = current.rfind(','); comma != std::string::npos) {
    before += current.substr(0, comma + 1);
    value = current.substr(comma + 1);
  }
  for (const auto& one : values) {
    if (one == "<files>") found.files = true;
    if (!one.empty() && one.starts_with(value) && one.front() != '<') found.words.push_back({before + one, ""});
  }
  if (completion != "<runs>") return;
  if (std::string("last").starts_with(value)) found.words.push_back({before + "last", "the newest session"});
  found.files = true;  // results may be in a file as well
}

const OptionSpec* option_named(const Command& command, std::string_view name) {
  const auto at = std::ranges::find_if(command.options, [&](const OptionSpec& option) { return option.name == name; });
  return at == command.options.end() ? nullptr : &*at;
}

void add_common_options(Candidates& found, const std::string& current) {
  for (const auto& option : every_verb_options()) {
    add(found, current, long_name(option), option.help);
  }
  add(found, current, "--help", "show this help");
}

void add_options(Candidates& found, const Command& command, std::span<const std::string> before,
                 const std::string& current) {
  for (const auto& option : command.options) {
    const bool given = std::ranges::any_of(before, [&](const std::string& word) {
      return word == option.name || word.starts_with(std::string(option.name) + "=");
    });
    const bool known = std::ranges::any_of(found.words, [&](const auto& one) { return one.word == option.name; });
    if (!known && (!given || option.use.repeatable)) add(found, current, option.name, option_help(option));
  }
  add_common_options(found, current);
}

/// Of a word that is neither an option nor its value. "show=<runs>" is what follows the word "show".
std::string positional_completion(const Command& command, std::span<const std::string> before) {
  const std::string usual = completion_of(command.positional.completion, command.positional.name);
  if (usual.find('=') == std::string::npos) return usual;
  std::string first, words;
  for (auto word = before.begin(); word != before.end() && first.empty(); ++word) {
    const auto* option = option_named(command, *word);
    if (option == nullptr && !word->starts_with('-')) first = *word;
    const bool has_value = option != nullptr && *option->value != '\0' && *option->value != '[';
    if (has_value && word + 1 != before.end()) ++word;
  }
  for (const auto& one : split(usual, ' ')) {
    const auto name = one.substr(0, one.find('='));
    if (!first.empty() && name == first) return one.size() == name.size() ? " " : one.substr(name.size() + 1);
    words += name + " ";
  }
  return first.empty() ? words : " ";
}

}  // namespace

Candidates complete(std::span<const std::string> line, const Lister& lister) {
  Candidates found;
  if (line.empty()) return found;
  const std::string current = line.back();
  std::vector<std::string> words(line.begin(), line.end() - 1);
  const bool own = std::ranges::find(words, "--") == words.end();
  for (const auto& option : every_verb_options()) {
    if (!own || *option.value == '\0') continue;
    const bool apart = !words.empty() && words.back() == option.name;
    if (!apart && !current.starts_with(std::string(option.name) + "=")) continue;
    const auto begin = apart ? 0 : current.find('=') + 1;
    add_values(found, option.completion, current.substr(begin), current.substr(0, begin), words, lister);
    return found;
  }
  if (!take_every_verb_options(words).ok()) return found;
  words.push_back(current);
  if (words.size() == 1) {
    for (const Command* command : commands()) add(found, current, command->id, command->summary);
    if (current.starts_with('-')) add_common_options(found, current);
    return found;
  }
  const auto verb = std::ranges::find_if(commands(), [&](const Command* one) { return words[0] == one->id; });
  if (verb == commands().end()) return found;
  const Command& command = **verb;
  const auto before = std::span<const std::string>(words).subspan(1, words.size() - 2);
  if (std::ranges::find(before, "--") != before.end()) {  // another program's command line
    found.files = true;
    return found;
  }
  const auto* option = before.empty() ? nullptr : option_named(command, before.back());
  if (option != nullptr && *option->value != '\0') {
    add_values(found, completion_of(*option), current, "", words, lister);
    return found;
  }
  if (current.starts_with('-')) {
    const auto equals = current.find('=');
    option = option_named(command, std::string_view(current).substr(0, equals));
    if (equals != std::string::npos && option != nullptr) {
      add_values(found, completion_of(*option), current.substr(equals + 1), current.substr(0, equals + 1), words,
                 lister);
    } else {
      add_options(found, command, before, current);
    }
    return found;
  }
  const auto& positional = command.positional;
  if (*positional.name == '\0') {
    add_options(found, command, before, current);
    return found;
  }
  const auto completion = positional_completion(command, before);
  if (completion.empty()) found.files = true;
  add_values(found, completion, current, "", words, lister);
  return found;
}

std::string completion_script(const std::string& shell) {
  return shell == "bash" ? kBash : shell == "zsh" ? kZsh : shell == "fish" ? kFish : "";
}

}  // namespace warpmark::apps
