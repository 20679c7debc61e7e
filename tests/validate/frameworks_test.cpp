// The versions of frameworks that a Python command uses: packages that are made up, in a folder on PYTHONPATH.
#include "validate/commands/frameworks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace warpmark::validate {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::Pair;

class Frameworks : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "warpmark-frameworks-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    unsetenv("PYTHONPATH");
    fs::remove_all(folder_);
  }
  void write(const fs::path& path, const std::string& text, bool executable = false) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
    if (executable) fs::permissions(folder_ / path, fs::perms::owner_all);
  }
  void package(const std::string& name, const std::string& version) {
    write(name + "-" + version + ".dist-info/METADATA",
          "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n");
  }
  fs::path folder_;
};

TEST_F(Frameworks, find_the_interpreter_of_a_command) {
  write("bin/torchrun", "#!/opt/venv/bin/python3.11\nimport torch\n", true);
  write("bin/tool", "#!/usr/bin/env -S python3 -u\n", true);
  write("bin/shell", "#!/bin/sh\n", true);
  write("bin/native",
        "\x7f"
        "ELF",
        true);
  const auto path = (folder_ / "bin").string();
  EXPECT_EQ(python_of({"python3", "train.py"}, path), "python3");
  EXPECT_EQ(python_of({"/opt/venv/bin/python", "-m", "x"}, path), "/opt/venv/bin/python");
  EXPECT_EQ(python_of({"torchrun", "train.py"}, path), "/opt/venv/bin/python3.11");
  EXPECT_EQ(python_of({(folder_ / "bin/tool").string()}, path), "python3");
  for (const char* other : {"shell", "native", "missing", "pythonic", "python-config"}) {
    EXPECT_EQ(python_of({other}, path), "") << other;
  }
  EXPECT_EQ(python_of({}, path), "");
}

TEST_F(Frameworks, are_told_without_being_imported) {
  package("torch", "2.6.0+cu124");
  package("jax", "0.5.1");
  write("torch/__init__.py", "raise RuntimeError('imported')\n");
  write("torch/version.py", "__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\nhip = None\n");
  setenv("PYTHONPATH", folder_.c_str(), 1);
  const auto versions = framework_versions({"python3", "train.py"}, folder_.string());
  EXPECT_THAT(versions, Contains(Pair("PyTorch", "2.6.0+cu124")));
  EXPECT_THAT(versions, Contains(Pair("PyTorch's CUDA", "12.4")));
  EXPECT_THAT(versions, Contains(Pair("JAX", "0.5.1")));
}

TEST_F(Frameworks, are_unknown_where_the_interpreter_does_not_answer) {
  write("python3", "#!/bin/sh\necho '[7, [\"x\"]'\n", true);
  EXPECT_TRUE(framework_versions({(folder_ / "python3").string(), "train.py"}).empty());
  EXPECT_TRUE(framework_versions({(folder_ / "missing/python3").string()}).empty());
  EXPECT_TRUE(framework_versions({"true"}).empty());
}

}  // namespace
}  // namespace warpmark::validate
