#include "kernel/proofs.hpp"

#include "kernel/proof_rows.hpp"

#include <charconv>
#include <sstream>

namespace recount::kernel {

namespace {

result::Params parse_point(const std::string& text) {
  result::Params point;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const std::string value = word.substr(equals + 1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    point[word.substr(0, equals)] = whole ? result::ParamValue{number} : result::ParamValue{value};
  }
  return point;
}

/// A whole number of lines; nothing where the machine has no such level.
std::optional<std::int64_t> scaled_size(const Scaled& scaled,
                                        const std::optional<model::MachineDescription>& machine) {
  const auto level = static_cast<std::size_t>(scaled.level);
  if (!machine || machine->levels.size() < level) return std::nullopt;
  const auto& cache = machine->levels[level - 1];
  return static_cast<std::int64_t>(scaled.times * static_cast<double>(cache.size)) / cache.line * cache.line;
}

} // namespace

std::vector<Proof> proofs(const std::optional<model::MachineDescription>& machine) {
  std::vector<Proof> all;
  for (const ProofRow& row : proof_rows()) {
    const Kernel& kernel = find(row.kernel);
    result::Params point = parse_point(row.point);
    if (row.size.level != 0) {
      const auto size = scaled_size(row.size, machine);
      if (!size) continue;
      point["size"] = *size;
    }
    point = complete(kernel, point);
    std::istringstream presets(row.presets);
    for (std::string preset; presets >> preset;)
      all.push_back({preset, &kernel, point, row.tolerance, row.why});
  }
  return all;
}

std::span<const Unprovable> unprovable() {
  static const std::vector<Unprovable> none;
  return none;
}

} // namespace recount::kernel
