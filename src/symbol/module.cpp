#include "symbol/module.hpp"

#include "symbol/elf_file.hpp"
#include "symbol/scopes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <dwarf.h>
#include <filesystem>
#include <fnmatch.h>
#include <list>
#include <set>

namespace recount::symbol {
namespace {
constexpr std::size_t most_scopes_kept =
    64; ///< units whose functions are kept; about a megabyte each at most

bool pattern(const std::string& text) {
  return text.find_first_of("*?[") != std::string::npos;
}

/// Whether a name given by the user denotes this function.
bool means(const std::string& wanted, const std::string& linkage, const std::string& demangled) {
  const bool glob = pattern(wanted);
  const auto same = [&](const std::string& name) {
    return glob ? ::fnmatch(wanted.c_str(), name.c_str(), 0) == 0 : name == wanted;
  };
  return same(linkage) || same(demangled) || same(base_name(demangled));
}

/// A path as a unit's line table has it: where it is relative, it is so to where the compiler ran.
std::string source_path(Unit& unit, const char* path) {
  if (path[0] == '/') return path;
  Dwarf_Attribute attribute;
  const char* const folder =
      dwarf_attr(&unit.skeleton, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : nullptr;
  return folder ? (std::filesystem::path(folder) / path).lexically_normal().string() : path;
}

bool cold_part(std::string_view linkage) {
  return linkage.find(".cold") != std::string_view::npos;
}
} // namespace

struct Module::State {
  State(process::Fd fd, const std::string& path, const std::string& debug_path)
      : file(std::move(fd), path, debug_path), symbols(file), dwarf(file.dwarf(bias)), units(dwarf) {}

  Dwarf_Addr bias = 0;
  ElfFile file;
  SymbolTable symbols;
  Dwarf* dwarf;
  Units units;
  std::list<std::pair<std::size_t, Scopes>> scopes; ///< of recently used units, latest first

