#include "profile/collectors/recording_parts.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdlib>
#include <map>
#include <utility>

namespace warpmark::profile {

/// libdw's functions under their own names; the interface has been the same since elfutils 0.130.
struct LibDw {
#define WM_LIBDW(name) decltype(&::name) name = nullptr
  WM_LIBDW(dwfl_begin);
  WM_LIBDW(dwfl_end);
  WM_LIBDW(dwfl_report_begin);
  WM_LIBDW(dwfl_report_offline);
  WM_LIBDW(dwfl_report_end);
  WM_LIBDW(dwfl_offline_section_address);
  WM_LIBDW(dwfl_standard_find_debuginfo);
  WM_LIBDW(dwfl_module_getelf);
  WM_LIBDW(dwfl_module_addrdie);
  WM_LIBDW(dwfl_module_addrname);
  WM_LIBDW(dwfl_module_getsrc);
  WM_LIBDW(dwfl_lineinfo);
  WM_LIBDW(dwfl_line_comp_dir);
  WM_LIBDW(dwarf_getscopes);
  WM_LIBDW(dwarf_getscopes_die);
  WM_LIBDW(dwarf_tag);
  WM_LIBDW(dwarf_attr_integrate);
  WM_LIBDW(dwarf_formstring);
  WM_LIBDW(dwarf_formudata);
  WM_LIBDW(dwarf_getsrcfiles);
  WM_LIBDW(dwarf_filesrc);
#undef WM_LIBDW
  bool complete = false;
};

namespace {

LibDw load_libdw() {
  LibDw dw;
  void* library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dw;
  dw.complete = true;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    dw.complete = dw.complete && function != nullptr;
  };
#define WM_LOAD(name) load(dw.name, #name)
  WM_LOAD(dwfl_begin);
  WM_LOAD(dwfl_end);
  WM_LOAD(dwfl_report_begin);
  WM_LOAD(dwfl_report_offline);
  WM_LOAD(dwfl_report_end);
  WM_LOAD(dwfl_offline_section_address);
  WM_LOAD(dwfl_standard_find_debuginfo);
  WM_LOAD(dwfl_module_getelf);
  WM_LOAD(dwfl_module_addrdie);
  WM_LOAD(dwfl_module_addrname);
  WM_LOAD(dwfl_module_getsrc);
  WM_LOAD(dwfl_lineinfo);
  WM_LOAD(dwfl_line_comp_dir);
  WM_LOAD(dwarf_getscopes);
  WM_LOAD(dwarf_getscopes_die);
  WM_LOAD(dwarf_tag);
  WM_LOAD(dwarf_attr_integrate);
  WM_LOAD(dwarf_formstring);
  WM_LOAD(dwarf_formudata);
  WM_LOAD(dwarf_getsrcfiles);
  WM_LOAD(dwarf_filesrc);
#undef WM_LOAD
  return dw;
}

std::string demangled(const char* name) {
  int status = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = status == 0 && plain != nullptr ? plain : name;
  std::free(plain);
  return text;
}

std::string absolute(const char* file, const char* folder) {
  if (file == nullptr) return {};
  return *file == '/' || folder == nullptr ? file : std::string(folder) + "/" + file;
}

}  // namespace

/// One file.
struct Symbolizer::Session {
  struct File {
    Dwfl* dwfl = nullptr;
    Dwfl_Module* module = nullptr;
    GElf_Addr bias = 0;  ///< what libdw adds to the file's own addresses
  };

