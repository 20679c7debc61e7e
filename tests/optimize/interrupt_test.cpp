// Ctrl-C and kill -9 in the middle of a search: all that it started ends, nothing of the program is touched, and the
// same command goes on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/cli_fixture.h"
#include "base/text.h"
#include "support/python_with_torch.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

/// Whether it runs; one that ended and that nobody asked for yet does not.
bool runs(const std::string& pid) {
  const auto stat = read_file("/proc/" + pid + "/stat");
  if (!stat.ok()) return false;
  const auto name_end = stat->rfind(')');
  return name_end != std::string::npos && stat->size() > name_end + 2 && (*stat)[name_end + 2] != 'Z';
}

class InterruptedSearch : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    // It and its child do not listen to what a terminal sends.
    write("program.sh",
          "trap '' INT TERM HUP\n"
          "setsid sleep 1000 &\n"  // in a session of its own
          "echo $! >> pids; echo $$ >> pids\n"
          "child=$!\n"
          "[ $(wc -l < pids) -ge 6 ] && [ ! -e resumed ] && sleep 1000\n"  // the third hangs
          "sleep $2\n"
          "kill -9 $child\n");
    write("model.ckpt", "weeks of work\n");
  }
  void TearDown() override {
    for (const auto& pid : started()) {
      if (runs(pid)) kill(static_cast<pid_t>(std::stol(pid)), SIGKILL);
    }
    Cli::TearDown();
  }
  std::vector<std::string> started() {
    const auto text = read_file(path("pids"));
    std::vector<std::string> pids;
    if (!text.ok()) return pids;
    for (const auto& line : split(*text, '\n')) {
      if (!line.empty()) pids.push_back(line);
    }
    return pids;
  }
  std::vector<std::string> command() {
    return {kExecutable,  "optimize",   "--alpha",    "0.5",    "--rounds",
            "4",          "--effect",   "20%",        "--knob", "sleep=--sleep {0.05}",
            "--json",     "there.json", "--no-store", "--",     "sh",
            "program.sh", "--sleep",    "1"};
  }
  /// Sends the signal when the program runs for the third time; the exit status of warpmark as waitpid has it.
  int interrupted_by(int signal) { return interrupted_by(signal, command(), 6); }
  /// ... when so many processes were started.
  int interrupted_by(int signal, const std::vector<std::string>& words, std::size_t processes) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<char*> arguments;
      for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      const int nothing = open("/dev/null", O_RDWR);
      for (const int stream : {0, 1, 2}) dup2(nothing, stream);
      if (chdir(folder_.c_str()) == 0) execv(kExecutable.c_str(), arguments.data());
      _exit(99);
    }
    for (int i = 0; i < 1200 && started().size() < processes; ++i) usleep(50'000);
    EXPECT_GE(started().size(), processes);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  void expect_nothing_left() {
    for (int i = 0; i < 100; ++i) {
      bool any = false;
      for (const auto& pid : started()) any = any || runs(pid);
      if (!any) return;
      usleep(50'000);
    }
    for (const auto& pid : started()) EXPECT_FALSE(runs(pid)) << pid;
  }
  void expect_goes_on() {
    EXPECT_FALSE(std::filesystem::exists(path("there.json")) && json("there.json")["complete"] == true);
    const auto before = started().size();
    write("resumed", "");
    const auto again = run_process(command(), {.deadline_s = 200, .directory = folder_.string()});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->exit_code, 0) << again->err;
    EXPECT_THAT(again->err, HasSubstr("going on after 2 runs"));
    EXPECT_GT(started().size(), before);
    EXPECT_EQ(json("there.json")["plan"]["sleep"], "0.05");
    EXPECT_EQ(*read_file(path("model.ckpt")), "weeks of work\n");
    expect_nothing_left();
  }
};

TEST_F(InterruptedSearch, ctrl_c_leaves_no_process_and_the_same_command_goes_on) {
  const int status = interrupted_by(SIGINT);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  expect_nothing_left();
  expect_goes_on();
}

TEST_F(InterruptedSearch, kill_9_leaves_no_process_and_the_same_command_goes_on) {
  const int status = interrupted_by(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status));
  expect_nothing_left();
  expect_goes_on();
}

/// Training with two workers; each process tells its number.
constexpr const char* kTraining = R"(
import os, time, torch
def tell(_=None):
    with open('pids', 'a') as file: file.write('%d\n' % os.getpid())
class Data(torch.utils.data.Dataset):
    def __len__(self): return 100000
    def __getitem__(self, i):
        time.sleep(0.002)
        return torch.ones(8)
tell()
loader = torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2, worker_init_fn=tell)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
)";

TEST_F(InterruptedSearch, runs_that_wait_for_their_turn_and_their_workers_end_too) {
  WM_NEEDS_TORCH();
  const auto& python = testing_support::python_with_torch();
  write("train.py", kTraining);
  const std::vector<std::string> words{kExecutable,  "optimize", "--alpha",       "0.5",      "--rounds",
                                       "4",          "--window", "500ms",         "--effect", "20%",
                                       "--try",      "tf32=1",   "--start-ahead", "4",        "--asked-only",
                                       "--no-store", "--",       python,          "train.py"};
  auto separate = words;
  separate.insert(separate.begin() + 2, "--separate");
  // The probe is three processes. It stays; or, of fresh processes, the next stand at their start barrier, before their
  // workers are started.
  for (const auto& [signal, in_process] :
       {std::pair(SIGKILL, false), {SIGINT, false}, {SIGKILL, true}, {SIGINT, true}}) {
    const int status = in_process ? interrupted_by(signal, words, 3) : interrupted_by(signal, separate, 3 + 3);
    EXPECT_TRUE(signal == SIGKILL ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
    expect_nothing_left();
    std::filesystem::remove(path("pids"));
  }
}

}  // namespace
}  // namespace warpmark::apps
