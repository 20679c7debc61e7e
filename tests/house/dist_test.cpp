// The distribution must start on systems older than the one it is made on.
#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"

namespace warpmark {
namespace {

TEST(Distribution, asks_for_no_newer_system_libraries_than_it_promises) {
  const std::string version = gnu_get_libc_version();
  const int minor = std::stoi(version.substr(version.find('.') + 1));
  if (minor > 36) {
    GTEST_SKIP() << "the distribution is made on Debian 12 (glibc 2.36), and this system has glibc " << version;
  }
  const auto checked =
      run_process({std::string(WARPMARK_SOURCE_DIR) + "/cmake/make_dist.sh", "--check-symbols", WARPMARK_BINARY_DIR},
                  {.deadline_s = 60});
  ASSERT_TRUE(checked.ok()) << checked.error().what;
  EXPECT_EQ(checked->exit_code, 0) << checked->err;
}

/// A build folder whose libdw is `libdw`.
std::filesystem::path build_with_libdw(const char* name, const std::string& libdw) {
  const auto folder = std::filesystem::path(testing::TempDir()) / (name + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(write_file(folder / "CMakeCache.txt",
                         "CMAKE_STRIP:FILEPATH=/usr/bin/strip\n"
                         "CMAKE_OBJDUMP:FILEPATH=/usr/bin/objdump\n"
                         "OPENBLAS_LIBRARY:FILEPATH=" +
                             folder.string() +
                             "/warpmark\n"
                             "LIBDW_LIBRARY:FILEPATH=" +
                             libdw + "\n")
                  .ok());
  return folder;
}

Result<ProcessOutput> check_symbols(const std::filesystem::path& build) {
  return run_process({std::string(WARPMARK_SOURCE_DIR) + "/cmake/make_dist.sh", "--check-symbols", build.string()},
                     {.deadline_s = 60});
}

TEST(Distribution, is_not_made_without_libdw) {
  const auto folder = build_with_libdw("no_libdw", "");
  const auto checked = check_symbols(folder);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(checked.ok()) << checked.error().what;
  EXPECT_EQ(checked->exit_code, 1);
  EXPECT_THAT(checked->err, testing::HasSubstr("was made without libdw"));
}

TEST(Distribution, says_what_it_consists_of_in_the_same_bytes_each_time) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("sbom" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "root/bin");
  EXPECT_TRUE(write_file(folder / "root/bin/warpmark", "program").ok());
  const auto packed = run_process({"sh", "-c", "ldd /bin/sh | awk '$2 == \"=>\" {print $1, $3; exit}'"});
  ASSERT_TRUE(packed.ok());
  EXPECT_TRUE(write_file(folder / "bundled.txt", packed->out).ok());
  std::string first;
  for (int i = 0; i < 2; ++i) {
    const auto made =
        run_process({"python3", "-B", std::string(WARPMARK_SOURCE_DIR) + "/cmake/make_sbom.py", folder / "root",
                     "warpmark-1", "1", folder / "bundled.txt", "86400", folder / "sbom.json"},
                    {.deadline_s = 60});
    ASSERT_TRUE(made.ok()) << made.error().what;
    if (made->exit_code != 0) GTEST_SKIP() << "no packages of Debian: " << made->err;
    const auto text = read_file(folder / "sbom.json");
    ASSERT_TRUE(text.ok());
    if (i == 0) first = *text;
    EXPECT_EQ(*text, first);
  }
  std::filesystem::remove_all(folder);
  const auto bill = parse_json(first, "sbom.json");
  ASSERT_TRUE(bill.ok());
  EXPECT_EQ((*bill)["spdxVersion"], "SPDX-2.3");
  EXPECT_EQ((*bill)["creationInfo"]["created"], "1970-01-02T00:00:00Z");
  EXPECT_EQ((*bill)["files"][0]["fileName"], "./bin/warpmark");
  EXPECT_EQ((*bill)["packages"][0]["name"], "warpmark");
  EXPECT_EQ((*bill)["packages"][1]["name"], "libc6");
  EXPECT_FALSE((*bill)["packages"][1]["versionInfo"].get<std::string>().empty());
}

TEST(Distribution, is_checked_with_what_only_libdw_needs) {
  const auto folder = build_with_libdw("new_libdw", "libdw.so");
  // arc4random is in glibc since 2.36. The executable needs nothing new on any system, as ours does where it is built.
  const auto made = run_process(
      {"sh", "-ec",
       "cd \"$1\"; echo 'int main(void) { return 0; }' > warpmark.c; cc warpmark.c -o warpmark; "
       "echo 'unsigned arc4random(void); unsigned needed(void) { return arc4random(); }' > needed.c; "
       "echo 'unsigned needed(void); unsigned dw(void) { return needed(); }' > dw.c; "
       "cc -shared -fPIC needed.c -o libneeded.so; cc -shared -fPIC dw.c -L. -lneeded -Wl,-rpath,\"$1\" -o libdw.so; "
       "sed -i \"s|=libdw.so|=$1/libdw.so|\" CMakeCache.txt",
       "sh", folder.string()});
  const auto checked = check_symbols(folder);
  std::filesystem::remove_all(folder);
  if (!made.ok() || made->exit_code != 0) GTEST_SKIP() << "no compiler with a new C library: " << made->err;
  ASSERT_TRUE(checked.ok()) << checked.error().what;
  EXPECT_EQ(checked->exit_code, 1);
  EXPECT_THAT(checked->err, testing::HasSubstr("libneeded.so asks for GLIBC_2.36"));
}

}  // namespace
}  // namespace warpmark