  explicit Session(const LibDw& loaded) : dw(loaded) {
    callbacks.find_debuginfo = dw.dwfl_standard_find_debuginfo;  // beside the file, and in /usr/lib/debug
    callbacks.section_address = dw.dwfl_offline_section_address;
  }
  ~Session() {
    for (const auto& [path, file] : files) {
      if (file.dwfl != nullptr) dw.dwfl_end(file.dwfl);
    }
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const File& file_of(const std::string& path) {
    const auto [known, is_new] = files.try_emplace(path);
    File& file = known->second;
    if (!is_new) return file;
    file.dwfl = dw.dwfl_begin(&callbacks);
    if (file.dwfl == nullptr) return file;
    dw.dwfl_report_begin(file.dwfl);
    file.module = dw.dwfl_report_offline(file.dwfl, path.c_str(), path.c_str(), -1);
    dw.dwfl_report_end(file.dwfl, nullptr, nullptr);
    if (file.module != nullptr && dw.dwfl_module_getelf(file.module, &file.bias) == nullptr) file.module = nullptr;
    return file;
  }

  std::string name_of(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    const char* name = dw.dwarf_formstring(dw.dwarf_attr_integrate(die, DW_AT_name, &attribute));
    return name != nullptr ? name : "";
  }

  Dwarf_Word number_of(Dwarf_Die* die, unsigned attribute_name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    const bool known = dw.dwarf_formudata(dw.dwarf_attr_integrate(die, attribute_name, &attribute), &value) == 0;
    return known ? value : 0;
  }

  /// What is around the code, the innermost first. Of what was inlined: around where it was put, not where it was
  /// written.
  std::vector<Dwarf_Die> scopes_at(Dwarf_Die* unit, Dwarf_Addr address) {
    Dwarf_Die *written = nullptr, *put = nullptr;
    std::vector<Dwarf_Die> scopes;
    if (dw.dwarf_getscopes(unit, address, &written) > 0) {
      const int count = dw.dwarf_getscopes_die(&written[0], &put);
      if (count > 0) scopes.assign(put, put + count);
    }
    std::free(put);
    std::free(written);
    return scopes;
  }

  /// Where the code was written that stands at the address: its own line, and the functions around it up to the one
  /// that it was inlined into.
  std::vector<SymbolizedFrame> by_debug_information(const File& file, GElf_Addr address) {
    Dwfl_Line* line = dw.dwfl_module_getsrc(file.module, address);
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = dw.dwfl_module_addrdie(file.module, address, &bias);
    if (line == nullptr || unit == nullptr) return {};
    int number = 0;
    const char* source = dw.dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
    SymbolizedFrame frame{absolute(source, dw.dwfl_line_comp_dir(line)), number, ""};
    if (frame.file.empty()) return {};
    std::vector<SymbolizedFrame> frames;
    Dwarf_Files* sources = nullptr;
    std::size_t source_count = 0;
    const bool has_sources = dw.dwarf_getsrcfiles(unit, &sources, &source_count) == 0;
    for (Dwarf_Die& scope : scopes_at(unit, address - bias)) {
      const int tag = dw.dwarf_tag(&scope);
      if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
      frame.function = name_of(&scope);
      frames.push_back(frame);
      if (tag == DW_TAG_subprogram) break;
      const auto caller = static_cast<std::size_t>(number_of(&scope, DW_AT_call_file));
      const char* of_caller =
          has_sources && caller < source_count ? dw.dwarf_filesrc(sources, caller, nullptr, nullptr) : nullptr;
      frame = {absolute(of_caller, dw.dwfl_line_comp_dir(line)),
               static_cast<std::int64_t>(number_of(&scope, DW_AT_call_line)), ""};
    }
    if (frames.empty()) frames.push_back(frame);
    return frames;
  }

  LibDw dw;
  Dwfl_Callbacks callbacks{};
  std::map<std::string, File> files;
};

Symbolizer::Symbolizer(std::unique_ptr<Session> session) : session_(std::move(session)) {}
Symbolizer::Symbolizer(Symbolizer&&) noexcept = default;
Symbolizer& Symbolizer::operator=(Symbolizer&&) noexcept = default;
Symbolizer::~Symbolizer() = default;

Result<Symbolizer> Symbolizer::make() {
  // Else libdw would ask servers for what is not on this machine, library by library.
  unsetenv("DEBUGINFOD_URLS");
  static const LibDw dw = load_libdw();
  if (!dw.complete) {
    return environment_error("lines of C++ programs need libdw of elfutils, which is not installed",
                             "apt install libdw1 (Ubuntu 24.04: libdw1t64; RHEL: elfutils-libs)");
  }
  return Symbolizer(std::make_unique<Session>(dw));
}

std::vector<SymbolizedFrame> Symbolizer::frames_at(const std::string& path, std::uint64_t address) {
  const Session::File& file = session_->file_of(path);
  if (file.module == nullptr) return {SymbolizedFrame{}};
  const GElf_Addr at = address + file.bias;
  auto frames = session_->by_debug_information(file, at);
  if (!frames.empty()) return frames;
  const char* symbol = session_->dw.dwfl_module_addrname(file.module, at);
  return {SymbolizedFrame{"", 0, symbol != nullptr ? demangled(symbol) : ""}};
}

}  // namespace warpmark::profile
