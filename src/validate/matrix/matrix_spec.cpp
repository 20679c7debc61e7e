#include "validate/matrix/matrix.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "base/yaml.h"
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

struct MatrixReader : YamlReader {
  using YamlReader::YamlReader;

  Result<MatrixValue> value(const YAML::Node& node, const std::string& axis) const {
    MatrixValue result;
    if (node.IsScalar()) {
      result.label = node.Scalar();
      result.words = {node.Scalar()};
      return result;
    }
    // {label: value}, where the value may be a list of words.
    if (!node.IsMap() || node.size() != 1 || !node.begin()->first.IsScalar()) {
      return error(node, "axis " + axis + ": a value is a word, or {label: value}",
                   "such as fast or {fast: [numactl, -N, 0]}");
    }
    const YAML::Node given = node.begin()->second;
    result.label = node.begin()->first.Scalar();
    result.spliced = given.IsSequence();
    WM_ASSIGN(result.words, texts(given, "axis " + axis + ", " + result.label));
    return result;
  }

  Result<std::vector<MatrixAxisSpec>> axes(const YAML::Node& map) const {
    if (!map.IsMap() || map.size() == 0) return error(map, "axes must be a map such as {batch: [1, 8, 32]}");
    if (map.size() > kMostAxes) {
      return error(map, fmt::format("{} axes are too many", map.size()), fmt::format("at most {}", kMostAxes));
    }
    WM_TRY(no_key_twice(map));
    std::vector<MatrixAxisSpec> result;
    for (const auto& item : map) {
      MatrixAxisSpec axis{item.first.Scalar(), {}};
      if (!item.second.IsSequence() || item.second.size() == 0) {
        return error(item.second, "axis " + axis.name + " must be a list of values such as [1, 8, 32]");
      }
      std::set<std::string> labels;
      for (const auto& node : item.second) {
        WM_ASSIGN(auto next, value(node, axis.name));
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
  Result<std::size_t> value_index(const YAML::Node& node, const std::string& name, const MatrixAxisSpec& axis) const {
    std::vector<std::string> labels;
    for (const auto& known : axis.values) {
      if (node.Scalar() == known.label) return labels.size();
      labels.push_back(known.label);
    }
    WM_TRY(one_of(node, name, labels));
    return kAnyValue;
  }

  /// {batch: 8}: axes and labels that exist.
  Result<MatrixChoice> choice(const YAML::Node& node, const std::string& name, const MatrixSpec& spec,
                              bool complete) const {
    WM_ASSIGN(const auto items, pairs(node, name));
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

  Result<std::vector<MatrixChoice>> choices(const YAML::Node& list, const std::string& name, const MatrixSpec& spec,
                                            bool complete) const {
    if (!list.IsSequence()) return error(list, name + " must be a list such as [{batch: 8}]");
    std::vector<MatrixChoice> result;
    for (const auto& node : list) {
      WM_ASSIGN(auto next, choice(node, name, spec, complete));
      result.push_back(std::move(next));
    }
    return result;
  }

  Result<double> price(const YAML::Node& node) const {
    WM_ASSIGN(const double value, number(node, "price_per_hour"));
    if (!(value > 0)) return error(node, "price_per_hour must be above 0");
    return value;
  }

  /// A number, or {axis: gpu, h100: 3.90, a100: 1.80}.
  Result<Prices> prices(const YAML::Node& node, const MatrixSpec& spec) const {
    Prices result;
    if (node.IsScalar()) {
      WM_ASSIGN(result.flat, price(node));
      return result;
    }
    if (!node.IsMap() || !node["axis"]) {
      return error(node, "price_per_hour is a number, or {axis: NAME, LABEL: number, ...}");
    }
    WM_ASSIGN(result.axis, one_of(node["axis"], "price_per_hour.axis", names_of(spec.axes)));
    std::vector<std::string> labels{"axis"};
    for (const auto& axis : spec.axes) {
      if (axis.name != result.axis) continue;
      for (const auto& known : axis.values) labels.push_back(known.label);
    }
    WM_TRY(only_keys(node, labels));
    for (const auto& item : node) {
      if (item.first.Scalar() == "axis") continue;
      WM_ASSIGN(result.by_label[item.first.Scalar()], price(item.second));
    }
    return result;
  }

  Status header(const YAML::Node& root, MatrixSpec& spec) const {
    WM_TRY(maybe(root, "name", spec.name));
    WM_TRY(maybe(root, "summary", spec.summary));
    WM_TRY(maybe(root, "rounds", spec.rounds, &YamlReader::count, 1, 10'000));
    WM_TRY(maybe(root, "warmup", spec.warmup_runs, &YamlReader::count, 0, 1000));
    WM_TRY(maybe(root, "effect", spec.effect, &YamlReader::ratio));
    WM_TRY(maybe(root, "currency", spec.currency));
    WM_TRY(maybe(root, "objectives", spec.objectives));
    return {};
  }

  /// An objective that no run can have would else be found out when all is measured.
  Status objectives_exist(const YAML::Node& root, const CommandSpec& command, const MatrixSpec& spec) const {
    const auto has = [](const std::vector<std::string>& names, const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
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

  Result<Draft> draft(const YAML::Node& root, const MatrixSpec& spec) const {
    Draft result;
    if (root["command"].IsMap() && root["command"]["accuracy"]) {
      return error(root["command"]["accuracy"], "a matrix has no accuracy gate", "use it with warpmark compare");
    }
    if (root["command"].IsMap() && root["command"]["reference"]) {
      return error(root["command"]["reference"], "a matrix has no reference",
                   "every round measures all variants and the baseline");
    }
    YAML::Node command;  // of a command alone
    if (root["command"].IsScalar() || root["command"].IsSequence()) command["run"] = root["command"];
    WM_ASSIGN(result.command, read_command_spec(file(), command.IsMap() ? command : root["command"]));
    WM_TRY(maybe(root, "exclude", result.exclude, &MatrixReader::choices, spec, false));
    WM_TRY(maybe(root, "include", result.include, &MatrixReader::choices, spec, true));
    WM_TRY(maybe(root, "product", result.product));
    WM_ASSIGN(result.baseline, choice(root["baseline"], "baseline", spec, true));
    WM_TRY(maybe(root, "samples", result.samples));
    if (root["price_per_hour"]) {
      WM_ASSIGN(result.prices, prices(root["price_per_hour"], spec));
    }
    return result;
  }

  Result<MatrixSpec> matrix(const YAML::Node& root) const {
    if (!root.IsMap()) return error(root, "a matrix must be a map with command, axes and baseline");
    WM_TRY(only_keys(root, {"schema", "name", "summary", "command", "axes", "baseline", "exclude", "include", "product",
                            "rounds", "warmup", "effect", "samples", "price_per_hour", "currency", "objectives"}));
    WM_TRY(schema(root, kMatrixFileSchema));
    MatrixSpec spec;
    WM_TRY(header(root, spec));
    for (const char* key : {"command", "axes", "baseline"}) {
      if (!root[key]) return error(root, std::string("there is no ") + key);
    }
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

  Status combinations_are_few(const YAML::Node& root, const MatrixSpec& spec) const {
    std::size_t all = 1;
    for (const auto& axis : spec.axes) {
      all *= axis.values.size();
      if (all <= kMostCombinations) continue;
      return error(root["axes"], fmt::format("the axes have more than {} combinations", kMostCombinations),
                   "leave out values or axes");
    }
    return {};
  }

  Status add_variants(const YAML::Node& root, const Draft& parts, MatrixSpec& spec) const {
    WM_TRY(combinations_are_few(root, spec));
    std::size_t bytes = 0;
    bool baseline = false;
    MatrixChoice choice(spec.axes.size(), 0);
    do {
      const auto in = [&](const std::vector<MatrixChoice>& list) {
        return std::any_of(list.begin(), list.end(), [&](const auto& item) { return matches(choice, item); });
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

  Result<VariantSpec> variant_of(const YAML::Node& root, const Draft& parts, const MatrixSpec& spec,
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

  Status splice(const YAML::Node& root, const std::string& axis, const MatrixValue& value,
                std::vector<std::string>& words) const {
    const auto place = std::find(words.begin(), words.end(), "{" + axis + "}");
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
  WM_ASSIGN(auto spec,
            read_yaml(yaml, file_name, [&](const YAML::Node& root) { return MatrixReader(file_name).matrix(root); }));
  if (spec.name.empty()) {
    const auto name = file_name.substr(file_name.rfind('/') + 1);
    spec.name = std::string(name.substr(0, name.rfind('.')));
  }
  return spec;
}

}  // namespace warpmark::validate
