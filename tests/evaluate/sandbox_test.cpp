// What hostile programs do in the sandbox: nothing.
#include "evaluate/sandbox/sandbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"

namespace warpmark::evaluate {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

class Sandbox : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto works = sandbox_works();
    if (!works.ok()) GTEST_SKIP() << works.error().what << "; " << works.error().hint;
    if (::access(kPython, X_OK) != 0) GTEST_SKIP() << "there is no " << kPython;
  }
  static SandboxOutcome run(const std::string& program, double deadline_s = 60, const std::string& argument = "") {
    const auto outcome = run_in_sandbox({kPython, "/sandbox/program", argument}, program, {.deadline_s = deadline_s});
    EXPECT_TRUE(outcome.ok()) << outcome.error().what;
    return outcome.ok() ? *outcome : SandboxOutcome{};
  }
};

TEST_F(Sandbox, runs_what_is_harmless) {
  const auto outcome = run("print(sum(range(10)))\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "45\n");
  EXPECT_EQ(run("assert 1 == 2\n").exit_code, 1);
}

TEST_F(Sandbox, ends_a_fork_bomb_and_leaves_nothing_behind) {
  const std::string mark = "bomb of " + std::to_string(::getpid());  // other sandboxes of this machine are not ours
  const auto outcome =
      run("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n", 5, mark);
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(run("print('alive')\n").out, "alive\n");
  std::size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto command = read_file(entry.path() / "cmdline");
    const bool ours = command.ok() && command->find(mark) != std::string::npos;
    left += ours ? 1 : 0;
  }
  EXPECT_EQ(left, 0U);
}

TEST_F(Sandbox, bounds_output_memory_and_files) {
  const auto endless = run("import sys\nwhile True: sys.stdout.write('x' * 65536)\n", 4);
  EXPECT_TRUE(endless.timed_out);
  EXPECT_NE(run("x = bytearray(8 << 30)\n").exit_code, 0);
  EXPECT_NE(run("f = open('/tmp/f', 'wb')\nwhile True: f.write(b'x' * (1 << 20))\n").exit_code, 0);
  EXPECT_NE(run("while True: pass\n", 3).exit_code, 0);
}

TEST_F(Sandbox, shows_neither_files_nor_network) {
  const auto home =
      run("import os\nassert not os.path.exists('/root') and not os.path.exists('/home') and not "
          "os.path.exists('/etc/passwd')\n");
  EXPECT_EQ(home.exit_code, 0) << home.err;
  for (const char* place : {"/usr/evil", "/sandbox/evil", "/sandbox/program", "/evil", "/dev/evil"}) {
    EXPECT_NE(run(std::string("open('") + place + "', 'w').write('x')\n").exit_code, 0) << place;
  }
  EXPECT_FALSE(std::filesystem::exists("/usr/evil"));
  const auto network = run(
      "import socket\ns = socket.socket()\ns.settimeout(2)\ntry:\n    s.connect(('127.0.0.1', 22))\nexcept OSError:\n"
      "    raise SystemExit(7)\n");
  EXPECT_EQ(network.exit_code, 7) << network.err;
  EXPECT_EQ(run("import os, signal\nos.kill(1, signal.SIGKILL)\nos.kill(-1, signal.SIGTERM)\n").timed_out, false);
}

}  // namespace
}  // namespace warpmark::evaluate
