// What /proc tells of processors and processes.
#include "monitor/procfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace warpmark::monitor {
namespace {

constexpr const char* kInit = "1 (systemd) S 0 1 1 0 -1 4194560 1 2 3 4 30 12 5 6 20 0 1 0 7 170000000 3200 1844 0 0\n";

TEST(CpuTicks, count_work_and_not_waiting) {
  const auto cpus = parse_cpu_ticks(
      "cpu  100 5 20 800 50 1 2 3 40 5\n"
      "cpu0 60 5 10 400 20 1 1 3 40 5\n"
      "cpu1 40 0 10 400 30 0 1 0 0 0\n"
      "intr 12345\n");
  ASSERT_EQ(cpus.size(), 3U);
  EXPECT_EQ(cpus[0].busy, 100 + 5 + 20 + 1 + 2 + 3) << "what guests used is in user already";
  EXPECT_EQ(cpus[0].all, 100 + 5 + 20 + 800 + 50 + 1 + 2 + 3);
  EXPECT_EQ(cpus[2].busy, 51);
}

TEST(CpuTicks, take_any_text) {
  EXPECT_TRUE(parse_cpu_ticks("").empty());
  EXPECT_TRUE(parse_cpu_ticks("garbage").empty());
  const auto cut = parse_cpu_ticks("cpu  100 5\ncpu0");
  ASSERT_EQ(cut.size(), 2U);
  EXPECT_EQ(cut[0].all, 105);
  EXPECT_EQ(cut[1].all, 0);
}

TEST(ProcessTicks, are_read_past_names_with_blanks_and_parentheses) {
  const auto process = parse_process("42 (a) S (b c) R 7 1 1 0 -1 0 1 2 3 4 30 12 5 6 20 0 9 0 777 1000 25 1844\n");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->id, 42);
  EXPECT_EQ(process->name, "a) S (b c");
  EXPECT_EQ(process->parent, 7);
  EXPECT_EQ(process->ticks, 42);
  EXPECT_EQ(process->threads, 9);
  EXPECT_EQ(process->started, 777);
  EXPECT_EQ(process->resident_pages, 25);
}

TEST(ProcessTicks, are_nothing_for_other_texts) {
  for (const char* text : {"", "42", "42 (a", "42 (a) R", "42 (a) R 1 2 3", "x (a) R 7 1 1 0", ") (", "42 (a) "}) {
    EXPECT_FALSE(parse_process(text)) << text;
  }
}

TEST(ProcFolder, lists_processes_but_not_the_kernels_threads) {
  test::FakeTree tree;
  tree.file("proc/1/stat", kInit)
      .file("proc/2/stat", "2 (kthreadd) S 0 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 1844 0 0\n")
      .file("proc/9/stat", "9 (kworker/0:0) I 2 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 1844 0 0\n")
      .file("proc/self/stat", kInit)
      .file("proc/5/comm", "ended meanwhile\n");
  ProcFolder proc(tree.root());
  const auto processes = proc.processes();
  ASSERT_EQ(processes.size(), 1U);
  EXPECT_EQ(processes[0].name, "systemd");
}

TEST(ProcFolder, shows_commands_without_control_characters) {
  test::FakeTree tree;
  tree.file("proc/7/cmdline", std::string_view("python\0train.py\0--x=\x1b[2J\n\0", 26)).file("proc/8/cmdline", "");
  ProcFolder proc(tree.root());
  EXPECT_EQ(proc.command(7, "python"), "python train.py --x= [2J");
  EXPECT_EQ(proc.command(8, "kthing"), "[kthing]");
  EXPECT_EQ(proc.command(9, "gone"), "[gone]");
  tree.file("proc/7/cmdline", std::string(5000, 'x'));
  EXPECT_EQ(proc.command(7, "x").size(), 256U);
}

TEST(ProcFolder, is_empty_where_there_is_none) {
  ProcFolder proc("/nowhere");
  EXPECT_TRUE(proc.read("stat").empty());
  EXPECT_TRUE(proc.processes().empty());
}

}  // namespace
}  // namespace warpmark::monitor
