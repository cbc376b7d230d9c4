#include "count/symbol/module.hpp"

#include "base/process/child.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <link.h>
#include <map>
#include <recount/error.hpp>
#include <set>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

// The demanglers of libiberty; <libiberty/demangle.h> declares a basename() that clashes with that of
// <cstring>.
extern "C" {
using DemangledPart = void (*)(const char* text, std::size_t size, void* opaque);
int cplus_demangle_v3_callback(const char* mangled, int options, DemangledPart part, void* opaque);
int rust_demangle_callback(const char* mangled, int options, DemangledPart part, void* opaque);
}

namespace recount::symbol {

namespace {
constexpr std::size_t longest_name = 4096; ///< of the linkage name, and of its text
constexpr int with_parameters = 1 | 2;     ///< DMGL_PARAMS | DMGL_ANSI of libiberty

struct DemangledText {
  char text[longest_name];
  std::size_t size = 0;
  std::jmp_buf too_long;
};

void add_part(const char* text, std::size_t size, void* opaque) {
  auto& demangled = *static_cast<DemangledText*>(opaque);
  // A few bytes can expand to gigabytes.
  if (size > longest_name - demangled.size) std::longjmp(demangled.too_long, 1);
  std::memcpy(demangled.text + demangled.size, text, size);
  demangled.size += size;
}

/// Separate, so that no object with a destructor is in the frame of setjmp; with a callback the
/// demanglers allocate nothing.
bool demangle_into(DemangledText& demangled, const char* name) {
  if (setjmp(demangled.too_long) != 0) return false;
  if (rust_demangle_callback(name, 0, add_part, &demangled) != 0) return true;
  demangled.size = 0;
  return cplus_demangle_v3_callback(name, with_parameters, add_part, &demangled) != 0;
}

/// Position of the opening parenthesis whose partner ends the text; npos: none.
std::size_t parameters(const std::string& text) {
  std::size_t depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return std::string::npos;
}

/// Past the last blank outside brackets: the text before it is a return type. The name of an
/// operator may contain anything ("operator new", "operator<", "operator int").
std::size_t past_return_type(const std::string& text) {
  constexpr std::string_view opening = "<([{", closing = ">)]}";
  const std::size_t end = std::min(text.find("operator"), text.size());
  std::size_t depth = 0, past = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (opening.find(text[i]) != opening.npos) ++depth;
    if (closing.find(text[i]) != closing.npos && depth > 0) --depth;
    if (text[i] == ' ' && depth == 0) past = i + 1;
  }
  return past;
}
} // namespace

std::string demangle(const char* name) {
  const std::size_t size = strnlen(name, longest_name + 1);
  DemangledText demangled;
  const bool mangled = size > 2 && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
  if (!mangled || size > longest_name || !demangle_into(demangled, name)) return {name, size};
  return {demangled.text, demangled.size};
}

std::string base_name(const std::string& demangled) {
  std::string text = demangled.substr(0, demangled.find(" [clone "));
  for (const char* const qualifier : {" const", " volatile", " &&", " &"})
    if (text.ends_with(qualifier)) text.resize(text.size() - std::strlen(qualifier));
  if (text.ends_with(')') && !text.ends_with("operator()"))
    if (const auto at = parameters(text); at != std::string::npos && at > 0) text.resize(at);
  return text.substr(past_return_type(text));
}

bool denotes(const std::string& pattern, const std::string& demangled) {
  const bool glob = pattern.find_first_of("*?[") != std::string::npos;
  const auto matches = [&](const std::string& name) {
    return name == pattern || (glob && ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0);
  };
  return matches(demangled) || matches(base_name(demangled));
}

namespace {

/// A symbol; its name is in the memory of the ELF file.
struct ElfSymbol {
  std::uint64_t start = 0, end = 0; ///< end == start: size unknown and nothing follows
  const char* name = "";
  bool function = true, indirect = false;
  unsigned char rank = 0; ///< of several at one address, the lowest is shown

