#include "validate/matrix/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "base/yaml_keys.h"
#include "validate/commands/command_experiment.h"
#include "validate/commands/command_spec_yaml.h"

namespace warpmark::validate {
namespace {

constexpr std::size_t kMostVariants = 1000;
constexpr std::size_t kMostCombinations = 100 * kMostVariants;
constexpr std::size_t kMostAxes = 20;
constexpr std::size_t kMostCommandBytes = 64 << 20;  // of all variants together: each has its command

/// Of every axis the index of a value, or kAnyValue.
using MatrixChoice = std::vector<std::size_t>;
constexpr std::size_t kAnyValue = std::string::npos;

/// About what a copy of the command takes.
std::size_t bytes_of(const CommandSpec& command) {
  std::size_t bytes = sizeof(CommandSpec);
  for (const auto& word : command.run) bytes += sizeof(word) + word.size();
  for (const auto& word : command.build) bytes += sizeof(word) + word.size();
  for (const auto& [name, value] : command.environment) bytes += 2 * sizeof(name) + name.size() + value.size();
  for (const auto& metric : command.metrics) {
    bytes += sizeof(metric) + metric.name.size() + metric.unit.size() + metric.expression.size() + metric.file.size();
  }
  return bytes;
}

struct Prices {
  double flat = 0;
  std::string axis;  ///< empty: flat
  std::map<std::string, double> by_label;
};

/// Everything of the file that is not a variant yet.
struct Draft {
  CommandSpec command;
  std::vector<MatrixChoice> include;  ///< measured besides the product
  std::vector<MatrixChoice> exclude;
  MatrixChoice baseline;
  bool product = true;
  std::string samples;
  Prices prices;
};

constexpr YamlKey kMatrixKeys[] = {
    yaml_schema(kMatrixFileSchema),
    yaml_key<&MatrixSpec::name>("name"),
    yaml_key<&MatrixSpec::summary>("summary"),
    yaml_key("command").needed(),
    yaml_key("axes").needed(),
    yaml_key("baseline").needed(),
    yaml_key("exclude"),
    yaml_key("include"),
    yaml_key("product"),
    yaml_key<&MatrixSpec::rounds>("rounds", yaml::whole(1, 10'000)),
    yaml_key<&MatrixSpec::warmup_runs>("warmup", yaml::whole(0, 1000)),
    yaml_key<&MatrixSpec::effect>("effect", yaml::ratio),
    yaml_key("samples"),
    yaml_key("price_per_hour"),
    yaml_key<&MatrixSpec::currency>("currency"),
    yaml_key<&MatrixSpec::objectives>("objectives"),
};

struct MatrixReader : YamlReader {
  using YamlReader::YamlReader;

  Result<MatrixValue> axis_value(const YamlNode& node, const std::string& axis) const {
    MatrixValue result;
    if (node.is_scalar()) {
      result.label = node.text();
      result.words = {result.label};
      return result;
    }
    // {label: value}, where the value may be a list of words.
    const auto pairs = node.pairs();
    if (pairs.size() != 1 || !pairs.front().first.is_scalar()) {
      return error(node, "axis " + axis + ": a value is a word, or {label: value}",
                   "such as fast or {fast: [numactl, -N, 0]}");
    }
    const YamlNode& given = pairs.front().second;
    result.label = pairs.front().first.text();
    result.spliced = given.is_list();
    WM_ASSIGN(result.words, texts(given, "axis " + axis + ", " + result.label));
    return result;
  }

  Result<std::vector<MatrixAxisSpec>> axes(const YamlNode& map) const {
    const auto pairs = map.pairs();
    if (pairs.empty()) return error(map, "axes must be a map such as {batch: [1, 8, 32]}");
    if (pairs.size() > kMostAxes) {
      return error(map, fmt::format("{} axes are too many", pairs.size()), fmt::format("at most {}", kMostAxes));
    }
    WM_TRY(no_key_twice(map));
    std::vector<MatrixAxisSpec> result;
    for (const auto& [key, list] : pairs) {
      MatrixAxisSpec axis{key.text(), {}};
      if (list.items().empty()) {
        return error(list, "axis " + axis.name + " must be a list of values such as [1, 8, 32]");
      }
      std::set<std::string> labels;
      for (const auto& node : list.items()) {
        WM_ASSIGN(auto next, axis_value(node, axis.name));
        const bool is_new = labels.insert(next.label).second;
        if (!is_new) return error(node, "axis " + axis.name + " has '" + next.label + "' twice");
        if (next.spliced && axis.name.starts_with("env.")) return error(node, "a variable has one value, not a list");
        axis.values.push_back(std::move(next));
      }
      result.push_back(std::move(axis));
    }
    return result;
  }

  static std::vector<std::string> names_of(const std::vector<MatrixAxisSpec>& axes) {
    std::vector<std::string> names;
    for (const auto& axis : axes) names.push_back(axis.name);
    return names;
  }

  /// Where a label that exists stands among the values of its axis.
  Result<std::size_t> value_index(const YamlNode& node, const std::string& name, const MatrixAxisSpec& axis) const {
    std::vector<std::string> labels;
    for (const auto& known : axis.values) {
      if (node.text() == known.label) return labels.size();
      labels.push_back(known.label);
    }
    WM_TRY(one_of(node, name, labels));
    return kAnyValue;
  }

  /// {batch: 8}: axes and labels that exist.
  Result<MatrixChoice> choice(const YamlNode& node, const std::string& name, const MatrixSpec& spec,
                              bool complete) const {
    YamlPairs items;
    WM_TRY(value(node, {name.c_str()}, items));
    WM_TRY(only_keys(node, names_of(spec.axes)));
    MatrixChoice result(spec.axes.size(), kAnyValue);
    for (const auto& [axis, label] : items) {
      for (std::size_t at = 0; at < spec.axes.size(); ++at) {
        if (spec.axes[at].name != axis) continue;
        WM_ASSIGN(result[at], value_index(node[axis], name + "." + axis, spec.axes[at]));
      }
    }
    if (complete && items.size() != spec.axes.size()) {
      return error(node, name + " must name a value of every axis", "axes: " + join(names_of(spec.axes), ", "));
    }
    return result;
  }

  Result<std::vector<MatrixChoice>> choices(const YamlNode& list, const std::string& name, const MatrixSpec& spec,
                                            bool complete) const {
    std::vector<MatrixChoice> result;
    if (list && !list.is_list()) return error(list, name + " must be a list such as [{batch: 8}]");
    for (const auto& node : list.items()) {
      WM_ASSIGN(auto next, choice(node, name, spec, complete));
      result.push_back(std::move(next));
    }
    return result;
  }

  /// A number, or {axis: gpu, h100: 3.90, a100: 1.80}.
  Status prices(const YamlNode& node, const MatrixSpec& spec, Prices& result) const {
    const YamlKey price{.key = "price_per_hour", .form = yaml::positive};
    if (node.is_scalar()) return value(node, price, result.flat);
    if (!node["axis"]) {
      return error(node, "price_per_hour is a number, or {axis: NAME, LABEL: number, ...}");
    }
    WM_ASSIGN(result.axis, one_of(node["axis"], "price_per_hour.axis", names_of(spec.axes)));
    std::vector<std::string> labels{"axis"};
    for (const auto& axis : spec.axes) {
      if (axis.name != result.axis) continue;
      for (const auto& known : axis.values) labels.push_back(known.label);
    }
    WM_TRY(only_keys(node, labels));
    for (const auto& [label, amount] : node.pairs()) {
      if (label.text() != "axis") WM_TRY(value(amount, price, result.by_label[label.text()]));
    }
    return {};
  }

  /// An objective that no run can have would else be found out when all is measured.
  Status objectives_exist(const YamlNode& root, const CommandSpec& command, const MatrixSpec& spec) const {
    const auto has = [](const std::vector<std::string>& names, const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    };
    std::vector<std::string> known;
    for (const auto& metric : command.metrics) known.push_back(metric.name);
    for (const char* always : {"time", "peak_memory", "gpu_energy"}) {
      if (!has(known, always)) known.emplace_back(always);
    }
    if (root["samples"] && !has(known, "throughput")) known.emplace_back("throughput");
    if (root["samples"]) known.emplace_back("energy");
    if (root["price_per_hour"] && has(known, "throughput")) known.emplace_back("cost");
    for (const auto& id : spec.objectives) {
      if (has(known, id)) continue;
      const auto meant = nearest(id, known);
      return error(root["objectives"], "the objective '" + id + "' is no metric of these runs",
                   (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "metrics: " + join(known, ", "));
    }
    return {};
  }

  Result<Draft> draft(const YamlNode& root, const MatrixSpec& spec) const {
    Draft result;
    if (const auto accuracy = root["command"]["accuracy"]) {
      return error(accuracy, "a matrix has no accuracy gate", "use it with warpmark compare");
    }
    if (const auto reference = root["command"]["reference"]) {
      return error(reference, "a matrix has no reference", "every round measures all variants and the baseline");
    }
    WM_ASSIGN(result.command, read_command_spec(*this, root["command"]));
    WM_ASSIGN(result.exclude, choices(root["exclude"], "exclude", spec, false));
    WM_ASSIGN(result.include, choices(root["include"], "include", spec, true));
    if (root["product"]) WM_TRY(value(root["product"], {"product"}, result.product));
    WM_ASSIGN(result.baseline, choice(root["baseline"], "baseline", spec, true));
    if (root["samples"]) WM_TRY(value(root["samples"], {"samples"}, result.samples));
    if (root["price_per_hour"]) WM_TRY(prices(root["price_per_hour"], spec, result.prices));
    return result;
  }

  Result<MatrixSpec> matrix(const YamlNode& root) const {
    MatrixSpec spec;
    WM_TRY(fill(root, "a matrix must be a map with command, axes and baseline", kMatrixKeys, spec));
    WM_ASSIGN(spec.axes, axes(root["axes"]));
    WM_ASSIGN(const auto parts, draft(root, spec));
    WM_TRY(objectives_exist(root, parts.command, spec));
    WM_TRY(add_variants(root, parts, spec));
    return spec;
  }

  // ---- variants

  static bool matches(const MatrixChoice& variant, const MatrixChoice& choice) {
    for (std::size_t axis = 0; axis < variant.size(); ++axis) {
      if (choice[axis] != kAnyValue && choice[axis] != variant[axis]) return false;
    }
    return true;
  }

  /// The next combination in the order of the file, the last axis varying fastest; false after the last one.
  static bool advance(const MatrixSpec& spec, MatrixChoice& variant) {
    for (std::size_t axis = variant.size(); axis-- > 0;) {
      if (++variant[axis] < spec.axes[axis].values.size()) return true;
      variant[axis] = 0;
    }
    return false;
  }

  Status combinations_are_few(const YamlNode& root, const MatrixSpec& spec) const {
    std::size_t all = 1;
    for (const auto& axis : spec.axes) {
      all *= axis.values.size();
      if (all <= kMostCombinations) continue;
      return error(root["axes"], fmt::format("the axes have more than {} combinations", kMostCombinations),
                   "leave out values or axes");
    }
    return {};
  }

  Status add_variants(const YamlNode& root, const Draft& parts, MatrixSpec& spec) const {
    WM_TRY(combinations_are_few(root, spec));
    std::size_t bytes = 0;
    bool baseline = false;
    MatrixChoice choice(spec.axes.size(), 0);
    do {
      const auto in = [&](const std::vector<MatrixChoice>& list) {
        return std::ranges::any_of(list, [&](const auto& item) { return matches(choice, item); });
      };
      const bool is_baseline = matches(choice, parts.baseline);
      if (!((parts.product && !in(parts.exclude)) || in(parts.include) || (is_baseline && !in(parts.exclude))))
        continue;
      if (spec.variants.size() == kMostVariants) {
        return error(root["axes"], fmt::format("more than {} variants are too many", kMostVariants),
                     "use exclude, or product: false with include");
      }
      WM_ASSIGN(auto variant, variant_of(root, parts, spec, choice));
      bytes += bytes_of(variant.command);
      if (bytes > kMostCommandBytes) {
        return error(root["command"],
                     fmt::format("the commands of all variants take more than {} bytes", kMostCommandBytes),
                     "shorten the command, or leave out variants");
      }
      variant.baseline = is_baseline;
      baseline = baseline || is_baseline;
      spec.variants.push_back(std::move(variant));
    } while (advance(spec, choice));
    if (!baseline) return error(root["baseline"], "the baseline is excluded");
    if (spec.variants.size() < 2) return error(root["axes"], "there is only the baseline, no variant");
    return {};
  }

  Result<VariantSpec> variant_of(const YamlNode& root, const Draft& parts, const MatrixSpec& spec,
                                 const MatrixChoice& choice) const {
    VariantSpec variant;
    variant.choice = choice;
    variant.command = parts.command;
    measure::Config config;
    std::string samples = parts.samples;
    for (std::size_t axis = 0; axis < spec.axes.size(); ++axis) {
      const auto& [name, values] = spec.axes[axis];
      const auto& value = values[choice[axis]];
      variant.name += (axis == 0 ? "" : " ") + name + "=" + value.label;
      if (value.spliced) {
        WM_TRY(splice(root, name, value, variant.command.run));
      } else {
        config.emplace_back(name, value.words.front());
      }
      if (samples == "{" + name + "}") samples = value.words.front();
      if (parts.prices.axis != name) continue;
      const auto price = parts.prices.by_label.find(value.label);
      if (price != parts.prices.by_label.end()) variant.price_per_hour = price->second;
    }
    if (parts.prices.axis.empty()) variant.price_per_hour = parts.prices.flat;
    auto filled = configured(variant.command, config);
    if (!filled.ok()) return error(root["axes"], variant.name + ": " + filled.error().what, filled.error().hint);
    variant.command = std::move(*filled);
    if (!samples.empty()) {
      WM_ASSIGN(variant.samples, located(root["samples"], "samples", parse_number(samples)));
      if (!(variant.samples > 0)) return error(root["samples"], "samples must be above 0");
    }
    return variant;
  }

  Status splice(const YamlNode& root, const std::string& axis, const MatrixValue& value,
                std::vector<std::string>& words) const {
    const auto place = std::ranges::find(words, "{" + axis + "}");
    if (place == words.end()) {
      return error(root["command"], "the command has no word {" + axis + "} for the list of axis " + axis);
    }
    const auto at = words.erase(place);
    words.insert(at, value.words.begin(), value.words.end());
    if (words.empty()) return error(root["command"], "nothing is left to run with " + axis + "=" + value.label);
    return {};
  }
};

}  // namespace

Result<MatrixSpec> parse_matrix_spec(std::string_view yaml, std::string_view file_name) {
  WM_ASSIGN(const auto root, read_yaml(yaml, file_name));
  WM_ASSIGN(auto spec, MatrixReader(file_name).matrix(root));
  if (spec.name.empty()) spec.name = std::filesystem::path(file_name).stem().string();
  return spec;
}

}  // namespace warpmark::validate
