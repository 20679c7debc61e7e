// The rules are tried on bad snippets, as a rule that never fires is worse than none.
#include "house/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpmark::house {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Layers kLayers{{"base", 0},    {"model", 1},  {"device", 2}, {"stats", 2},
                     {"measure", 3}, {"report", 5}, {"apps", 7}};

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Layers, are_read_from_the_table) {
  const auto layers =
      parse_layers("# A\n\n    9  no\n## Layers\n\nwords\n\n    7  apps\n    2  device  stats\n## B\n    1  no\n");
  EXPECT_EQ(layers, (Layers{{"apps", 7}, {"device", 2}, {"stats", 2}}));
}

TEST(Layers, forbid_looking_up_sideways_and_at_devices_from_pure_folders) {
  EXPECT_THAT(check_layers({"src/measure/a.h", "#include \"stats/x.h\"\n#include \"model/y.h\"\n"}, kLayers),
              IsEmpty());
  EXPECT_THAT(check_layers({"src/model/a.h", "\n#include \"stats/x.h\"\n"}, kLayers),
              ElementsAre(HasSubstr("src/model/a.h:2: model must not include stats")));
  EXPECT_THAT(check_layers({"src/stats/a.h", "#include \"device/x.h\"\n"}, kLayers),
              ElementsAre(HasSubstr("stats must not include device")));
  EXPECT_THAT(check_layers({"src/report/a.h", "#include \"measure/x.h\"\n"}, kLayers),
              ElementsAre(HasSubstr("report must not include measure")));
  EXPECT_THAT(check_layers({"src/base/a.h", "#include \"a.h\"\n"}, kLayers), ElementsAre(HasSubstr("by its path")));
  EXPECT_THAT(check_layers({"src/other/a.h", ""}, kLayers), ElementsAre(HasSubstr("not in the layer table")));
}

TEST(Layers, hold_for_the_cuda_module_of_a_folder) {
  EXPECT_THAT(check_layers({"src/device/cuda/module/a.cu", "#include \"measure/x.h\"\n"}, kLayers),
              ElementsAre(HasSubstr("device must not include measure")));
}

TEST(Rooms, are_read_from_their_tables) {
  EXPECT_EQ(parse_rooms("## Layers\n    1  no\n## Rooms\nwords\n### analyze\n\n    1  host  replay -- what it did\n"
                        "    0  names\n### report\n    0  draw\n## Other\n    2  no\n"),
            (Rooms{{"analyze", {{"host", 1}, {"replay", 1}, {"names", 0}}}, {"report", {{"draw", 0}}}}));
}

TEST(Rooms, forbid_looking_up_sideways_and_out_of_the_room) {
  const Rooms rooms{{"analyze", {{"rules", 2}, {"host", 1}, {"replay", 1}, {"names", 0}}}};
  EXPECT_THAT(check_rooms({"src/analyze/host/a.h",
                           "#include \"analyze/names/x.h\"\n#include \"analyze/host/y.h\"\n"
                           "#include \"base/z.h\"\n"},
                          rooms),
              IsEmpty());
  EXPECT_THAT(check_rooms({"src/analyze/a.cpp", "#include \"analyze/rules/x.h\"\n"}, rooms), IsEmpty());
  EXPECT_THAT(check_rooms({"src/report/draw/a.cpp", "#include \"report/b.h\"\n"}, rooms), IsEmpty());
  EXPECT_THAT(check_rooms({"src/analyze/host/a.h", "\n#include \"analyze/rules/x.h\"\n"}, rooms),
              ElementsAre(HasSubstr("src/analyze/host/a.h:2: host must not include rules")));
  EXPECT_THAT(check_rooms({"src/analyze/host/a.h", "#include \"analyze/replay/x.h\"\n"}, rooms),
              ElementsAre(HasSubstr("host must not include replay")));
  EXPECT_THAT(check_rooms({"src/analyze/names/a.h", "#include \"analyze/analyze.h\"\n"}, rooms),
              ElementsAre(HasSubstr("names must not include analyze/analyze.h")));
  EXPECT_THAT(check_rooms({"src/analyze/attic/a.h", ""}, rooms), ElementsAre(HasSubstr("room 'attic'")));
}