  const Scopes& scopes_of(std::size_t unit);
  [[nodiscard]] std::vector<Named> named(const std::string& name, bool function) const;
  static void set_line(Frame& frame, Unit& unit, std::uint64_t address);
  static void set_call(Frame& frame, Unit& unit, Dwarf_Die& inlined);
};

const Scopes& Module::State::scopes_of(std::size_t unit) {
  const auto known = std::ranges::find(scopes, unit, &std::pair<std::size_t, Scopes>::first);
  if (known != scopes.end()) {
    scopes.splice(scopes.begin(), scopes, known);
  } else {
    scopes.emplace_front(unit, Scopes(units.all()[unit]));
    if (scopes.size() > most_scopes_kept) scopes.pop_back();
  }
  return scopes.front().second;
}

void Module::State::set_line(Frame& frame, Unit& unit, std::uint64_t address) {
  Dwarf_Line* const line = dwarf_getsrc_die(&unit.skeleton, address);
  const char* const source = line ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
  if (!source || dwarf_lineno(line, &frame.line) != 0) return;
  frame.file = source_path(unit, source);
}

/// The place of the call that was inlined: where the next outer frame is.
void Module::State::set_call(Frame& frame, Unit& unit, Dwarf_Die& inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0, line = 0;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (!dwarf_attr(&inlined, DW_AT_call_file, &attribute) || dwarf_formudata(&attribute, &file) != 0 ||
      !dwarf_attr(&inlined, DW_AT_call_line, &attribute) || dwarf_formudata(&attribute, &line) != 0 ||
      dwarf_getsrcfiles(&unit.skeleton, &files, &count) != 0 || file >= count)
    return;
  const char* const source = dwarf_filesrc(files, file, nullptr, nullptr);
  if (!source) return;
  frame.file = source_path(unit, source);
  frame.line = static_cast<int>(std::min<Dwarf_Word>(line, 1U << 30));
}

Module::Module(process::Fd fd, const std::string& path, const std::string& debug_path)
    : state_(std::make_unique<State>(std::move(fd), path, debug_path)) {}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

std::span<const unsigned char> Module::build_id() const {
  return state_->file.build_id();
}
std::optional<std::uint64_t> Module::address(std::uint64_t offset) const {
  return state_->file.address(offset);
}
std::optional<std::uint64_t> Module::offset(std::uint64_t address) const {
  return state_->file.offset(address);
}
std::uint64_t Module::end() const {
  return state_->file.end();
}
std::vector<unsigned char> Module::bytes(std::uint64_t address, std::size_t size) const {
  return state_->file.bytes(address, size);
}
int Module::machine() const {
  return state_->file.machine();
}
bool Module::is_go() const {
  return state_->file.has_section(".gopclntab") || state_->file.has_section(".note.go.buildid");
}

std::vector<Frame> Module::frames(std::uint64_t address) {
  State& s = *state_;
  const ElfSymbol* const symbol = s.symbols.find(address);
  const std::uint64_t at = address - s.bias;
  const auto unit = s.units.find(at);
  std::vector<Frame> frames(1);
  if (unit) {
    Unit& its = s.units.all()[*unit];
    s.set_line(frames[0], its, at);
    for (Scope& scope : std::vector(s.scopes_of(*unit).at(at))) {
      frames.back().function = name_of(scope.die);
      if (!scope.inlined) break;
      frames.back().inlined = true;
      s.set_call(frames.emplace_back(), its, scope.die);
    }
  }
  if (symbol) frames.back().function = demangle(symbol->name); // includes the clone suffix
  return frames;
}

std::optional<Named> Module::function(std::uint64_t address) {
  State& s = *state_;
  if (const ElfSymbol* const symbol = s.symbols.find(address))
    return Named{demangle(symbol->name), symbol->name, symbol->start, symbol->end, symbol->indirect};
  const std::uint64_t at = address - s.bias;
  const auto unit = s.units.find(at);
  if (!unit) return {};
  const auto scopes = s.scopes_of(*unit).at(at);
  if (scopes.empty() || scopes.back().depth != 0) return {};
  Scope outer = scopes.back();
  const std::string name = name_of(outer.die);
  return Named{name, name, outer.low + s.bias, outer.high + s.bias};
}

std::vector<Named> Module::State::named(const std::string& name, bool function) const {
  std::vector<Named> found;
  for (const ElfSymbol& symbol : symbols.all()) {
    if (symbol.function != function || (function && cold_part(symbol.name))) continue;
    if (!found.empty() && found.back().start == symbol.start) continue; // another name of the same
    const std::string demangled = demangle(symbol.name);
    if (means(name, symbol.name, demangled))
      found.push_back({demangled, symbol.name, symbol.start, symbol.end, symbol.indirect});
  }
  return found;
}

std::vector<Named> Module::functions(const std::string& name) const {
  return state_->named(name, true);
}
std::vector<Named> Module::parts(const Named& function) const {
  std::vector<Named> all{function};
  const std::string cold = function.linkage + ".cold";
  for (const ElfSymbol& symbol : state_->symbols.all()) {
    const std::string_view name = symbol.name; // "f.cold", of older compilers "f.cold.1"
    if (symbol.function && name.starts_with(cold) && (name.size() == cold.size() || name[cold.size()] == '.'))
      all.push_back({function.name, symbol.name, symbol.start, symbol.end, false});
  }
  return all;
}
std::vector<Named> Module::variables(const std::string& name) const {
  return state_->named(name, false);
}

std::optional<std::size_t> Module::inlined(const std::string& name) {
  constexpr std::size_t most_units = 4000;
  State& s = *state_;
  if (!s.dwarf || s.units.all().size() > most_units) return {};
  std::size_t count = 0;
  for (Unit& unit : s.units.all()) {
    const Scopes scopes(unit);
    std::set<Dwarf_Off> calls; // one call can be in several ranges, each of which is a scope
    for (Scope scope : scopes.all()) {
      if (!scope.inlined || !calls.insert(dwarf_dieoffset(&scope.die)).second) continue;
      const std::string its = name_of(scope.die);
      count += means(name, its, its) ? 1U : 0U;
    }
  }
  return count;
}

std::string Module::lacks() const {
  const State& s = *state_;
  if (s.dwarf) return {};
  std::string text = s.symbols.all().empty() ? "no symbols and no debug information"
                     : s.symbols.dynamic_only()
                         ? "stripped: only exported functions have names; lines are unknown"
                         : "no debug information: lines are unknown";
  std::string id;
  for (const unsigned char byte : s.file.build_id())
    id += fmt::format("{:02x}", byte);
  if (!id.empty()) text += " (no debug file for build id " + id + ")";
  return text;
}

} // namespace recount::symbol
