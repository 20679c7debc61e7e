#include "base/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "base/text.h"

namespace warpmark {
namespace {

/// What can be the first word: "show=<runs>" is "show", and what follows is for the completion.
std::vector<std::string> actions_of(const PositionalSpec& positional) {
  auto actions = split(positional.completion, ' ');
  for (auto& action : actions) action.resize(std::min(action.size(), action.find('=')));
  return actions;
}

bool is_option(const std::string& word) { return word.starts_with("-") && word != "-"; }

/// What a verb takes, and what people call it.
struct Known {
  std::span<const OptionSpec> options;
  const PositionalSpec& positional;
  std::span<const Synonym> synonyms;

  [[nodiscard]] const OptionSpec* find(std::string_view name) const {
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const auto& option) { return option.name == name; });
    return found == options.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::string hint_for(const std::string& given) const {
    for (const auto& synonym : synonyms) {
      if (given != synonym.word) continue;
      if (!is_option(synonym.meant)) return synonym.meant;
      if (find(synonym.meant) != nullptr) return "did you mean '" + synonym.meant + "'? see --help";
    }
    // Without their dashes, which would make all short names alike.
    const auto bare = [](std::string_view name) { return std::string(name.substr(name.find_first_not_of('-'))); };
    std::vector<std::string> names{"help"};
    for (const auto& option : options) names.push_back(bare(option.name));
    const auto meant = given.find_first_not_of('-') == std::string::npos ? "" : nearest(bare(given), names);
    return meant.empty() ? "see --help" : "did you mean '--" + meant + "'? see --help";
  }

  /// CLI11 says which words it did not expect; the suggestion is ours.
  [[nodiscard]] Error unexpected(const std::string& word) const {
    if (!is_option(word)) return usage_error("unexpected argument '" + word + "'", "see --help");
    const auto given = word.substr(0, word.find('='));
    return usage_error("unknown option '" + given + "'", hint_for(given));
  }

  /// Of words that CLI11 could not place: an unknown option before an argument that may be its value, as the option is
  /// what was meant wrongly.
  [[nodiscard]] Error misfit(std::span<const std::string> words) const {
    const std::size_t most = std::string_view(positional.name).empty() ? 0 : positional.repeatable ? words.size() : 1;
    std::size_t arguments = 0;
    std::string surplus;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!is_option(words[i])) {
        if (++arguments > most && surplus.empty()) surplus = words[i];
        continue;
      }
      const auto name = words[i].substr(0, words[i].find('='));
      const OptionSpec* option = find(name);
      if (option == nullptr && name != "--help" && name != "-h") return unexpected(words[i]);
      if (option != nullptr && !std::string_view(option->value).empty() && name == words[i]) ++i;
    }
    if (!surplus.empty()) return unexpected(surplus);
    return usage_error("an option has no value, or one too many", "see --help");
  }

  /// With the values that may be left out: the next word is one unless it is an option or an action.
  [[nodiscard]] std::vector<std::string> with_values(std::span<const std::string> words) const {
    const auto actions = actions_of(positional);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < words.size(); ++i) {
      all.push_back(words[i]);
      const OptionSpec* option = find(words[i]);
      if (option == nullptr || !std::string_view(option->value).starts_with("[")) continue;
      const bool given = i + 1 < words.size() && !is_option(words[i + 1]) &&
                         std::find(actions.begin(), actions.end(), words[i + 1]) == actions.end();
      all.back() += "=" + (given ? words[++i] : std::string("-"));
    }
    return all;
  }
};

}  // namespace

std::string ParsedOptions::get(std::string_view name, std::string_view otherwise) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? std::string(otherwise) : found->second.back();
}

std::string ParsedOptions::first_in(std::string_view part) const {
  const auto found = std::ranges::find_if(
      specs_, [&](const auto& one) { return has(one.name) && (one.use.part == part || one.use.actions == part); });
  return found == specs_.end() ? "" : found->name;
}