TEST(TextMatching, is_left_to_the_room_of_names) {
  const std::string code =
      "if (contains_any(name, {\"copy\"})) return;  // of \"aten::x\"\nreturn op == \"aten::cat\";\n";
  EXPECT_THAT(check_text_matching({"src/analyze/redundant/a.cpp", code}),
              ElementsAre(HasSubstr("redundant/a.cpp:1: matches text"), HasSubstr("redundant/a.cpp:2:")));
  EXPECT_THAT(check_text_matching({"src/analyze/names/a.cpp", code}), IsEmpty());
  EXPECT_THAT(check_text_matching({"src/report/a.cpp", code}), IsEmpty());
  EXPECT_THAT(check_text_matching({"src/analyze/host/a.cpp", "// \"aten::item\" reads\nreads_value(op);\n"}),
              IsEmpty());
}

TEST(LinkLines, are_read_from_cmake) {
  const auto links =
      parse_link_lines("warpmark_folder(base LIBRARIES fmt::fmt)\nwarpmark_folder(model FOLDERS base\n  stats)");
  ASSERT_EQ(links.size(), 2U);
  EXPECT_THAT(links.at("base"), IsEmpty());
  EXPECT_THAT(links.at("model"), ElementsAre("base", "stats"));
}

TEST(CodeOnly, blanks_comments_and_literals_and_keeps_lines) {
  EXPECT_EQ(code_only("a // b\nc"), "a     \nc");
  EXPECT_EQ(code_only("a /* b\n*/ c"), "a     \n   c");
  EXPECT_EQ(code_only("f(\"}\\\"\", '{', 1'000);"), "f(\"   \", ' ', 1'000);");
  EXPECT_EQ(code_only("R\"x(a\n\")x\" b"), "     \n     b");
}

TEST(Lengths, are_limited) {
  EXPECT_THAT(check_lengths({"src/a.cpp", repeated("x\n", 400)}), IsEmpty());
  EXPECT_THAT(check_lengths({"src/a.cpp", repeated("x\n", 401)}), ElementsAre(HasSubstr("401 lines")));
  EXPECT_THAT(check_lengths({"src/a.h", repeated("x\n", 151)}), ElementsAre(HasSubstr("151 lines")));
  EXPECT_THAT(check_lengths({"src/a.cpp", std::string(121, 'x')}), ElementsAre(HasSubstr("a.cpp:1: longer")));
}

TEST(FunctionLengths, count_functions_methods_and_lambdas) {
  const auto body = repeated("  x = 1;\n", 80);
  for (const std::string head : {"void f(int a) {\n", "namespace a {\ntemplate <class T>\nT f(T t) {\n",
                                 "struct S {\n public:\n  int f() const {\n", "const auto f = [](int a) {\n"}) {
    EXPECT_THAT(check_function_lengths({"a.cpp", head + body + "}\n}\n}\n"}), ElementsAre(HasSubstr("a function of 8")))
        << head;
  }
}

TEST(FunctionLengths, leave_types_tables_and_short_functions_alone) {
  const auto fields = repeated("  int x = 1;\n", 80);
  const auto rows = repeated("    {\"a\", 1},\n", 80);
  EXPECT_THAT(check_function_lengths({"a.cpp", "struct S {\n" + fields + "};\n"}), IsEmpty());
  EXPECT_THAT(check_function_lengths({"a.cpp", "constexpr Row kRows[] = {\n" + rows + "};\n"}), IsEmpty());
  EXPECT_THAT(check_function_lengths({"a.cpp", repeated("void f() {\n  g();\n}\n", 80)}), IsEmpty());
  EXPECT_THAT(check_function_lengths({"a.cpp", "#define F() {\nvoid f() {\n  g();\n}\n" + fields}), IsEmpty());
}

