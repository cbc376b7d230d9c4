#include "kernel/proofs.hpp"

#include "kernel/proof_rows.hpp"

#include "model/metrics.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <sstream>

namespace recount::kernel {

namespace {

using MaybeMachine = std::optional<model::MachineDescription>;

/// Whether a kernel accepts this size.
bool takes_value(const Kernel& kernel, const std::string& name, std::int64_t value) {
  const auto parameters = kernel.parameters();
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  return found != parameters.end() && value >= found->least && (found->most == 0 || value <= found->most);
}

/// "@2", "0.5*@2": bytes, a whole number of lines. Nothing where the machine has no such level.
std::optional<std::int64_t> scaled_size(const std::string& text, const MaybeMachine& machine) {
  const auto at = text.find('@');
  const auto level = static_cast<std::size_t>(std::stoi(text.substr(at + 1)));
  const double times = at == 0 ? 1 : std::stod(text.substr(0, at - 1));
  if (!machine || machine->levels.size() < level) return std::nullopt;
  const auto& cache = machine->levels[level - 1];
  return static_cast<std::int64_t>(times * static_cast<double>(cache.size)) / cache.line * cache.line;
}

/// Nothing where the machine has no such level, or the kernel does not take its size.
std::optional<result::ParamValue> parse_value(const std::string& text, const std::string& name,
                                              const Kernel& kernel, const MaybeMachine& machine) {
  if (text.find('@') != text.npos) {
    const auto size = scaled_size(text, machine);
    if (!size || !takes_value(kernel, name, *size)) return std::nullopt;
    return *size;
  }
  const auto parameters = kernel.parameters();
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  if (found != parameters.end() && found->unit == Parameter::Unit::choice) return text;
  return std::int64_t{std::stoll(text)};
}

std::optional<result::Params> parse_proof_point(const ProofRow& row, const Kernel& kernel,
                                                const MaybeMachine& machine) {
  result::Params point;
  std::istringstream words(row.point);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto value = parse_value(word.substr(equals + 1), name, kernel, machine);
    if (!value) return std::nullopt;
    point[name] = *value;
  }
  return complete(kernel, point);
}

/// Whether this architecture has the instructions of a valid row.
bool exists_here(const Kernel& kernel, const result::Params& point) {
  try {
    return kernel.bytes(point) > 0;
  } catch (const Error&) {
    return false;
  }
}

/// Whether the kernel has an expected count of the preset at this point on this machine.
bool answers(const Kernel& kernel, const std::vector<Expectation>& known, const std::string& preset,
             const std::vector<std::string>& simulated) {
  const auto states = [&](const Expectation& e) { return e.metric == preset; };
  if (std::ranges::find_if(known, states) != known.end()) return true;
  return kernel.unsimulated().empty() && std::ranges::find(simulated, preset) != simulated.end();
}

} // namespace

std::vector<Proof> proofs(const std::optional<model::MachineDescription>& machine) {
  const auto simulated = machine ? model::metric_names(*machine) : std::vector<std::string>{};
  std::vector<Proof> all;
  for (const ProofRow& row : proof_rows()) {
    const std::string name = row.kernel;
    const Kernel& kernel = find(name);
    const auto point = parse_proof_point(row, kernel, machine);
    if (!point || !exists_here(kernel, *point)) continue;
    const auto known = kernel.expected(*point);
    std::istringstream presets(row.presets);
    for (std::string preset; presets >> preset;)
      if (answers(kernel, known, preset, simulated))
        all.push_back({preset, &kernel, *point, row.tolerance, row.why});
  }
  return all;
}

std::span<const Unprovable> unprovable() {
  static const std::vector<Unprovable> all = [] {
    const auto proven = proofs(model::machine("i7-9700-l3")); // any machine with three levels will do
    std::vector<Unprovable> list;
    const auto add = [&](const std::string& preset, const char* reason) {
      if (std::ranges::find(proven, preset, &Proof::preset) == proven.end() &&
          std::ranges::find(list, preset, &Unprovable::preset) == list.end())
        list.push_back({preset, reason});
    };
    for (const UnprovableRow& row : unprovable_rows())
      add(row.preset, row.reason);
    for (const ProofRow& row : proof_rows()) {
      std::istringstream presets(row.presets);
      for (std::string preset; presets >> preset;)
        if (preset.starts_with("PAPI_"))
          add(preset, "its kernel is written in assembly, for x86-64 and aarch64 only");
    }
    return list;
  }();
  return all;
}

} // namespace recount::kernel
