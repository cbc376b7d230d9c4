#include "symbol/symbol_table.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace recount::symbol {
namespace {
constexpr int most_symbols = 8'000'000; ///< of what a file may state

bool executable(Elf* elf, GElf_Word index, std::uint64_t& end) {
  GElf_Shdr header;
  if (!elf || !gelf_getshdr(elf_getscn(elf, index), &header)) return false;
  end = header.sh_addr + header.sh_size;
  return (header.sh_flags & SHF_EXECINSTR) != 0;
}

/// Of the names at one address, prefer the global one with the fewest leading underscores.
unsigned char rank_of(const GElf_Sym& symbol, const char* name) {
  const unsigned binding = GELF_ST_BIND(symbol.st_info);
  const unsigned scope = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
  const bool c_plus_plus = name[0] == '_' && name[1] == 'Z';
  const unsigned underscores =
      c_plus_plus ? 0 : static_cast<unsigned>(std::min<std::size_t>(std::strspn(name, "_"), 3));
  return static_cast<unsigned char>((symbol.st_size == 0 ? 64U : 0U) + scope * 4 + underscores);
}

bool wanted_name(const char* name) {
  return name && name[0] != '\0' && name[0] != '$' &&
         std::strncmp(name, ".L", 2) != 0; // "$x": what follows is code
}

bool has_symtab(const ElfFile& file) {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(file.module(), &bias);
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB) return true;
  }
  return false;
}
} // namespace

SymbolTable::SymbolTable(const ElfFile& file) {
  const int count = std::min(dwfl_module_getsymtab(file.module()), most_symbols);
  bool debug_file = false;
  GElf_Addr main_bias = 0;
  const Elf* const main = dwfl_module_getelf(file.module(), &main_bias);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0, bias = 0;
    GElf_Word section = 0;
    Elf* elf = nullptr;
    const char* const name =
        dwfl_module_getsym_info(file.module(), i, &symbol, &address, &section, &elf, &bias);
    if (!wanted_name(name) || section == SHN_UNDEF || section >= SHN_LORESERVE) continue;
    debug_file = debug_file || elf != main;
    const unsigned type = GELF_ST_TYPE(symbol.st_info);
    std::uint64_t section_end = 0;
    const bool code = executable(elf, section, section_end);
    const bool function = code && (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
    if (!function && type != STT_OBJECT) continue;
    const std::uint64_t size = std::min(symbol.st_size, ~std::uint64_t{0} - address);
    symbols_.push_back(
        {address, address + size, name, function, type == STT_GNU_IFUNC, rank_of(symbol, name)});
  }
  dynamic_only_ = !debug_file && !has_symtab(file);
  std::ranges::sort(symbols_, [](const ElfSymbol& a, const ElfSymbol& b) {
    return std::tuple(a.start, a.rank, std::string_view(a.name)) <
           std::tuple(b.start, b.rank, std::string_view(b.name));
  });
  choose();
}

void SymbolTable::choose() {
  std::uint64_t covered = 0; // by functions with a size
  for (std::uint32_t i = 0; i < symbols_.size(); ++i) {
    const ElfSymbol& s = symbols_[i];
    const bool sized = s.end > s.start;
    if (!s.function || (!sized && s.start < covered)) continue;
    if (!shown_.empty() && symbols_[shown_.back()].start == s.start) continue;
    shown_.push_back(i);
    if (sized) covered = std::max(covered, s.end);
  }
  for (std::size_t i = 0; i + 1 < shown_.size();
       ++i) { // hand-written code without a size goes up to the next
    ElfSymbol& s = symbols_[shown_[i]];
    if (s.end == s.start) s.end = symbols_[shown_[i + 1]].start;
  }
}

const ElfSymbol* SymbolTable::find(std::uint64_t address) const {
  auto at = std::ranges::upper_bound(shown_, address, {}, [&](std::uint32_t i) { return symbols_[i].start; });
  // A function may lie within another's bounds: look at a few before it.
  for (int tries = 0; tries < 8 && at != shown_.begin(); ++tries) {
    const ElfSymbol& s = symbols_[*--at];
    if (address < s.end) return &s;
    if (s.end == s.start && tries == 0) return &s; // the last one, without a size
  }
  return nullptr;
}

} // namespace recount::symbol
