#include "workloads/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <warpmark/plugin.h>

#include <cerrno>
#include <cmath>
#include <deque>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/units.h"
#include "workloads/catalog.h"

namespace warpmark::workloads {

struct Plugin::Content {
  /// One workload with the storage that its descriptor points into.
  struct Item {
    const wm_workload* source = nullptr;
    std::vector<ParamSpec> params;
    measure::Workload workload{};
  };
  std::string path;
  std::string name;
  void* library = nullptr;
  std::deque<Item> items;  // addresses stay

  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content() {
    items.clear();
    if (library != nullptr) dlclose(library);
  }
};

namespace {

using Item = Plugin::Content::Item;

const wm_workload& source_of(const measure::Workload& self) {
  return *static_cast<const Item*>(self.extension)->source;
}

/// Text of a fixed array that the plugin may have forgotten to terminate.
template <std::size_t N>
std::string bounded(const char (&text)[N]) {
  return {text, strnlen(text, N)};
}

Error error_of(const wm_workload& source, const char* step, const wm_error& error) {
  std::string what = bounded(error.what);
  if (what.empty()) what = "failed without saying why";
  return data_error(fmt::format("plugin workload {}: {}: {}", source.id, step, what), bounded(error.hint));
}

/// The C view of a case. Its texts live in `params`.
struct CaseView {
  std::vector<wm_value> values;
  wm_case view{};

  CaseView(const Params& params, std::size_t sets, std::uint64_t seed, int device) {
    for (const auto& [name, value] : params.items()) {
      const auto* integer = std::get_if<std::int64_t>(&value);
      const auto* text = std::get_if<std::string>(&value);
      values.push_back({name.c_str(), integer == nullptr ? 0 : *integer, text == nullptr ? nullptr : text->c_str()});
    }
    view = {sizeof(wm_case), values.data(), values.size(), sets, seed, device};
  }
  CaseView(const CaseView&) = delete;
  CaseView& operator=(const CaseView&) = delete;
};

class PluginPrepared final : public measure::Prepared {
 public:
  PluginPrepared(const wm_workload& source, void* state) : source_(source), state_(state) {}
  PluginPrepared(const PluginPrepared&) = delete;
  PluginPrepared& operator=(const PluginPrepared&) = delete;
  ~PluginPrepared() override { source_.release(state_); }

  Status launch(device::Stream stream, std::size_t set) override {
    const int code = source_.launch(state_, stream.handle, set);
    if (code != 0) return data_error(fmt::format("plugin workload {}: launch returned {}", source_.id, code));
    return {};
  }

  Status poison() override {
    wm_error error{};
    if (source_.poison(state_, &error) != 0) return error_of(source_, "poison", error);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    wm_check found{};
    found.struct_size = sizeof(wm_check);
    wm_error error{};
    if (source_.check(state_, set, &found, &error) != 0) return error_of(source_, "check", error);
    if (!std::isfinite(found.tolerance) || found.tolerance < 0) {
      return data_error(fmt::format("plugin workload {}: its tolerance is no number from 0 up", source_.id),
                        "set wm_check.tolerance");
    }
    constexpr double kFailing = 1e300;  // JSON has no NaN and no infinity
    const bool usable = std::isfinite(found.value) && found.value >= 0;
    return ErrorCheck{usable ? found.value : kFailing, found.tolerance, bounded(found.norm), bounded(found.reference)};
  }

