// `warpmark help WORD`: a verb, or whatever has to do with the word: topics, options, metrics, rules, workloads.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "analyze/rules/rules.h"
#include "base/text.h"
#include "report/results/metric_list.h"
#include "warpmark/command.h"
#include "warpmark/terminal/every_verb_options.h"
#include "warpmark/terminal/help_text.h"
#include "warpmark/terminal/topics.h"
#include "workloads/catalog.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kHelpOptions[] = {{"--markdown", "", "as the page docs/cli/VERB.md"},
                                       {"--man", "", "as a manual page, for man; without a verb warpmark(1)"}};

/// A section of what was found, empty if nothing was.
class FoundRows {
 public:
  FoundRows(std::string title, int width) : title_(std::move(title)), width_(width) {}
  void add(const std::string& name, const std::string& meaning) { rows_ += help_row(name, meaning, 24, width_); }
  [[nodiscard]] std::string text() const { return rows_.empty() ? "" : title_ + "\n" + rows_ + "\n"; }

 private:
  std::string title_;
  int width_;
  std::string rows_;
};

std::string topic_text(const Topic& topic, int width) {
  std::string text = wrapped_text(topic.text, width) + "\n\n";
  for (const auto& line : split(topic.commands, '\n')) text += "  " + line + "\n";
  return text + "\n";
}

std::string found_options(const std::string& wanted, int width) {
  FoundRows found("options", width);
  for (const Command* command : commands()) {
    for (const auto& option : command->options) {
      if (folded_word(option.name) == wanted)
        found.add(fmt::format("{} {}", command->id, option.name), option_help(option));
    }
  }
  for (const auto& option : every_verb_options()) {
    if (folded_word(long_name(option)) == wanted) found.add(option.name, std::string("every verb: ") + option.help);
  }
  return found.text();
}

/// Names that are the word, or have it as one of their parts: "bubble" finds "pipeline_bubble".
bool has_part(const std::string& name, const std::string& wanted) {
  const auto whole = folded_word(name);
  if (whole == wanted) return true;
  const auto parts = split(whole, '-');
  return std::find(parts.begin(), parts.end(), wanted) != parts.end();
}

std::string everything_about(const std::string& word, int width) {
  const std::string wanted = folded_word(word);
  std::string text;
  if (const Term* term = find_term(wanted); term != nullptr) {
    text += wrapped_text(fmt::format("{}: {}", term->words, term->meaning), width) + "\n\n";
  }
  if (const Topic* topic = find_topic(wanted); topic != nullptr) text += topic_text(*topic, width);
  text += found_options(wanted, width);
  FoundRows metrics("metrics", width), rules("rules of warpmark analyze", width), cases("workloads", width);
  for (const auto& metric : report::metric_list()) {
    if (has_part(metric.id, wanted)) metrics.add(metric.id, metric.meaning);
  }
  for (const auto* rule : analyze::rules()) {
    if (has_part(rule->id, wanted)) rules.add(rule->id, rule->question);
  }
  for (const auto* workload : workloads::catalog()) {
    if (has_part(workload->id, wanted)) cases.add(workload->id, workload->summary);
  }
  text += metrics.text() + rules.text() + cases.text();
  if (!text.empty()) text.pop_back();  // the empty line after the last section
  return text;
}

Error nothing_about(const std::string& word) {
  std::vector<std::string> known = ids_of(commands());
  for (const auto& topic : topics()) {
    for (auto& name : split(topic.words, ' ')) known.push_back(std::move(name));
  }
  for (const auto& term : glossary()) {
    for (const auto& name : split(term.words, ',')) known.push_back(folded_word(trim(name)));
  }
  const auto meant = nearest(folded_word(word), known);
  return usage_error("there is no help on '" + word + "'",
                     meant.empty() ? "verbs: " + join(ids_of(commands()), ", ") : "did you mean '" + meant + "'?");
}

/// An option of another verb is a word to explain.
Result<std::vector<std::string>> own_help_words(Context&, std::span<const std::string> words) {
  std::vector<std::string> own(words.begin(), words.end());
  for (auto& word : own) {
    const bool ours =
        word == "--help" || std::ranges::any_of(kHelpOptions, [&](const auto& option) { return word == option.name; });
    if (!ours && word.starts_with("--")) word.erase(0, 2);
  }
  std::erase(own, "");
  return own;
}

Result<int> run_help(Context& context, const ParsedOptions& options) {
  if (options.positionals().empty()) {
    context.out << (options.has("--man") ? man_page() : general_help(context.width));
    return kSuccess;
  }
  const std::string word = join(options.positionals(), " ");
  const Command* command = find_in(commands(), word);
  if (command == nullptr) {
    const auto text = everything_about(word, context.width);
    if (text.empty()) return nothing_about(word);
    context.out << text;
    return kSuccess;
  }
  if (options.has("--man")) {
    context.out << man_page_of(*command);
    return kSuccess;
  }
  context.out << (options.has("--markdown") ? markdown_of(*command) : help_of(*command, context.width));
  return kSuccess;
}

}  // namespace

extern const Command help_command{
    .id = "help",
    .summary = "explain a verb, an option, a metric, a rule or a word of the field",
    .details =
        "WORD may be a verb, or anything else: a concept (roofline, ttft, sla), another tool (nsys, hyperfine, "
        "nccl-tests), an option of any verb (--until), a metric, a rule of analyze, a workload or a word of the "
        "glossary.",
    .options = kHelpOptions,
    .positional = {"WORD", "what to explain", true, "<verbs>"},
    .examples = "warpmark help run\nwarpmark help nccl\nwarpmark help ttft\nwarpmark help --until",
    .run = run_help,
    .own_words = own_help_words,
};

}  // namespace warpmark::apps
