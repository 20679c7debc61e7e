// Programs that are recorded while they run (--dormant, --pid), and programs of PyTorch without a GPU (--torch).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <string>

#include "apps/in_background.h"
#include "apps/profile_fixture.h"
#include "support/python_with_torch.h"

namespace warpmark::apps {
namespace {

using testing::HasSubstr;

std::int64_t recorded_kernels(const Timeline& timeline) {
  return count_of(timeline, [&](EventIndex i) { return timeline.events.kind[i] == EventKind::kernel; });
}

class ProfileDormant : public ProfileCli {
 protected:
  void SetUp() override {
    ProfileCli::SetUp();
    setenv("TMPDIR", path(".").c_str(), 1);  // sleeping recorders of this test alone
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    ProfileCli::TearDown();
  }
  pid_t start(const std::string& words) {
    const pid_t id = start_in_background("profile --dormant " + words, path("out"));
    EXPECT_TRUE(comes_to_have(path("out"), "--pid " + std::to_string(id)));
    return id;
  }
  ProcessOutput record(pid_t id, const std::string& out) {
    return warpmark({"profile", "--pid", std::to_string(id), "--duration", "500ms", "--out", path(out)});
  }
};

TEST_F(ProfileDormant, records_a_program_that_runs_as_often_as_it_is_asked) {
  const pid_t id = start("-- " + in_quotes(kProgram) + " 100");
  for (const std::string file : {"a.wmrec", "b.wmrec"}) {
    const auto output = record(id, file);
    EXPECT_EQ(output.exit_code, 0) << output.err;
    EXPECT_THAT(output.err, HasSubstr("more: warpmark analyze"));
    const Timeline timeline = recorded(path(file));
    EXPECT_GT(recorded_kernels(timeline), 50) << file;
    EXPECT_EQ(fact_of(timeline, "process"), std::to_string(id));
    EXPECT_EQ(kill(id, 0), 0) << "it goes on";
  }
  EXPECT_EQ(end_with_signal(id, SIGTERM), 128 + SIGTERM);
}

TEST_F(ProfileDormant, touches_nothing_of_cupti_before_it_is_woken) {
  // The program is linked with the library itself: a copy shows what the recorder loads.
  const std::string copy = path("copy_of_cupti.so"), usual = std::getenv("WARPMARK_CUPTI");
  std::filesystem::copy_file(usual, copy);
  setenv("WARPMARK_CUPTI", copy.c_str(), 1);
  const pid_t id = start("-- " + in_quotes(kProgram) + " 100");
  usleep(500'000);
  const auto maps = *read_file("/proc/" + std::to_string(id) + "/maps");
  EXPECT_THAT(maps, HasSubstr("libwarpmark_inject")) << "the recorder is there";
  EXPECT_THAT(maps, testing::Not(HasSubstr("copy_of_cupti")));
  setenv("WARPMARK_CUPTI", usual.c_str(), 1);
  end_with_signal(id, SIGKILL);
}

TEST_F(ProfileDormant, keeps_what_was_recorded_when_the_program_ends) {
  const pid_t id = start("-- " + in_quotes(kProgram) + " 3");
  const auto output =
      warpmark({"profile", "--pid", std::to_string(id), "--delay", "0s", "--duration", "0s", "--out", path("p.wmrec")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_GT(recorded_kernels(recorded(path("p.wmrec"))), 50);
}

TEST_F(ProfileDormant, records_all_programs_of_the_user_on_named_hosts) {
  const auto version = run_process({"mpirun", "--version"});
  if (!version.ok() || version->exit_code != 0) GTEST_SKIP() << "mpirun is not installed";
  ASSERT_TRUE(write_file(path("hosts"), "localhost slots=1\n").ok());
  const std::vector<std::string> words{"profile", "--pid",  "all",       "--hosts", path("hosts"),  "--duration",
                                       "500ms",   "--bind", "127.0.0.1", "--out",   path("p.wmrec")};
  const auto none = warpmark(words);
  EXPECT_EQ(none.exit_code, 5) << none.err;
  EXPECT_THAT(none.err, HasSubstr("was started with --dormant"));
  const pid_t a = start("-- " + in_quotes(kProgram) + " 100"), b = start("-- " + in_quotes(kProgram) + " 100");
  const auto output = warpmark(words);
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto session = profile::read_session(std::vector<std::filesystem::path>{path("p.wmrec")});
  ASSERT_TRUE(session.ok()) << session.error().what;
  std::set<std::string> processes;
  for (const auto& timeline : session->ranks) {
    processes.insert(fact_of(timeline, "process"));
    EXPECT_GT(recorded_kernels(timeline), 50);
    EXPECT_FALSE(fact_of(timeline, "clock_offset_ns").empty());
  }
  EXPECT_EQ(processes, (std::set{std::to_string(a), std::to_string(b)}));
  for (const pid_t id : {a, b}) EXPECT_EQ(end_with_signal(id, SIGTERM), 128 + SIGTERM) << "it went on";
}

TEST_F(ProfileDormant, says_what_it_cannot_record) {
  EXPECT_THAT(warpmark({"profile", "--pid", "1", "--hosts", "hosts"}).err, HasSubstr("with --hosts give --pid all"));

  const auto none = warpmark({"profile", "--pid", std::to_string(getpid()), "--out", path("p.wmrec")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("warpmark profile --dormant -- COMMAND"));
  EXPECT_THAT(warpmark({"profile", "--pid", "2147483647"}).err, HasSubstr("there is no process 2147483647"));
  EXPECT_EQ(warpmark({"profile", "--pid", "1", "--", "true"}).exit_code, 2);
  EXPECT_EQ(warpmark({"profile", "--dormant", "--ncu", "3", "--", "true"}).exit_code, 2);
  EXPECT_EQ(warpmark({"profile", "--dormant"}).exit_code, 2);
  EXPECT_EQ(warpmark({"profile", "--torch", "--memory", "--", "true"}).exit_code, 2);
}

/// A training that waits for its data, without a GPU.
class ProfileTorch : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (testing_support::python_with_torch().empty()) GTEST_SKIP() << "there is no Python with PyTorch";
    setenv("TMPDIR", path(".").c_str(), 1);
    ASSERT_TRUE(write_file(path("train.py"), R"py(
import sys, time, torch
torch.set_num_threads(1)
class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 1000000
    def __getitem__(self, i):
        time.sleep(0.002)
        return torch.randn(64), i % 10
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
end = time.time() + float(sys.argv[1])
for x, y in torch.utils.data.DataLoader(Slow(), batch_size=8):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    if time.time() > end:
        break
print("trained to its end")
)py")
                    .ok());
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    Cli::TearDown();
  }
};

TEST_F(ProfileTorch, names_what_a_training_without_a_gpu_waits_for) {
  const auto output = warpmark({"profile", "--torch", "--steps", "20", "--out", path("p.wmrec"), "--",
                                testing_support::python_with_torch(), path("train.py"), "4"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("trained to its end"));
  EXPECT_THAT(output.err, HasSubstr("more: warpmark analyze"));
  EXPECT_FALSE(std::filesystem::exists(path("p.wmrec.parts")));
  EXPECT_FALSE(std::filesystem::exists(path("p.wmrec.hook")));
  EXPECT_THAT(output.err, HasSubstr("waiting for data"));
  EXPECT_EQ(warpmark({"analyze", path("p.wmrec")}).exit_code, 0);
}

TEST_F(ProfileTorch, records_a_training_that_runs) {
  const pid_t id =
      start_in_background("profile --dormant --torch -- " + in_quotes(testing_support::python_with_torch()) + " " +
                              in_quotes(path("train.py")) + " 100",
                          path("out"));
  ASSERT_TRUE(comes_to_have(path("out"), "--pid " + std::to_string(id)));
  // Somebody who changes their mind leaves it ready for the next.
  const pid_t asker = start_in_background(
      "profile --pid " + std::to_string(id) + " --duration 100s --out " + in_quotes(path("left.wmrec")), path("asked"));
  EXPECT_TRUE(comes_to_have(path("left.wmrec.parts/." + std::to_string(id) + ".begun"), ""));
  end_with_signal(asker, SIGINT);
  const auto output = warpmark({"profile", "--pid", std::to_string(id), "--duration", "1s", "--out", path("p.wmrec")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("more: warpmark analyze"));
  EXPECT_EQ(kill(id, 0), 0) << "it goes on";
  end_with_signal(id, SIGKILL);
}

/// libkineto's side of the protocol, played: it registers, asks, and writes the trace that it was asked for.
constexpr const char* kKineto = R"py(
import json, os, socket, struct, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(os.environ["KINETO_IPC_SOCKET_DIR"] + "/client")
s.settimeout(0.2)
def ask(kind, payload):
    try:
        s.sendto(struct.pack("=Q32s", len(payload), kind) + payload, os.environ["KINETO_IPC_SOCKET_DIR"] + "/dynolog")
        answer = s.recv(65536)
    except OSError:
        return b""
    size, kind = struct.unpack("=Q32s", answer[:40])
    assert size == len(answer) - 40
    return answer[40:]
print("asks", flush=True)
while True:
    ask(b"ctxt", struct.pack("=iiq", 0, os.getpid(), 7))
    wanted = ask(b"req", struct.pack("=iiqii", 3, 2, 7, os.getpid(), os.getppid()))
    if wanted:
        lines = dict(line.split("=") for line in wanted.decode().splitlines())
        assert lines["ACTIVITIES_DURATION_MSECS"] == "250", lines
        events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1000 + i, "dur": 1}
                  for i in range(100)]
        path = lines["ACTIVITIES_LOG_FILE"].replace(".json", "_%d.json" % os.getpid())
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    time.sleep(0.1)
)py";

TEST_F(Cli, profile_asks_a_pytorch_that_asks_a_daemon) {
  ASSERT_TRUE(write_file(path("kineto.py"), kKineto).ok());
  std::string sockets = "/tmp/warpmark-kineto-XXXXXX";  // a socket's path is short
  ASSERT_NE(mkdtemp(sockets.data()), nullptr);
  std::string line = "KINETO_USE_DAEMON=1 KINETO_IPC_SOCKET_DIR=" + sockets + " exec python3 " +
                     in_quotes(path("kineto.py")) + " > " + in_quotes(path("out"));
  std::string shell = "sh", option = "-c";
  char* const words[] = {shell.data(), option.data(), line.data(), nullptr};
  pid_t id = 0;
  ASSERT_EQ(posix_spawnp(&id, "sh", nullptr, nullptr, words, environ), 0);
  ASSERT_TRUE(comes_to_have(path("out"), "asks"));
  const auto output =
      warpmark({"profile", "--pid", std::to_string(id), "--duration", "250ms", "--out", path("p.wmrec")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("100 events"));
  end_with_signal(id, SIGKILL);
  std::filesystem::remove_all(sockets);
}

TEST_F(ProfileTorch, says_why_nothing_was_recorded) {
  const auto output = warpmark({"profile", "--torch", "--out", path("p.wmrec"), "--", "true"});
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("no step of PyTorch"));
  const auto brief = warpmark({"profile", "--torch", "--out", path("p.wmrec"), "--",
                               testing_support::python_with_torch(), path("train.py"), "0"});
  EXPECT_EQ(brief.exit_code, 5);
  EXPECT_THAT(brief.err, HasSubstr("before the recording began"));
}

}  // namespace
}  // namespace warpmark::apps
