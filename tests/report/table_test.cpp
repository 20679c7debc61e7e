#include "report/draw/table.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/text_measures.h"

namespace warpmark::report {
namespace {

Table results() {
  return {{{"benchmark"}, {"median", Align::right}, {"bound", Align::left, 1}, {"of peak", Align::right}},
          {{{"gemm m=n=k=4096 bf16"}, {"199.3 µs"}, {"compute"}, {"87.3 %", Tone::good, 0.873}},
           {{"copy 4 KiB"}, {"2.65 µs"}, {"latency"}, {"–"}}}};
}

TEST(RenderTable, aligns_columns_and_draws_bars) {
  EXPECT_EQ(render_table(results(), {.width = 80, .unicode = true}),
            "benchmark               median  bound    of peak\n"
            "────────────────────  ────────  ───────  ──────────────────\n"
            "gemm m=n=k=4096 bf16  199.3 µs  compute   87.3 % ████████▊░\n"
            "copy 4 KiB             2.65 µs  latency        –\n");
}

TEST(RenderTable, is_plain_ascii_without_unicode) {
  const auto text = render_table(results(), {.width = 80});
  EXPECT_NE(text.find("199.3 us"), std::string::npos);
  EXPECT_NE(text.find("#########."), std::string::npos);
  for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(RenderTable, lets_no_name_from_a_file_speak_to_the_terminal) {
  const auto text = render_table({{{"case"}}, {{{"copy\x1b[2J"}}}}, {.width = 80, .unicode = true});
  EXPECT_NE(text.find("copy?[2J"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(RenderTable, gives_up_bar_width_then_optional_columns) {
  EXPECT_NE(render_table(results(), {.width = 55, .unicode = true}).find("█████▎"), std::string::npos);
  const auto narrow = render_table(results(), {.width = 48, .unicode = true});
  EXPECT_EQ(narrow.find("compute"), std::string::npos);
  EXPECT_NE(narrow.find("87.3 %"), std::string::npos);
}

TEST(RenderTable, names_the_columns_that_it_gives_up) {
  const Table table = results();
  EXPECT_TRUE(render_table(table, {.width = 48}).ends_with("\nNot shown at this width: bound.\n"));
  EXPECT_EQ(render_table(table, {.width = 80}).find("Not shown"), std::string::npos);
}

TEST(RenderTable, keeps_all_columns_in_a_pipe) {
  Table table = results();
  table.rows.push_back({{std::string(200, 'x')}, {"1.000 s"}, {"memory"}, {"1.0 %"}});
  const auto text = render_table(table, {.width = 48, .whole_tables = true});
  EXPECT_NE(text.find("bound"), std::string::npos) << text;
  EXPECT_NE(text.find(std::string(200, 'x')), std::string::npos) << text;
}

TEST(RenderTable, wraps_long_texts_and_stays_within_the_width) {
  Table table = results();
  std::string words;
  for (int i = 0; i < 60; ++i) words += "param" + std::to_string(i) + "=12345 ";
  table.rows.push_back({{words}, {"1.000 s"}, {"memory"}, {"1.0 %", Tone::plain, 0.01}});
  table.rows.push_back({{std::string(300, 'x')}, {"1.000 s"}, {"memory"}, {"1.0 %", Tone::plain, 0.01}});
  for (const int width : {40, 60, 80, 120, 200}) {
    const auto text = render_table(table, {.width = width, .unicode = true});
    EXPECT_LE(test::widest_line(text), static_cast<std::size_t>(width));
    EXPECT_NE(text.find("param59=12345"), std::string::npos) << "nothing may be lost";
  }
}

TEST(RenderTable, breaks_no_word_while_another_column_can_be_narrower) {
  const Table table{{{"setting"}, {"why"}},
                    {{{"optimizer.set_to_none=on"}, {"no gain on top of the others, in one process"}}}};
  const auto text = render_table(table, {.width = 46});
  EXPECT_NE(text.find("optimizer.set_to_none=on  no gain on top of"), std::string::npos) << text;
}

TEST(RenderTable, colours_the_text_but_not_the_blanks) {
  const auto text = render_table({{{""}, {""}}, {{{"bad", Tone::bad}, {"x"}}}}, {.width = 80, .color = true});
  EXPECT_EQ(text, "\x1b[31mbad\x1b[0m  x\n");
}

TEST(RenderTable, takes_rows_of_any_length_and_no_columns) {
  EXPECT_EQ(render_table({}, {}), "");
  EXPECT_EQ(render_table({{{"a"}, {"b"}}, {{{"1"}}, {}}}, {}), "a  b\n-  -\n1\n\n");
}

TEST(Wrap, breaks_between_words_and_inside_long_ones) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(wrap("fused_texture/n:64/time", 10), (std::vector<std::string>{"fused_", "texture/n:", "64/time"}));
  EXPECT_EQ(wrap("µµµµ", 2), (std::vector<std::string>{"µµ", "µµ"}));
  EXPECT_EQ(wrap("", 5), (std::vector<std::string>{""}));
}

TEST(Wrap, keeps_a_unit_with_its_number) {
  EXPECT_EQ(wrap("takes 14.0 ms (37.0 %) of it", 12),
            (std::vector<std::string>{"takes", "14.0 ms", "(37.0 %) of", "it"}));
  EXPECT_EQ(wrap("in 558 kernels", 7), (std::vector<std::string>{"in 558", "kernels"}));
  EXPECT_EQ(wrap("1234 GB/s", 6), (std::vector<std::string>{"1234", "GB/s"}));  // there is no room for both
}

TEST(ShareBar, is_always_as_wide_as_asked) {
  for (const double share : {-1.0, 0.0, 0.01, 0.5, 0.999, 1.0, 7.0}) {
    EXPECT_EQ(display_width(share_bar(share, 10, true)), 10U) << share;
    EXPECT_EQ(share_bar(share, 10, false).size(), 10U) << share;
  }
  EXPECT_EQ(share_bar(0.5, 4, false), "##..");
}

}  // namespace
}  // namespace warpmark::report
