#include "workers/libtorch_build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/subprocess.h"
#include "generated/libtorch_worker.h"

namespace warpmark::workers {
namespace {

namespace fs = std::filesystem;

constexpr double kProbe_s = 180;    // importing PyTorch from a cold disk
constexpr double kCompile_s = 600;  // some 25 s on a machine that is free

/// Libraries as they are loaded, wherever a distribution has put them; headers as torch's own extensions find them; and
/// the folders of CUDA's libraries where they came as wheels, which PyTorch's Python loads before its own.
constexpr const char* kProbe = R"(
import json, os, sys
try:
    import torch
except ImportError as problem:
    print(json.dumps({"refused": "%s cannot import torch: %s" % (sys.executable, problem)}))
    sys.exit(0)
home = os.path.dirname(torch.__file__)
try:
    from torch.utils import cpp_extension
    include = cpp_extension.include_paths()
except Exception:
    include = [os.path.join(home, "include"), os.path.join(home, "include", "torch", "csrc", "api", "include")]
names = ("libtorch.so", "libtorch_cpu.so", "libtorch_cuda.so", "libc10.so", "libc10_cuda.so")
with open("/proc/self/maps") as maps:
    loaded = set(line.split(None, 5)[5].strip() for line in maps if len(line.split(None, 5)) > 5)
libraries = sorted(p for p in loaded if any(os.path.basename(p).startswith(n) for n in names))
wheels = sorted({os.path.dirname(p) for p in loaded if "/nvidia/" in p})
print(json.dumps({"version": str(torch.__version__), "include": [p for p in include if os.path.isdir(p)],
                  "headers": any(
                      os.path.exists(os.path.join(p, "torch", "torch.h")) for p in include),
                  "libraries": libraries, "wheels": wheels, "abi": int(torch._C._GLIBCXX_USE_CXX11_ABI)}))
)";

struct Torch {
  std::string version;
  std::vector<std::string> include, libraries, wheels;
  int abi = 1;
};

Error cannot(const std::string& why) {
  return unsupported_error("the LibTorch worker cannot be made: " + why,
                           "PyTorch with its headers and g++ make it (Debian: libtorch-dev python3-torch g++); or "
                           "--set worker=python");
}

/// Throws Json::exception where a field has another type.
Result<Torch> torch_of(const Json& json) {
  if (json.contains("refused")) return cannot(json["refused"].get<std::string>());
  Torch torch;
  torch.version = json.value("version", "");
  torch.include = json.value("include", std::vector<std::string>());
  torch.libraries = json.value("libraries", std::vector<std::string>());
  torch.wheels = json.value("wheels", std::vector<std::string>());
  torch.abi = json.value("abi", 1);
  if (json.value("headers", false) != true) return cannot("torch " + torch.version + " has no headers");
  if (torch.libraries.empty()) return cannot("torch " + torch.version + " loads no libtorch");
  return torch;
}

Result<Torch> ask_python(const std::string& python, const std::atomic<bool>* interrupted) {
  ProcessOptions options;
  options.deadline_s = kProbe_s;
  options.interrupted = interrupted;
  WM_ASSIGN(const auto ran, run_process({python, "-c", kProbe}, options));
  if (ran.exit_code != 0) return cannot(fmt::format("{} ended with exit code {}", python, ran.exit_code));
  std::string text = ran.out;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto line = text.rfind('\n');
  const auto json = parse_json(line == std::string::npos ? text : text.substr(line + 1), "what " + python + " says");
  if (!json.ok() || !json->is_object()) return cannot(python + " does not say where its PyTorch is");
  try {
    return torch_of(*json);
  } catch (const Json::exception& problem) {  // a field of another type
    return cannot(python + " does not say where its PyTorch is: " + problem.what());
  }
}

Result<fs::path> cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && fs::path(cache).is_absolute()) return fs::path(cache) / "warpmark";
  const char* home = std::getenv("HOME");
  if (home != nullptr && fs::path(home).is_absolute()) return fs::path(home) / ".cache" / "warpmark";
  return environment_error("there is no folder for the LibTorch worker: HOME is not set", "set XDG_CACHE_HOME");
}

/// The path for libraries is of the old kind, which holds for what libraries need, too: cuDNN loads its parts by name.
std::vector<std::string> compile_words(const std::string& compiler, const Torch& torch) {
  std::vector<std::string> words{compiler, "-std=c++20", "-O2", "-w",
                                 fmt::format("-D_GLIBCXX_USE_CXX11_ABI={}", torch.abi)};
  for (const auto& folder : torch.include) words.insert(words.end(), {"-isystem", folder});
  words.insert(words.end(),
               {"wm_worker.cc", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", "-Wl,--disable-new-dtags"});
  for (const auto& library : torch.libraries) {
    words.push_back(library);
    words.push_back("-Wl,-rpath," + fs::path(library).parent_path().string());
  }
  for (const auto& folder : torch.wheels) words.push_back("-Wl,-rpath," + folder);
  words.emplace_back("-ldl");
  return words;
}

/// The compiler's first error, without where it stands.
std::string first_error(const std::string& said) {
  const auto at = said.find("error: ");
  if (at == std::string::npos) return said.substr(0, 200);
  return said.substr(at + 7, std::min<std::size_t>(200, said.find('\n', at) - at - 7));
}

}  // namespace

Result<fs::path> build_libtorch_worker(const std::string& python, const std::atomic<bool>* interrupted) {
  WM_ASSIGN(const Torch torch, ask_python(python, interrupted));
  const char* named = std::getenv("CXX");
  const std::string compiler = named != nullptr && *named != '\0' ? named : "c++";
  const auto version = run_process({compiler, "--version"});
  if (!version.ok() || version->exit_code != 0) return cannot("there is no compiler '" + compiler + "'");
  auto words = compile_words(compiler, torch);
  std::string made_of = torch.version + version->out;
  for (const auto& word : words) made_of += '\n' + word;
  for (const auto& file : generated::kLibtorchWorker) made_of += file.text;
  WM_ASSIGN(const fs::path cache, cache_folder());
  const fs::path folder = cache / ("libtorch-" + sha256_hex(made_of).substr(0, 16));
  const fs::path worker = folder / "worker";
  std::error_code ignored;
  if (fs::exists(worker, ignored)) return worker;

  WM_TRY(make_folder(folder));
  for (const auto& file : generated::kLibtorchWorker) WM_TRY(write_file(folder / std::string(file.name), file.text));
  const fs::path temporary = folder / fmt::format("worker-{}", ::getpid());
  words.insert(words.end(), {"-o", temporary.string()});
  ProcessOptions options;
  options.deadline_s = kCompile_s;
  options.directory = folder.string();
  options.own_group = true;
  options.interrupted = interrupted;
  WM_ASSIGN(const auto compiled, run_process(words, options));
  if (compiled.exit_code != 0) return cannot(first_error(compiled.err));
  WM_TRY(put_in_place(temporary, worker));
  return worker;
}

}  // namespace warpmark::workers
