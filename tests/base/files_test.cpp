#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace warpmark {
namespace {

class WriteFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(WriteFile, replaces_a_file_and_leaves_nothing_beside_it) {
  const auto path = folder_ / "a.txt";
  ASSERT_TRUE(write_file(path, "old").ok());
  ASSERT_TRUE(write_file(path, "new").ok());
  EXPECT_EQ(*read_file(path), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  EXPECT_FALSE(write_file(folder_ / "none" / "a.txt", "x").ok());
}

TEST_F(WriteFile, follows_a_link_and_keeps_it) {
  std::filesystem::create_directory(folder_ / "store");
  ASSERT_TRUE(write_file(folder_ / "store" / "a.txt", "old").ok());
  std::filesystem::create_symlink("store/a.txt", folder_ / "link");
  ASSERT_TRUE(write_file(folder_ / "link", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(*read_file(folder_ / "store" / "a.txt"), "new");
}

TEST_F(WriteFile, writes_into_a_pipe_instead_of_replacing_it) {
  const auto path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(write_file(path, "through").ok());
  char bytes[16] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof bytes), 7);
  EXPECT_STREQ(bytes, "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST_F(WriteFile, says_that_a_device_is_full) {
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  // Through a link, so that a failure of this test cannot replace the device itself.
  std::filesystem::create_symlink("/dev/full", folder_ / "full");
  const auto status = write_file(folder_ / "full", "x");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().what.find("No space left"), std::string::npos) << status.error().what;
  EXPECT_NE(status.error().hint.find("free some disk space"), std::string::npos);
}

TEST_F(WriteFile, goes_through_a_link_whose_file_is_not_there_and_keeps_it) {
  std::filesystem::create_symlink("later.txt", folder_ / "link");
  ASSERT_TRUE(write_file(folder_ / "link", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(*read_file(folder_ / "later.txt"), "new");
  std::filesystem::create_symlink("/proc/self/fd/987", folder_ / "closed");
  EXPECT_FALSE(write_file(folder_ / "closed", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "closed"));
  // A file without a path, as a standard output that was deleted, or that a changed root cannot see.
  const int deleted = ::open((folder_ / "deleted").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(deleted, 0);
  std::filesystem::remove(folder_ / "deleted");
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(deleted), folder_ / "gone");
  ASSERT_TRUE(write_file(folder_ / "gone", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "gone"));
  char bytes[8] = {};
  EXPECT_EQ(::pread(deleted, bytes, sizeof bytes, 0), 3);
  ::close(deleted);
}

TEST_F(WriteFile, puts_a_file_in_the_place_of_another_but_not_of_a_link_or_a_device) {
  ASSERT_TRUE(write_file(folder_ / "a.txt", "old").ok());
  std::filesystem::create_symlink("a.txt", folder_ / "link");
  const auto auxiliary = temporary_for(folder_ / "link");
  EXPECT_EQ(auxiliary.parent_path(), std::filesystem::canonical(folder_));
  ASSERT_TRUE(write_file(auxiliary, "new").ok());
  ASSERT_TRUE(put_in_place(auxiliary, folder_ / "link").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(*read_file(folder_ / "a.txt"), "new");

  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const int reader = ::open((folder_ / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  const auto elsewhere = temporary_for(folder_ / "pipe");
  ASSERT_TRUE(write_file(elsewhere, "through").ok());
  ASSERT_TRUE(put_in_place(elsewhere, folder_ / "pipe").ok());
  char bytes[16] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof bytes), 7);
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
}

TEST_F(WriteFile, scratch_folders_go_with_their_object) {
  const auto left = [&] { return std::distance(std::filesystem::directory_iterator(folder_), {}); };
  ScratchFolder kept;
  {
    auto made = ScratchFolder::make("test", folder_);
    ASSERT_TRUE(made.ok()) << made.error().what;
    ASSERT_TRUE(write_file(made->path() / "a.txt", "a").ok());
    auto other = ScratchFolder::make("test", folder_);
    ASSERT_TRUE(other.ok()) << other.error().what;
    kept = std::move(*made);
    EXPECT_EQ(left(), 2);
  }
  EXPECT_EQ(left(), 1);
  EXPECT_EQ(*read_file(kept.path() / "a.txt"), "a");
  kept = ScratchFolder();
  EXPECT_EQ(left(), 0);
  const auto nowhere = ScratchFolder::make("test", folder_ / "none");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().kind, ErrorKind::environment);
  EXPECT_NE(nowhere.error().what.find((folder_ / "none").string()), std::string::npos) << nowhere.error().what;
}

using ScratchFolders = WriteFile;
using ReadFile = WriteFile;

TEST_F(ScratchFolders, go_when_the_program_is_killed) {
  const pid_t program = ::fork();
  if (program == 0) {
    const auto made = ScratchFolder::make("test", folder_);
    (void)write_file(made->path() / "a.txt", "a");
    (void)write_file(folder_ / "ready", "");
    ::pause();
  }
  const auto comes = [](auto&& condition) {
    for (int i = 0; i < 3000 && !condition(); ++i) ::usleep(10'000);
    return condition();
  };
  ASSERT_TRUE(comes([&] { return std::filesystem::exists(folder_ / "ready"); }));
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  EXPECT_TRUE(comes([&] {
    const std::filesystem::directory_iterator all(folder_);
    return std::distance(begin(all), end(all)) == 1;
  }));
}

TEST_F(ReadFile, refuses_inputs_without_an_end) {
  for (const char* device : {"/dev/zero", "/dev/null"}) {
    const auto read = read_file(device);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().kind, ErrorKind::data);
    EXPECT_NE(read.error().what.find("is a device"), std::string::npos) << read.error().what;
  }
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(read_file(pipe).error().what.find("has no writer"), std::string::npos);
  std::thread writer([&] {
    std::ofstream out(pipe);
    out << "text" << std::flush;
    ::usleep(100'000);
    out << " and more";
  });
  const auto read = read_file(pipe);
  writer.join();
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(*read, "text and more");
  std::thread endless([&] {
    const int out = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    const std::string block(1 << 20, 'x');
    ::signal(SIGPIPE, SIG_IGN);
    while (::write(out, block.data(), block.size()) > 0) {
    }
    ::close(out);
  });
  const auto refused = read_file(pipe);
  endless.join();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("larger than 67108864 bytes"), std::string::npos) << refused.error().what;
}

}  // namespace
}  // namespace warpmark