std::vector<std::string> ParsedOptions::all(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

Status check_action(std::span<const OptionSpec> options, const PositionalSpec& positional, const ParsedOptions& parsed,
                    const std::string& action) {
  const auto actions = actions_of(positional);
  const auto is_action = [&](const auto& word) {
    return std::find(actions.begin(), actions.end(), word) != actions.end();
  };
  if (!is_action(action)) return {};
  for (const auto& [name, given] : parsed.given()) {
    std::vector<std::string> meant;
    bool of_all = true;
    for (const auto& option : options) {
      if (name != option.name) continue;
      const auto its = split(option.use.actions, ',');
      of_all = its.empty() || its.front().empty();
      for (const auto& one : its) {
        if (is_action(trim(one))) meant.emplace_back(trim(one));
      }
    }
    if (of_all || std::find(meant.begin(), meant.end(), action) != meant.end()) continue;
    return usage_error(name + " is for " + join(meant, " and ") + ", not for " + action, "see --help");
  }
  return {};
}

Result<ParsedOptions> parse_options(std::span<const OptionSpec> options, const PositionalSpec& positional,
                                    std::span<const std::string> words, std::span<const Synonym> synonyms) {
  const Known known{options, positional, synonyms};
  // What follows "--" belongs to a command that is to be run: nothing in it is an option of ours.
  const auto separator = std::find(words.begin(), words.end(), "--");
  const auto ours = known.with_values({words.begin(), separator});
  if (separator != words.end() && !positional.repeatable) return known.unexpected("--");
  for (const auto& option : options) {
    // CLI11 would take the next word for the value.
    const bool takes_value = !std::string_view(option.value).empty();
    if (takes_value && std::find(ours.begin(), ours.end(), std::string(option.name) + '=') != ours.end()) {
      return usage_error(std::string("option '") + option.name + "' has an empty value",
                         "give it one, or leave it out");
    }
  }
  CLI::App app;
  app.set_help_flag();  // our own --help is a flag like any other
  app.allow_extras();
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, bool> flags;
  std::vector<std::string> positionals;
  flags["--help"] = false;
  app.add_flag("--help,-h", flags["--help"]);
  for (const auto& option : options) {
    if (std::string_view(option.value).empty()) {
      app.add_flag(option.name, flags[option.name]);
    } else if (!values.contains(option.name)) {
      app.add_option(option.name, values[option.name])->expected(1)->allow_extra_args(false)->take_all();
    }
  }
  if (!std::string_view(positional.name).empty()) {
    auto* rest = app.add_option("words", positionals);
    if (!positional.repeatable) rest->expected(0, 1);
  }
  try {
    // CLI11 takes its words from the back.
    app.parse(std::vector<std::string>(ours.rbegin(), ours.rend()));
  } catch (const CLI::ArgumentMismatch&) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool takes_value = std::any_of(options.begin(), options.end(), [&](const OptionSpec& option) {
        return words[i] == option.name && !std::string_view(option.value).empty();
      });
      if (takes_value && (i + 1 == words.size() || words[i + 1].starts_with("--"))) {
        return usage_error("option '" + words[i] + "' needs a value", "see --help");
      }
    }
    return known.misfit(ours);
  } catch (const CLI::Error& error) {
    return usage_error(error.what(), "see --help");
  }
  if (const auto extras = app.remaining(); !extras.empty()) return known.unexpected(extras.front());

  ParsedOptions parsed(options);
  for (const auto& [name, given] : flags) {
    if (given) parsed.add(name, "");
  }
  for (const auto& option : options) {
    const auto& given = values[option.name];
    if (known.find(option.name) != &option) continue;  // a row of the same name
    if (given.size() > 1 && !option.use.repeatable) {
      return usage_error(std::string("option '") + option.name + "' is given twice", "give it once");
    }
    for (const auto& value : given) parsed.add(option.name, value);
  }
  for (auto& word : positionals) parsed.add_positional(std::move(word));
  for (auto word = separator; word != words.end(); ++word) {
    if (word != separator) parsed.add_positional(*word);
  }
  const bool stops = parsed.has("--help") || parsed.positionals().empty();
  if (!stops) WM_TRY(check_action(options, positional, parsed, parsed.positionals().front()));
  return parsed;
}

}  // namespace warpmark