TEST(BannedCode, names_the_word_and_what_to_do) {
  const auto one = [](const std::string& path, const std::string& text) { return check_banned_code({path, text}); };
  EXPECT_THAT(one("src/a.h", "class CacheManager {"), ElementsAre(HasSubstr("src/a.h:1: 'class CacheManager'")));
  EXPECT_THAT(one("src/a.h", "namespace string_utils {"), ElementsAre(HasSubstr("name what it is")));
  EXPECT_THAT(one("src/a.cpp", "\nstd::exit(1);"), ElementsAre(HasSubstr("src/a.cpp:2")));
  EXPECT_THAT(one("src/a.cpp", "std::cout << 1;"), ElementsAre(HasSubstr("only apps/ prints")));
  EXPECT_THAT(one("src/a.cpp", "using namespace std;"), ElementsAre(HasSubstr("write std::")));
  EXPECT_THAT(one("src/a.cpp", "} catch (...) {"), ElementsAre(HasSubstr("catch what")));
  EXPECT_THAT(one("src/a.cpp", "throw 1;"), ElementsAre(HasSubstr("return a Result")));
  EXPECT_THAT(one("src/a.cpp", "#ifdef __AVX2__"), ElementsAre(HasSubstr("choose the file")));
}

TEST(BannedCode, leaves_what_only_looks_like_it) {
  const auto none = [](const std::string& path, const std::string& text) {
    EXPECT_THAT(check_banned_code({path, text}), IsEmpty()) << text;
  };
  none("src/a.cpp", "// exit(1) would lose the results\n::_exit(127);\nloop.on_exit();");
  none("src/a.cpp", "std::snprintf(text, 8, \"std::cout\");");
  none("src/a.cpp", "std::fprintf(stderr, \"x\");");
  none("apps/warpmark/main.cpp", "std::exit(1); std::puts(\"x\");");
  none("src/device/cuda/module/a.cpp", "#if CUDART_VERSION >= 12000");
  none("src/workloads/gemm/a.cu", "#ifdef __CUDA_ARCH__");
}

TEST(BannedText, finds_debts_and_local_paths_anywhere) {
  EXPECT_THAT(check_banned_text({"README.md",
                                 "TO"
                                 "DO: write"}),
              ElementsAre(HasSubstr("do it now")));
  EXPECT_THAT(check_banned_text({"a.cpp",
                                 "// FIX"
                                 "ME later"}),
              ElementsAre(HasSubstr("do it now")));
  EXPECT_THAT(check_banned_text({"a.sh",
                                 "cd /wo"
                                 "rk/x"}),
              ElementsAre(HasSubstr("somebody's machine")));
  EXPECT_THAT(check_banned_text({"a.cpp", "auto networks = 1; // http://a.org/work/root/x"}), IsEmpty());
}

TEST(BannedText, plain_pages_use_the_words_of_the_field) {
  EXPECT_THAT(check_banned_text({"README.md", "what mending it gains"}),
              ElementsAre(HasSubstr("write the field's word")));
  EXPECT_THAT(check_banned_text({"docs/guides/a.md", "3.2 times as fast"}), ElementsAre(HasSubstr("Nx speedup")));
  EXPECT_THAT(check_banned_text({"src/a.h", "struct Finding { Gain foretold; int kernel_blame; };"}),
              ElementsAre(HasSubstr("predicted"), HasSubstr("attributed")));
  EXPECT_THAT(check_banned_text({"docs/results/a.md", "foretold"}), IsEmpty());
  EXPECT_THAT(check_banned_text({"README.md", "3.2x faster; recommended fix"}), IsEmpty());
}

TEST(BannedSentences, are_those_that_a_program_says) {
  const auto broken = check_banned_sentences({"src/a.cpp", "#include \"model/auxiliary.h\"\nf(\"it tells why\");\n"});
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_THAT(broken[0], HasSubstr("src/a.cpp:2: "));
  EXPECT_THAT(check_banned_sentences({"src/a.cpp", "key(\"beside\");  // it tells why\n"}), IsEmpty());
  EXPECT_THAT(check_banned_sentences({"tests/a.cpp", "f(\"it tells why\");"}), IsEmpty());
  EXPECT_THAT(check_banned_sentences({"src/a.cpp", "f(\"only the first so many examples\");"}),
              ElementsAre(HasSubstr("N steps")));
}

TEST(HeaderOpening, is_a_comment) {
  EXPECT_THAT(check_header_opening({"a.h", "// What it is.\n#pragma once\n"}), IsEmpty());
  EXPECT_THAT(check_header_opening({"a.h", "#pragma once\n"}), ElementsAre(HasSubstr("open with")));
}

}  // namespace
}  // namespace warpmark::house