  [[nodiscard]] Named named() const { return {demangle(name), name, start, end, indirect}; }
};

bool is_executable(Elf* elf, GElf_Word section) {
  GElf_Shdr header;
  return elf && gelf_getshdr(elf_getscn(elf, section), &header) && (header.sh_flags & SHF_EXECINSTR) != 0;
}

/// Of the names at one address, prefer the global one with the fewest leading underscores.
unsigned char rank_symbol(const GElf_Sym& symbol, const char* name) {
  const unsigned binding = GELF_ST_BIND(symbol.st_info);
  const unsigned scope = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
  const unsigned underscores =
      std::string_view(name).starts_with("_Z") ? 0U : std::min(unsigned(std::strspn(name, "_")), 3U);
  return static_cast<unsigned char>((symbol.st_size == 0 ? 64U : 0U) + scope * 4 + underscores);
}

/// Not a mapping symbol ("$x": code follows) nor a local label of the assembler.
bool is_source_name(const char* name) {
  return name && name[0] != '\0' && name[0] != '$' && !std::string_view(name).starts_with(".L");
}

constexpr int max_enclosing = 8; ///< ranges before an address that are tried, as they may be nested

/// Taken by libdwfl from .symtab, from that of the debug file, from the compressed one of .gnu_debugdata,
/// else from .dynsym. Immutable.
class SymbolTable {
public:
  explicit SymbolTable(Dwfl_Module* module) {
    constexpr int max_symbols = 8'000'000; // files are not trusted
    const int count = std::min(dwfl_module_getsymtab(module), max_symbols);
    for (int i = 1; i < count; ++i) {
      GElf_Sym symbol;
      GElf_Addr address = 0, bias = 0;
      GElf_Word section = 0;
      Elf* elf = nullptr;
      const char* const name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, &elf, &bias);
      if (!is_source_name(name) || section == SHN_UNDEF || section >= SHN_LORESERVE) continue;
      const unsigned type = GELF_ST_TYPE(symbol.st_info);
      const bool function =
          (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) && is_executable(elf, section);
      if (!function && type != STT_OBJECT) continue;
      const std::uint64_t size = std::min(symbol.st_size, ~std::uint64_t{0} - address);
      symbols_.push_back(
          {address, address + size, name, function, type == STT_GNU_IFUNC, rank_symbol(symbol, name)});
    }
    std::ranges::sort(symbols_, {}, [](const ElfSymbol& s) {
      return std::tuple(s.start, s.rank, std::string_view(s.name));
    });
    choose_shown();
  }
  /// The function that covers an address; null when there is none.
  [[nodiscard]] const ElfSymbol* find(std::uint64_t address) const {
    auto at =
        std::ranges::upper_bound(shown_, address, {}, [&](std::uint32_t i) { return symbols_[i].start; });
    for (int tries = 0; tries < max_enclosing && at != shown_.begin(); ++tries) {
      const ElfSymbol& s = symbols_[*--at];
      const bool last_without_size = s.end == s.start && tries == 0;
      if (address < s.end || last_without_size) return &s;
    }
    return nullptr;
  }
  /// All, aliases included, in order of (start, rank).
  [[nodiscard]] const std::vector<ElfSymbol>& all() const noexcept { return symbols_; }

private:
  void choose_shown() {
    std::uint64_t covered = 0; // by functions with a size
    for (std::uint32_t i = 0; i < symbols_.size(); ++i) {
      const ElfSymbol& s = symbols_[i];
      const bool sized = s.end > s.start;
      if (!s.function || (!sized && s.start < covered)) continue;
      if (!shown_.empty() && symbols_[shown_.back()].start == s.start) continue;
      shown_.push_back(i);
      if (sized) covered = std::max(covered, s.end);
    }
    // Assembly code without a size extends to the next function.
    for (std::size_t i = 0; i + 1 < shown_.size(); ++i) {
      ElfSymbol& s = symbols_[shown_[i]];
      if (s.end == s.start) s.end = symbols_[shown_[i + 1]].start;
    }
  }
  std::vector<ElfSymbol> symbols_;
  std::vector<std::uint32_t> shown_; ///< functions, one at each start, none without a size inside another
};

/// Calls `add` with each address range of an entry until it returns false.
template <class Add>
void each_range(Dwarf_Die& die, const Add& add) {
  Dwarf_Addr base = 0, low = 0, high = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;)
    if (low < high && !add(low, high)) return;
}

/// A compilation unit: `skeleton` holds its lines, `die` its functions (they differ with split DWARF only).
struct Unit {
  Dwarf_Die skeleton{}, die{};
};

