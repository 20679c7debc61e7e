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

TEST_F(Sandbox, shows_no_environment_of_ours) {
  ::setenv("WARPMARK_TEST_API_KEY", "sk-secret", 1);
  const auto outcome =
      run("import glob, os\n"
          "for path in glob.glob('/proc/[0-9]*/environ'):\n"
          "    print(open(path).read())\n"
          "print(os.environ)\n");
  ::unsetenv("WARPMARK_TEST_API_KEY");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("sk-secret"), std::string::npos);
}

TEST_F(Sandbox, gives_no_memory_outside_of_its_limits) {
  const auto memfd = run("import os\nos.memfd_create('x')\n");
  EXPECT_NE(memfd.exit_code, 0);
  EXPECT_NE(memfd.err.find("PermissionError"), std::string::npos) << memfd.err;
  const auto segment =
      run("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
          "raise SystemExit(7 if libc.shmget(0, 1 << 20, 0o1600) == -1 else 0)\n");
  EXPECT_EQ(segment.exit_code, 7) << segment.err;
}

TEST_F(Sandbox, gives_no_shared_memory_that_a_resident_size_does_not_show) {
  EXPECT_NE(run("import mmap\nmmap.mmap(-1, 1 << 20)\n").exit_code, 0);
  EXPECT_NE(run("import mmap\nmmap.mmap(open('/dev/zero', 'r+b').fileno(), 1 << 20)\n").exit_code, 0);
  const auto own =
      run("import mmap\nm = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nm[0] = 1\n");
  EXPECT_EQ(own.exit_code, 0) << own.err;
}

TEST_F(Sandbox, bounds_the_memory_of_all_processes_together) {
  const auto outcome =
      run("import os, time\n"
          "for _ in range(4): os.fork()\n"
          "x = bytearray(100 << 20)\n"
          "time.sleep(50)\n");
  EXPECT_TRUE(outcome.out_of_memory);
  EXPECT_FALSE(outcome.timed_out);
}

TEST_F(Sandbox, makes_no_namespaces_and_no_mounts) {
  for (const char* call : {"unshare(0x10000000)", "unshare(0x20000)", "mount(b'none', b'/tmp', b'tmpfs', 0, 0)",
                           "setns(0, 0)", "ptrace(0, 0, 0, 0)", "syscall(56, 0x10000011, 0, 0, 0, 0)"}) {
    const auto outcome = run(std::string("import ctypes\nlibc = ctypes.CDLL(None)\nraise SystemExit(7 if libc.") +
                             call + " == -1 else 0)\n");
    EXPECT_EQ(outcome.exit_code, 7) << call << outcome.err;
  }
}

/// Each would pass by its exit code.
TEST_F(Sandbox, believes_only_what_runs_to_its_end) {
  const auto passes = [](const std::string& program) {
    const auto passed = python_reaches_its_end(kPython, program, {.deadline_s = 60});
    EXPECT_TRUE(passed.ok()) << passed.error().what;
    return passed.ok() && *passed;
  };
  const std::string checks = "\ndef check(f):\n    assert f(1) == 2\ncheck(f)\n";
  const std::string right = "from __future__ import annotations\ndef f(x):\n    return x + 1\n";
  EXPECT_TRUE(passes(right + checks));
  EXPECT_TRUE(passes(right + "print('x' * 3000000)\n" + checks)) << "however much it prints";
  EXPECT_TRUE(passes(right + "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\nA(1)\n" + checks));
  for (const char* wrong :
       {"def f(x):\n    return x\n", "import sys\nsys.exit(0)\n", "import os\nos._exit(0)\n", "raise SystemExit\n",
        "import sys\ndef f(x):\n    sys.exit(0)\n", "import os\ndef f(x):\n    os._exit(0)\n",
        "import atexit, os\natexit.register(os._exit, 0)\ndef f(x):\n    return x\n",
        "import os\nif os.fork(): os._exit(0)\ndef f(x):\n    return x\n",
        "import sys\nsys.excepthook = lambda *_: __import__('os')._exit(0)\ndef f(x):\n    return x\n",
        "import signal, os\nsignal.signal(signal.SIGALRM, lambda *_: os._exit(0))\nsignal.setitimer(0, 0.01)\n"
        "def f(x):\n    while True: pass\n",
        // everything that the tested code can read, printed where the proof goes
        "import gc, os, sys\ndef f(x):\n    os.write(8, sys.stdin.read().encode())\n"
        "    os.write(8, open('/proc/self/cmdline', 'rb').read())\n    os.write(8, open('/sandbox/program', "
        "'rb').read())\n"
        "    os._exit(0)\n"}) {
    EXPECT_FALSE(passes(wrong + checks)) << wrong;
  }
}

}  // namespace
}  // namespace warpmark::evaluate