 private:
  const wm_workload& source_;
  void* state_;
};

Result<Cost> plugin_cost(const measure::Workload& self, const Params& params) {
  const auto& source = source_of(self);
  const CaseView view(params, 1, 0, -1);
  wm_cost found{};
  found.struct_size = sizeof(wm_cost);
  wm_error error{};
  if (source.cost(&view.view, &found, &error) != 0) {
    const Error reason = error_of(source, "cost", error);
    return usage_error(reason.what, reason.hint);
  }
  const bool sane = std::isfinite(found.flops) && found.flops >= 0 && std::isfinite(found.bytes) && found.bytes >= 0 &&
                    found.footprint_bytes >= 0;
  if (!sane) {
    return data_error(fmt::format("plugin workload {}: cost gave {} FLOPs, {} bytes and a footprint of {} bytes",
                                  source.id, found.flops, found.bytes, found.footprint_bytes),
                      "all three must be finite and not negative");
  }
  Cost cost;
  cost.flops = found.flops;
  cost.bytes = found.bytes;
  cost.footprint_bytes = found.footprint_bytes;
  cost.flop_type = bounded(found.flop_type);
  return cost;
}

device::Support plugin_supports(const measure::Workload& self, const DeviceInfo& device, const Params&) {
  const std::string backend = source_of(self).backend;
  if (backend == device.backend) return device::Support::yes();
  return device::Support::no(fmt::format("{} is for {} devices", self.id, backend), "--device " + backend);
}

Result<std::unique_ptr<measure::Prepared>> plugin_prepare(const measure::Workload& self,
                                                          const measure::PrepareOptions& options) {
  const auto& source = source_of(self);
  const auto& id = options.device.info().id;
  int index = -1;
  if (const auto colon = id.find(':'); colon != std::string::npos) {
    WM_ASSIGN(const auto number, parse_integer(std::string_view(id).substr(colon + 1)));
    index = static_cast<int>(number);
  }
  const CaseView view(options.params, options.sets, options.seed, index);
  void* state = nullptr;
  wm_error error{};
  if (source.prepare(&view.view, &state, &error) != 0) return error_of(source, "prepare", error);
  return std::unique_ptr<measure::Prepared>(std::make_unique<PluginPrepared>(source, state));
}

std::vector<Overrides> plugin_cases(const measure::Workload& self, const DeviceInfo& device) {
  return plugin_supports(self, device, {}).available ? std::vector<Overrides>{{}} : std::vector<Overrides>{};
}

bool is_id(const char* text) {
  const std::string_view id = text == nullptr ? "" : text;
  return !id.empty() && id.size() <= 64 &&
         id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

Status check_workload(const wm_workload* source, std::size_t number) {
  if (source == nullptr) return data_error(fmt::format("workload {} is null", number));
  if (source->struct_size < sizeof(wm_workload)) {
    return data_error(fmt::format("workload {} has a struct_size of {}, expected {}", number, source->struct_size,
                                  sizeof(wm_workload)),
                      "set struct_size to sizeof(wm_workload)");
  }
  if (!is_id(source->id)) return data_error(fmt::format("workload {} has no id of the form lower_case_words", number));
  const std::string id = source->id;
  if (find_in(catalog(), std::string_view(id)) != nullptr) {
    return data_error("workload '" + id + "' has the id of a built-in workload", "choose another id");
  }
  if (source->cost == nullptr || source->prepare == nullptr || source->launch == nullptr || source->poison == nullptr ||
      source->check == nullptr || source->release == nullptr) {
    return data_error("workload '" + id + "' lacks a function", "cost, prepare, launch, poison, check and release");
  }
  const std::string_view backend = source->backend == nullptr ? "" : source->backend;
  if (backend != "cpu" && backend != "cuda") {
    return data_error("workload '" + id + "' has the backend '" + std::string(backend) + "'", "allowed: cpu, cuda");
  }
  const std::string_view mode = source->mode == nullptr ? "" : source->mode;
  if (mode != "cold" && mode != "hot") {
    return data_error("workload '" + id + "' has the mode '" + std::string(mode) + "'", "allowed: cold, hot");
  }
  constexpr std::size_t kMostParams = 64;
  if (source->param_count > kMostParams || (source->param_count > 0 && source->params == nullptr)) {
    return data_error(fmt::format("workload '{}' says that it has {} parameters", id, source->param_count));
  }
  return {};
}

Result<std::vector<ParamSpec>> params_of(const wm_workload& source) {
  std::vector<ParamSpec> specs;
  for (std::size_t i = 0; i < source.param_count; ++i) {
    const wm_param& param = source.params[i];
    const bool known_kind = param.kind == WM_INTEGER || param.kind == WM_TEXT;
    if (!is_id(param.name) || param.default_value == nullptr || param.help == nullptr || !known_kind) {
      return data_error(fmt::format(
          "parameter {} of workload '{}' lacks a name, default or help, or has an unknown kind", i, source.id));
    }
    specs.push_back({param.name, param.kind == WM_INTEGER ? ParamKind::integer : ParamKind::text, param.default_value,
                     param.help, param.choices == nullptr ? "" : param.choices});
    if (const auto value = parse_param(specs.back(), param.default_value); !value.ok()) {
      return data_error(fmt::format("workload '{}': default of {}", source.id, value.error().what));
    }
  }
  return specs;
}

Status add_workload(Plugin::Content& content, const wm_workload* source, std::size_t number) {
  WM_TRY(check_workload(source, number));
  WM_ASSIGN(auto params, params_of(*source));
  for (const auto& known : content.items) {
    if (std::string_view(known.workload.id) == source->id) {
      return data_error(std::string("two workloads have the id '") + source->id + "'");
    }
  }
  Item& item = content.items.emplace_back();
  item.source = source;
  item.params = std::move(params);
  item.workload = {.id = source->id,
                   .summary = source->summary == nullptr ? "" : source->summary,
                   .params = item.params,
                   .cost = plugin_cost,
                   .supports = plugin_supports,
                   .prepare = plugin_prepare,
                   .cases = plugin_cases,
                   .default_mode = std::string_view(source->mode) == "hot" ? Mode::hot : Mode::cold,
                   .extension = &item};
  return {};
}

Status read_table(Plugin::Content& content, const wm_plugin* table) {
  if (table == nullptr) return data_error("warpmark_plugin() returned null");
  if (table->struct_size < sizeof(wm_plugin) || table->abi != WARPMARK_PLUGIN_ABI) {
    return data_error(
        fmt::format("it was built for another plugin interface (abi {}, this is {})", table->abi, WARPMARK_PLUGIN_ABI),
        "rebuild it against warpmark/plugin.h of this version");
  }
  constexpr std::size_t kMostWorkloads = 1024;
  if (table->workload_count == 0 || table->workload_count > kMostWorkloads || table->workloads == nullptr) {
    return data_error(fmt::format("it says that it has {} workloads", table->workload_count));
  }
  content.name = table->name == nullptr ? "" : table->name;
  for (std::size_t i = 0; i < table->workload_count; ++i) WM_TRY(add_workload(content, table->workloads[i], i));
  return {};
}

}  // namespace

Plugin::Plugin(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Plugin::Plugin(Plugin&&) noexcept = default;
Plugin& Plugin::operator=(Plugin&&) noexcept = default;
Plugin::~Plugin() = default;

std::vector<const measure::Workload*> Plugin::workloads() const {
  std::vector<const measure::Workload*> all;
  for (const auto& item : content_->items) all.push_back(&item.workload);
  return all;
}

const std::string& Plugin::name() const { return content_->name; }

Result<Plugin> load_plugin(const std::string& path) {
  auto content = std::make_unique<Plugin::Content>();
  content->path = path;
  // A bare name would be looked for in the system's library folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  content->library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (content->library == nullptr) {
    const std::string reason = dlerror();
    if (std::error_code none; !std::filesystem::exists(file, none)) return read_error(path, ENOENT);
    return environment_error("cannot load the plugin " + path + ": " + reason,
                             "is it a shared library for this processor?");
  }
  using Entry = const wm_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(content->library, "warpmark_plugin"));
  if (entry == nullptr) {
    return data_error(path + " is no warpmark plugin: it does not export warpmark_plugin()", "see docs/plugins.md");
  }
  if (const Status status = read_table(*content, entry()); !status.ok()) {
    return data_error("plugin " + path + ": " + status.error().what, status.error().hint);
  }
  return Plugin(std::move(content));
}

}  // namespace warpmark::workloads
