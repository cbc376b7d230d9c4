#include "profile/located.hpp"

#include "symbol/disassembly.hpp"
#include "symbol/kernel_symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace recount::profile {
namespace {
using Kind = Place::Kind;
using Indices = std::vector<std::size_t>;

/// The disassembled functions, cached.
class Instructions {
public:
  explicit Instructions(const symbol::Module& module) : module_(module) {}
  /// Instructions have no fixed size: one is found by going from the beginning of its function.
  void name(Located& at) {
    if (at.start == 0 || at.end <= at.start || at.end - at.start > largest) return;
    auto [known, added] = functions_.try_emplace(at.start);
    if (added)
      known->second =
          symbol::disassemble(module_.machine(), module_.bytes(at.start, at.end - at.start), at.start);
    const auto& all = known->second;
    auto it = std::ranges::upper_bound(all, at.address, {}, &symbol::Instruction::address);
    if (it == all.begin() || at.address >= (--it)->address + it->size) return;
    at.address = it->address;
    at.instruction = it->text;
  }

private:
  static constexpr std::uint64_t largest = 1 << 20;
  const symbol::Module& module_;
  std::map<std::uint64_t, std::vector<symbol::Instruction>> functions_;
};

void name_in_module(Located& at, symbol::Module& module) {
  at.address = module.address(at.address).value_or(at.address);
  at.frames = module.frames(at.address);
  if (const auto function = module.function(at.address)) {
    at.start = function->start;
    at.end = function->end;
  }
}

/// Whether it has enough samples to explain why it has no lines.
bool matters(const Places& places, const Indices& which) {
  for (std::size_t e = 0; e < places.events(); ++e) {
    std::uint64_t samples = 0;
    for (const std::size_t i : which)
      samples += places.tally(i)[e].samples;
    if (samples * 100 > places.total(e).samples) return true;
  }
  return false;
}

/// Of the places of one file.
void name_file(const Places& places, const Indices& which, Files& files, const NamingOptions& options,
               Naming& naming) {
  const std::uint32_t file = places.places()[which.front()].file;
  const auto& mapped = places.spaces().files()[file];
  auto found = files.module(places.spaces(), file, options.debug_path);
  std::optional<Instructions> instructions;
  if (found.module && options.instructions) instructions.emplace(*found.module);
  bool lineless = false;
  for (const std::size_t i : which) {
    Located& at = naming.places[i];
    at.module = mapped.path;
    at.address = places.places()[i].offset;
    at.frames.resize(1);
    if (found.module) name_in_module(at, *found.module);
    if (instructions) instructions->name(at);
    lineless = lineless || at.frames.front().line == 0;
  }
  if (lineless && !found.trouble.empty() && matters(places, which))
    naming.notes.push_back(mapped.path + ": " + found.trouble);
}

void name_kernel(const Places& places, const Indices& which, Naming& naming) {
  const auto kernel = symbol::KernelSymbols::here();
  for (const std::size_t i : which) {
    Located& at = naming.places[i];
    at.module = "[kernel]";
    at.address = places.places()[i].offset;
    at.frames.resize(1);
    const auto found = kernel.find(at.address);
    if (!found) continue;
    if (!found->module.empty()) at.module = fmt::format("[kernel {}]", found->module);
    at.frames[0].function = found->name;
    at.start = found->start;
    at.end = found->end;
  }
  if (!kernel.hidden().empty()) naming.notes.push_back("[kernel]: " + kernel.hidden());
}

void name_other(const Places& places, std::size_t i, Naming& naming) {
  const Place& place = places.places()[i];
  Located& at = naming.places[i];
  at.module = place.kind == Kind::memory ? places.spaces().files()[place.file].path
              : place.kind == Kind::many ? "[other places]"
                                         : "[unknown]";
  at.address = place.offset;
  at.frames.resize(1);
}
} // namespace

std::string Located::name_of(const symbol::Frame& frame) const {
  return frame.function.empty() ? fmt::format("{}+{:#x}", short_path(module), address) : frame.function;
}

std::string Located::source() const {
  const symbol::Frame& innermost = frames.front();
  return innermost.line > 0 ? fmt::format("{}:{}", short_path(innermost.file), innermost.line)
                            : std::string();
}

std::string short_path(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

Naming name_places(const Places& places, Files& files, const NamingOptions& options) {
  Naming naming;
  naming.places.resize(places.places().size());
  std::map<std::uint32_t, Indices> by_file;
  Indices kernel;
  for (std::size_t i = 0; i < places.places().size(); ++i) {
    const Place& place = places.places()[i];
    if (place.kind == Kind::file)
      by_file[place.file].push_back(i);
    else if (place.kind == Kind::kernel)
      kernel.push_back(i);
    else
      name_other(places, i, naming);
  }
  for (const auto& [file, which] : by_file)
    name_file(places, which, files, options, naming);
  if (!kernel.empty()) name_kernel(places, kernel, naming);
  return naming;
}

} // namespace recount::profile
