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
    for (const auto& line : split(text, '\n')) {
      EXPECT_TRUE(line == std::string(300, 'x') || display_width(line) <= static_cast<std::size_t>(width)) << line;
    }
    EXPECT_NE(text.find("param59=12345"), std::string::npos) << "nothing may be lost";
    EXPECT_NE(text.find(std::string(300, 'x')), std::string::npos) << "nor broken";
  }
}

TEST(RenderTable, gives_a_long_name_a_line_of_its_own) {
  const std::string kernel = "void_vectorized_elementwise_kernel_of_float";
  const Table table{
      {{"kernel"}, {"time", Align::right}, {"file"}},
      {{{kernel}, {"1.2 ms"}, {"a.py"}}, {{"copy"}, {"10 s"}, {"/home/user/project/of/a/person/train.py"}}}};
  EXPECT_EQ(render_table(table, {.width = 44}),
            "kernel               time  file\n"
            "-----------------  ------  -----------------\n" +
                kernel +
                "\n"
                "                   1.2 ms  a.py\n"
                "copy                 10 s\n"
                "  file:\n"
                "  /home/user/project/of/a/person/train.py\n");
}

TEST(RenderTable, shows_records_where_the_words_do_not_fit) {
  const Table table{{{"metric"}, {"A", Align::right}, {"B", Align::right}, {"interval", Align::right}, {"verdict"}},
                    {{{"system_time"}, {"14.15 ms"}, {"16.58 ms"}, {"1.0214 .. 1.2814"}, {"inconclusive"}},
                     {{""}, {"1 s"}, {"2 s"}, {""}, {"worse"}}}};
  EXPECT_EQ(render_table(table, {.width = 60}),
            "metric: system_time\nA: 14.15 ms\nB: 16.58 ms\ninterval: 1.0214 .. 1.2814\nverdict: inconclusive\n\n"
            "metric: system_time\nA: 1 s\nB: 2 s\nverdict: worse\n");
}

TEST(RenderTable, puts_names_of_rows_above_them_before_it_shows_records) {
  const Table table{{{"case"}, {"A", Align::right}, {"B", Align::right}, {"verdict"}},
                    {{{"test_sort[1000] hot"}, {"14.15 ms"}, {"16.58 ms"}, {"inconclusive"}},
                     {{"copy"}, {"1 s"}, {"2 s"}, {"worse"}}}};
  EXPECT_EQ(render_table(table, {.width = 46}),
            "case                 A         B  verdict\n"
            "------------  --------  --------  ------------\n"
            "test_sort[1000] hot\n"
            "              14.15 ms  16.58 ms  inconclusive\n"
            "copy               1 s       2 s  worse\n");
}

TEST(RenderTable, puts_a_path_that_does_not_fit_below_its_name) {
  const std::string path = "/home/user/project/of/a/person/with/folders";
  const Table facts{{{""}, {""}}, {{{"file"}, {path}}, {{"size"}, {"3 MB"}}}};
  EXPECT_EQ(render_table(facts, {.width = 46}), "file\n  " + path + "\nsize  3 MB\n");
  EXPECT_EQ(render_table(facts, {.width = 46, .whole_tables = true}), "file  " + path + "\nsize  3 MB\n");
}

TEST(RenderTable, breaks_headers_of_numbers_between_words) {
  const Table table{{{"case"}, {"estimated speedup if fixed", Align::right}, {"where it was found"}},
                    {{{"gemm"}, {"1.2x"}, {"in the training loop of train.py"}}}};
  EXPECT_LE(test::widest_line(render_table(table, {.width = 44})), 44U);
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

TEST(ShareBar, is_always_as_wide_as_asked) {
  for (const double share : {-1.0, 0.0, 0.01, 0.5, 0.999, 1.0, 7.0}) {
    EXPECT_EQ(display_width(share_bar(share, 10, true)), 10U) << share;
    EXPECT_EQ(share_bar(share, 10, false).size(), 10U) << share;
  }
  EXPECT_EQ(share_bar(0.5, 4, false), "##..");
}

}  // namespace
}  // namespace warpmark::report
