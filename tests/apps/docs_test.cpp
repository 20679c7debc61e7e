// The pages docs/cli/<verb>.md and the shell completions are made from the tables that parse; they must be up to date.
// WARPMARK_UPDATE=1 rewrites the pages.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/subprocess.h"
#include "validate/commands/command_spec.h"
#include "warpmark/terminal/completion.h"
#include "warpmark/terminal/every_verb_options.h"
#include "warpmark/terminal/help_text.h"
#include "warpmark/terminal/topics.h"

namespace warpmark::apps {
namespace {

TEST(CliDocs, are_what_the_tables_say) {
  std::vector<std::pair<std::string, std::string>> pages{{"glossary.md", glossary_page()}};
  for (const Command* command : commands()) {
    pages.emplace_back(std::string("cli/") + command->id + ".md", markdown_of(*command));
  }
  for (const auto& [name, page] : pages) {
    const std::string path = std::string(WARPMARK_SOURCE_DIR) + "/docs/" + name;
    if (std::getenv("WARPMARK_UPDATE") != nullptr) {
      ASSERT_TRUE(write_file(path, page).ok());
    }
    const auto stored = read_file(path);
    ASSERT_TRUE(stored.ok()) << path << " is missing; WARPMARK_UPDATE=1 writes it";
    EXPECT_EQ(*stored, page) << path << " is not up to date; WARPMARK_UPDATE=1 rewrites it";
  }
}

TEST(Topics, name_commands_that_parse) {
  const auto parses = [](const std::string& line) {
    const auto words = validate::split_words(line);
    ASSERT_TRUE(words.ok()) << line << ": " << words.error().what;
    ASSERT_GE(words->size(), 2U) << line;
    ASSERT_EQ(words->front(), "warpmark") << line;
    const Command* command = find_in(commands(), words->at(1));
    ASSERT_NE(command, nullptr) << line;
    std::vector<std::string> own(words->begin() + 2, words->end());
    ASSERT_TRUE(take_every_verb_options(own).ok()) << line;
    const auto parsed = parse_options(command->options, command->positional, own);
    EXPECT_TRUE(parsed.ok()) << line << ": " << (parsed.ok() ? "" : parsed.error().what);
  };
  for (const auto& topic : topics()) {
    for (const auto& line : split(topic.commands, '\n')) parses(line);
    for (const auto& word : split(topic.words, ' ')) EXPECT_EQ(find_topic(word), &topic) << word << " is in two topics";
  }
}

TEST(Help, fits_into_eighty_columns) {
  const auto check = [](const std::string& text) {
    for (const auto& line : split(text, '\n')) EXPECT_LE(display_width(line), 80U) << line;
  };
  check(general_help(80));
  for (const Command* command : commands()) check(help_of(*command, 80));
}

TEST(ErrorText, fits_the_terminal_and_is_left_alone_elsewhere) {
  const Error error = usage_error(
      "there is no format 'x' of results that this build knows how to write or how to read",
      "formats: " + join(std::vector<std::string>(12, "google-benchmark"), ", ") + "\n/" + std::string(100, 'p'));
  const auto lines = split(error_text(error, 80), '\n');
  ASSERT_GE(lines.size(), 6U);
  EXPECT_TRUE(lines[0].starts_with("warpmark: there is no format"));
  std::size_t uncut = 0;
  for (const auto& line : lines) {
    uncut += line == "  /" + std::string(100, 'p') ? 1U : 0U;
    if (line.find("/ppp") != std::string::npos) continue;
    EXPECT_LE(display_width(line), 80U) << line;
  }
  EXPECT_EQ(uncut, 1U) << "a path can be copied";
  EXPECT_EQ(error_text(error, 0), "warpmark: " + error.what + "\n  " + error.hint + "\n");
}

TEST(Completion, offers_what_can_stand_at_the_end_of_the_line) {
  const Lister lister = [](const std::string& kind, std::span<const std::string>) {
    return std::vector<std::string>{kind + "_1", "other"};
  };
  const auto words_of = [&](std::vector<std::string> line) {
    const auto found = complete(line, lister);
    std::vector<std::string> words;
    for (const auto& one : found.words) words.push_back(one.word);
    if (found.files) words.emplace_back(":files");
    return words;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of({"compl"}), Words{"completion"});
  EXPECT_EQ(words_of({"--v"}), (Words{"--verbose", "--version"}));
  EXPECT_EQ(words_of({"run", "--sui"}), Words{"--suite"});
  EXPECT_EQ(words_of({"run", "work"}), Words{"workloads_1"});
  EXPECT_EQ(words_of({"watch", "--format", "ht"}), Words{"html"});
  EXPECT_EQ(words_of({"watch", "--format=ht"}), Words{"--format=html"});
  EXPECT_EQ(words_of({"watch", "--state", ""}), Words{":files"});
  EXPECT_EQ(words_of({"report", "l"}), (Words{"last", ":files"}));
  EXPECT_EQ(words_of({"profile", "--", "python"}), Words{":files"});
  EXPECT_EQ(words_of({"monitor", "--once", "--on"}), Words{}) << "given already";
  EXPECT_EQ(words_of({"no-such-verb", "x"}), Words{});
  EXPECT_EQ(words_of({"history", "sh"}), Words{"show"});
  EXPECT_EQ(words_of({"history", "show", "run"}), (Words{"runs_1", ":files"}));
  EXPECT_EQ(words_of({"history", "--limit", "3", "diff", "x", "las"}), (Words{"last", ":files"}));
  EXPECT_EQ(words_of({"history", "list", "s"}), Words{});
  EXPECT_EQ(words_of({"plan", "--model", "mod"}), Words{"models_1"});
  EXPECT_EQ(words_of({"-q", "run", "--sui"}), Words{"--suite"});
  EXPECT_EQ(words_of({"--color", "never", "ru"}), Words{"run"});
  EXPECT_EQ(words_of({"--color", "a"}), (Words{"auto", "always"}));
  EXPECT_EQ(words_of({"run", "--color=n"}), Words{"--color=never"});
  EXPECT_EQ(words_of({"run", "-q", "--verb"}), Words{"--verbose"});
  EXPECT_EQ(words_of({"run", "--", "x", "--color", "a"}), Words{":files"}) << "another program's";
}

TEST(ManPages, have_every_option_and_no_line_that_troff_takes_for_its_own) {
  for (const Command* command : commands()) {
    const std::string page = man_page_of(*command);
    EXPECT_TRUE(page.starts_with(".TH \"WARPMARK\\-"));
    for (const auto& option : command->options) {
      std::string name = option.name;
      for (std::size_t at = 0; (at = name.find('-', at)) != std::string::npos; at += 2) name.insert(at, "\\");
      EXPECT_NE(page.find("\\fB" + name + "\\fR"), std::string::npos) << option.name;
    }
    for (const auto& line : split(page, '\n')) {
      if (!line.starts_with(".") && !line.starts_with("'")) continue;
      const auto macro = line.substr(0, line.find(' '));
      EXPECT_TRUE(macro == ".TH" || macro == ".SH" || macro == ".PP" || macro == ".TP" || macro == ".nf" ||
                  macro == ".fi")
          << command->id << ": " << line;
    }
  }
  EXPECT_NE(man_page().find("warpmark\\-run"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::apps