/// The compilation units of the debug information, by their DW_AT_ranges: .debug_aranges is often missing.
class Units {
public:
  explicit Units(Dwarf* dwarf) {
    constexpr std::size_t max_ranges = 16'000'000;
    Dwarf_CU* unit = nullptr;
    std::uint8_t type = 0;
    Unit now;
    while (dwarf && dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &now.skeleton, &now.die) == 0) {
      if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
      if (type == DW_UT_compile || dwarf_tag(&now.die) == DW_TAG_invalid) now.die = now.skeleton;
      each_range(now.skeleton, [&](Dwarf_Addr low, Dwarf_Addr high) {
        ranges_.push_back({low, high, static_cast<std::uint32_t>(units_.size())});
        return ranges_.size() < max_ranges;
      });
      units_.push_back(now);
    }
    std::ranges::sort(ranges_, {}, &Range::low);
  }
  /// Number of the unit that covers an address of the debug information, or none.
  [[nodiscard]] std::optional<std::size_t> find(std::uint64_t address) const {
    auto at = std::ranges::upper_bound(ranges_, address, {}, &Range::low);
    for (int tries = 0; tries < max_enclosing && at != ranges_.begin(); ++tries)
      if (address < (--at)->high) return at->unit;
    return {};
  }
  [[nodiscard]] std::vector<Unit>& all() noexcept { return units_; }

private:
  struct Range {
    std::uint64_t low, high;
    std::uint32_t unit;
  };
  std::vector<Unit> units_;
  std::vector<Range> ranges_;
};

/// A function's code, or the code of one that was inlined there.
struct Scope {
  std::uint64_t low = 0, high = 0;
  std::uint32_t depth = 0; ///< of inlining: 0 for the function itself
  Dwarf_Die die{};
};

/// The functions of one compilation unit, and what was inlined into them. One walk over the unit instead of
/// one for each address, as dwarf_getscopes() needs.
class Scopes {
public:
  explicit Scopes(Unit& unit) {
    walk(unit.die, 0, 0);
    std::ranges::sort(scopes_, {}, [](const Scope& s) { return std::tuple(s.low, s.depth); });
  }
  /// Those that cover an address of the debug information, innermost first, the function itself last.
  [[nodiscard]] std::vector<Scope> at(std::uint64_t address) const {
    std::vector<Scope> found;
    // Back to the function itself; its inlined parts begin after it, but a hot function may be split.
    for (auto it = std::ranges::upper_bound(scopes_, address, {}, &Scope::low); it != scopes_.begin();) {
      --it;
      if (address < it->high) found.push_back(*it);
      if (it->depth == 0) break;
    }
    std::ranges::stable_sort(found, std::ranges::greater(), &Scope::depth);
    return found;
  }
  /// All, in order of address, outer before inner.
  [[nodiscard]] const std::vector<Scope>& all() const noexcept { return scopes_; }

private:
  static constexpr std::size_t max_scopes = 4'000'000; // files are not trusted
  void walk(Dwarf_Die& parent, std::uint32_t depth, int nesting) {
    constexpr int max_nesting = 200;
    Dwarf_Die die;
    if (nesting > max_nesting || dwarf_child(&parent, &die) != 0) return;
    do {
      switch (const int tag = dwarf_tag(&die)) {
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine: {
        const std::uint32_t inlining = tag == DW_TAG_subprogram ? 0 : depth;
        each_range(die, [&](Dwarf_Addr low, Dwarf_Addr high) {
          scopes_.push_back({low, high, inlining, die});
          return scopes_.size() < max_scopes;
        });
        walk(die, inlining + 1, nesting + 1);
        break;
      }
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_module:
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block: walk(die, depth, nesting + 1); break;
      default: break;
      }
    } while (scopes_.size() < max_scopes && dwarf_siblingof(&die, &die) == 0);
  }
  std::vector<Scope> scopes_;
};

/// The name of a function's entry, demangled; empty: none.
std::string function_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name})
    if (dwarf_attr_integrate(&die, name, &attribute))
      if (const char* const text = dwarf_formstring(&attribute)) return demangle(text);
  return {};
}

bool is_inlined(Scope& scope) {
  return dwarf_tag(&scope.die) == DW_TAG_inlined_subroutine;
}

