// The pages docs/cli/<verb>.md and the shell completions are made from the tables that parse; they must be up to date.
// WARPMARK_UPDATE=1 rewrites the pages.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/subprocess.h"
#include "warpmark/terminal/help_text.h"
#include "warpmark/terminal/man_page.h"

namespace warpmark::apps {
namespace {

TEST(CliDocs, are_what_the_tables_say) {
  for (const Command* command : commands()) {
    const std::string path = std::string(WARPMARK_SOURCE_DIR) + "/docs/cli/" + command->id + ".md";
    const std::string page = markdown_of(*command);
    if (std::getenv("WARPMARK_UPDATE") != nullptr) {
      ASSERT_TRUE(write_file(path, page).ok());
    }
    const auto stored = read_file(path);
    ASSERT_TRUE(stored.ok()) << path << " is missing; WARPMARK_UPDATE=1 writes it";
    EXPECT_EQ(*stored, page) << path << " is not up to date; WARPMARK_UPDATE=1 rewrites it";
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

TEST(Completion, is_a_valid_bash_script_that_offers_verbs_and_options) {
  const std::string script = bash_completion() +
                             "COMP_WORDS=(warpmark re); COMP_CWORD=1; _warpmark; echo \"${COMPREPLY[@]}\"\n"
                             "COMP_WORDS=(warpmark run --su); COMP_CWORD=2; _warpmark; echo \"${COMPREPLY[@]}\"\n";
  const auto output = run_process({"bash", "-c", script});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->err, "");
  EXPECT_EQ(output->out, "report\n--suite\n");
}

TEST(Completion, names_every_option_for_zsh) {
  const std::string script = zsh_completion();
  for (const Command* command : commands()) {
    for (const auto& option : command->options) EXPECT_NE(script.find(option.name), std::string::npos) << option.name;
  }
}

TEST(Completion, names_every_verb_and_option_for_fish) {
  const std::string script = fish_completion();
  for (const Command* command : commands()) {
    EXPECT_NE(script.find(std::string(" -a ") + command->id + " -d"), std::string::npos) << command->id;
    for (const auto& option : command->options) {
      EXPECT_NE(script.find(std::string(" -l ") + (option.name + 2) + " "), std::string::npos) << option.name;
    }
  }
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