/// Relative paths of a line table start at the directory of the compiler.
std::string source_path(Unit& unit, const char* path) {
  Dwarf_Attribute attribute;
  const char* const folder =
      dwarf_attr(&unit.skeleton, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : nullptr;
  if (path[0] == '/' || !folder) return path;
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

void set_line(Frame& frame, Unit& unit, std::uint64_t address) {
  Dwarf_Line* const line = dwarf_getsrc_die(&unit.skeleton, address);
  const char* const source = line ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
  if (!source || dwarf_lineno(line, &frame.line) != 0) return;
  frame.file = source_path(unit, source);
}

/// The location of an inlined call, which is in the next outer frame.
void set_call(Frame& frame, Unit& unit, Dwarf_Die& inlined) {
  const auto number = [&](unsigned name, Dwarf_Word& value) {
    Dwarf_Attribute attribute;
    return dwarf_attr(&inlined, name, &attribute) && dwarf_formudata(&attribute, &value) == 0;
  };
  Dwarf_Word file = 0, line = 0;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (!number(DW_AT_call_file, file) || !number(DW_AT_call_line, line) ||
      dwarf_getsrcfiles(&unit.skeleton, &files, &count) != 0 || file >= count)
    return;
  const char* const source = dwarf_filesrc(files, file, nullptr, nullptr);
  if (!source) return;
  frame.file = source_path(unit, source);
  frame.line = static_cast<int>(std::min<Dwarf_Word>(line, 1U << 30));
}

Error not_a_program(const std::string& path, const char* cause = dwfl_errmsg(-1)) {
  return bad_input(path,
                   std::string("is not a program or shared library: ") + (cause ? cause : "not an ELF file"));
}

class ElfModule final : public Module {
public:
  ElfModule(process::Fd fd, const std::string& path, const std::string& debug_path)
      : path_(path),
        debug_path_("+:.debug:/usr/lib/debug" + (debug_path.empty() ? "" : ":" + debug_path)),
        debug_path_pointer_(debug_path_.data()) {
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
      throw not_a_program(path, "not a file");
    // recount supplies the file; libdwfl must not search for it.
    callbacks_.find_elf = [](Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; };
    callbacks_.find_debuginfo = dwfl_standard_find_debuginfo;
    callbacks_.section_address = dwfl_offline_section_address;
    callbacks_.debuginfo_path = &debug_path_pointer_;
    dwfl_.reset(dwfl_begin(&callbacks_));
    if (!dwfl_) throw not_a_program(path);
    dwfl_report_begin(dwfl_.get());
    // At the addresses in the file: the bias is 0.
    module_ = dwfl_report_elf(dwfl_.get(), path.c_str(), path.c_str(), fd.get(), 0, true);
    if (!module_) throw not_a_program(path);
    static_cast<void>(fd.release()); // libdwfl closes it
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    read_segments();
  }

  [[nodiscard]] std::span<const unsigned char> build_id() const override {
    const unsigned char* bits = nullptr;
    GElf_Addr where = 0;
    const int size = dwfl_module_build_id(module_, &bits, &where);
    return size > 0 ? std::span(bits, static_cast<std::size_t>(size)) : std::span<const unsigned char>{};
  }

  [[nodiscard]] std::optional<std::uint64_t> address(std::uint64_t offset) const override {
    for (const Segment& s : segments_)
      if (offset >= s.offset && offset - s.offset < s.size) return s.address + (offset - s.offset);
    // Mappings begin at a page boundary, segments need not.
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    for (const Segment& s : segments_)
      if (offset < s.offset && s.offset - offset < page) return s.address - (s.offset - offset);
    return {};
  }

  [[nodiscard]] std::optional<std::uint64_t> offset(std::uint64_t address) const override {
    for (const Segment& s : segments_)
      if (address >= s.address && address - s.address < s.size) return s.offset + (address - s.address);
    return {};
  }
  [[nodiscard]] std::uint64_t end() const override { return end_; }
  [[nodiscard]] std::uint64_t entry() const override { return entry_; }
  [[nodiscard]] std::string interpreter() const override { return interpreter_; }

  [[nodiscard]] std::vector<Frame> frames(std::uint64_t address) override {
    std::vector<Frame> frames(1);
    const std::uint64_t at = address - debug().bias;
    if (const auto number = debug().units.find(at)) {
      Unit& unit = debug().units.all()[*number];
      set_line(frames[0], unit, at);
      for (Scope& scope : debug().scopes_of_unit(*number).at(at)) {
        frames.back().function = function_name(scope.die);
        if (!is_inlined(scope)) break;
        frames.back().inlined = true;
        set_call(frames.emplace_back(), unit, scope.die);
      }
    }
    // The symbol's name includes the suffix of a clone.
    if (const ElfSymbol* const symbol = symbols().find(address))
      frames.back().function = demangle(symbol->name);
    return frames;
  }

  [[nodiscard]] std::optional<Named> function(std::uint64_t address) override {
    if (const ElfSymbol* const symbol = symbols().find(address)) return symbol->named();
    const std::uint64_t at = address - debug().bias;
    const auto unit = debug().units.find(at);
    if (!unit) return {};
    auto scopes = debug().scopes_of_unit(*unit).at(at);
    if (scopes.empty() || scopes.back().depth != 0) return {};
    Scope& outer = scopes.back();
    const std::string name = function_name(outer.die);
    return Named{name, name, outer.low + debug().bias, outer.high + debug().bias};
  }
  [[nodiscard]] std::vector<Named> functions(const std::string& name) override { return named(name, true); }

  [[nodiscard]] std::vector<Named> parts(const Named& function) override {
    std::vector<Named> all{function};
    const std::string cold = function.linkage + ".cold"; // of older compilers "f.cold.1"
    for (const ElfSymbol& symbol : symbols().all()) {
      const std::string_view name = symbol.name;
      if (symbol.function && name.starts_with(cold) &&
          (name.size() == cold.size() || name[cold.size()] == '.'))
        all.push_back({function.name, symbol.name, symbol.start, symbol.end, false});
    }
    return all;
  }
  [[nodiscard]] std::vector<Named> variables(const std::string& name) override { return named(name, false); }

  [[nodiscard]] std::optional<std::size_t> inlined(const std::string& name) override {
    constexpr std::size_t max_units = 4000;
    auto& units = debug().units.all();
    if (!debug().dwarf || units.size() > max_units) return {};
    std::size_t count = 0;
    for (Unit& unit : units) {
      std::set<Dwarf_Off> calls; // one call can be in several ranges, each of which is a scope
      const Scopes scopes(unit);
      for (Scope scope : scopes.all())
        if (is_inlined(scope) && calls.insert(dwarf_dieoffset(&scope.die)).second &&
            denotes(name, function_name(scope.die)))
          ++count;
    }
    return count;
  }

  [[nodiscard]] std::vector<unsigned char> bytes(std::uint64_t address, std::size_t size) const override {
    for (const Segment& s : segments_) {
      if (address < s.address || address - s.address >= s.size) continue;
      const std::uint64_t skip = address - s.address;
      const std::size_t length = std::min<std::uint64_t>(size, s.size - skip);
      const Elf_Data* const data =
          elf_getdata_rawchunk(elf(), static_cast<int64_t>(s.offset + skip), length, ELF_T_BYTE);
      if (!data || !data->d_buf) return {};
      const auto* const from = static_cast<const unsigned char*>(data->d_buf);
      return {from, from + std::min(data->d_size, length)};
    }
    return {};
  }
  [[nodiscard]] int machine() const override { return machine_; }
  [[nodiscard]] bool is_go() const override {
    return has_section(".gopclntab") || has_section(".note.go.buildid");
  }

  [[nodiscard]] std::string lacks() override {
    if (debug().dwarf) return {};
    const char* const missing = symbols().all().empty() ? "no symbols and no debug information"
                                : !has_section(".symtab")
                                    ? "stripped: only exported functions have names; lines are unknown"
                                    : "no debug information: lines are unknown";
    if (build_id().empty()) return missing;
    return fmt::format("{} (no debug file for build id {:02x})", missing, fmt::join(build_id(), ""));
  }

private:
  struct Segment {
    std::uint64_t address, offset, size; ///< size in the file
  };
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  /// The DWARF of a module, by unit. Scopes of a unit take up to a megabyte.
  struct DebugInformation {
    Dwarf_Addr bias = 0; ///< address in the file less address in the debug information
    Dwarf* dwarf;
    Units units;
    std::map<std::size_t, Scopes> scopes = {};
    explicit DebugInformation(Dwfl_Module* module)
        : dwarf(dwfl_module_getdwarf(module, &bias)), units(dwarf) {}

    const Scopes& scopes_of_unit(std::size_t unit) {
      constexpr std::size_t max_kept = 64;
      if (scopes.size() >= max_kept && !scopes.contains(unit)) scopes.clear();
      return scopes.try_emplace(unit, units.all()[unit]).first->second;
    }
  };

  [[nodiscard]] Elf* elf() const {
    GElf_Addr bias = 0;
    return dwfl_module_getelf(module_, &bias);
  }

  void read_segments() {
    constexpr std::size_t max_segments = 4096;
    GElf_Ehdr header;
    std::size_t count = 0;
    if (!elf() || !gelf_getehdr(elf(), &header) || elf_getphdrnum(elf(), &count) != 0)
      throw not_a_program(path_);
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
      throw not_a_program(path_, "a different type of ELF file");
    machine_ = header.e_machine;
    entry_ = header.e_entry;
    for (std::size_t i = 0; i < std::min(count, max_segments); ++i) {
      GElf_Phdr program;
      if (!gelf_getphdr(elf(), static_cast<int>(i), &program)) break;
      if (program.p_type == PT_LOAD) {
        segments_.push_back({program.p_vaddr, program.p_offset, program.p_filesz});
        end_ = std::max(end_, program.p_vaddr + std::min(program.p_memsz, ~program.p_vaddr));
      } else if (program.p_type == PT_INTERP && program.p_filesz <= PATH_MAX) {
        const Elf_Data* const name =
            elf_getdata_rawchunk(elf(), static_cast<int64_t>(program.p_offset), program.p_filesz, ELF_T_BYTE);
        if (name && name->d_buf)
          interpreter_.assign(static_cast<const char*>(name->d_buf),
                              strnlen(static_cast<const char*>(name->d_buf), name->d_size));
      }
    }
  }

  [[nodiscard]] bool has_section(std::string_view name) const {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf(), &names) != 0) return false;
    for (Elf_Scn* section = elf_nextscn(elf(), nullptr); section; section = elf_nextscn(elf(), section)) {
      GElf_Shdr header;
      if (!gelf_getshdr(section, &header)) continue;
      const char* const text = elf_strptr(elf(), names, header.sh_name);
      if (text && text == name) return true;
    }
    return false;
  }
  [[nodiscard]] const SymbolTable& symbols() { return symbols_ ? *symbols_ : symbols_.emplace(module_); }
  [[nodiscard]] DebugInformation& debug() { return debug_ ? *debug_ : debug_.emplace(module_); }

  [[nodiscard]] std::vector<Named> named(const std::string& name, bool function) {
    std::vector<Named> found;
    for (const ElfSymbol& symbol : symbols().all()) {
      const bool cold = std::string_view(symbol.name).find(".cold") != std::string_view::npos;
      if (symbol.function != function || (function && cold)) continue;
      if (!found.empty() && found.back().start == symbol.start) continue; // an alias
      Named candidate = symbol.named();
      if (denotes(name, candidate.name) || denotes(name, candidate.linkage))
        found.push_back(std::move(candidate));
    }
    return found;
  }

  std::string path_, debug_path_;
  char* debug_path_pointer_; ///< libdwfl keeps the address of this
  Dwfl_Callbacks callbacks_{};
  std::unique_ptr<Dwfl, End> dwfl_;
  Dwfl_Module* module_ = nullptr;
  std::vector<Segment> segments_;
  int machine_ = 0;
  std::uint64_t end_ = 0, entry_ = 0;
  std::string interpreter_;
  std::optional<SymbolTable> symbols_;
  std::optional<DebugInformation> debug_;
};

} // namespace

std::unique_ptr<Module> open_module(process::Fd fd, const std::string& path, const std::string& debug_path) {
  return std::make_unique<ElfModule>(std::move(fd), path, debug_path);
}

process::Fd vdso_file() {
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(getauxval(AT_SYSINFO_EHDR));
  if (!header) return {};
  // The section headers are the last part of the image.
  const std::size_t size = header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
  return process::text_file({reinterpret_cast<const char*>(header), size});
}

std::unique_ptr<Module> vdso(const std::string& debug_path) {
  try {
    auto file = vdso_file();
    return file ? open_module(std::move(file), "[vdso]", debug_path) : nullptr;
  } catch (const Error&) {
    return {};
  }
}

std::uint64_t entry_to_main(const std::string& file) {
  try {
    const auto module = open_module(process::Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)), file);
    if (module->entry() == 0 || !module->interpreter().empty()) return 0;
    const auto found = module->functions("main");
    return found.size() == 1 ? found.front().start - module->entry() : 0;
  } catch (const Error&) { // no program
    return 0;
  }
}

} // namespace recount::symbol
