#include "symbol/elf_file.hpp"

#include <recount/error.hpp>

#include <dwarf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace recount::symbol {
namespace {
std::string words_of_dwfl() {
  const char* const said = dwfl_errmsg(-1);
  return said ? said : "not an ELF file";
}

Error no_program(const std::string& path, const std::string& why) {
  return bad_input(path, "is not a program or shared library: " + why);
}

/// recount supplies the file; libdwfl must not search for it.
int find_no_elf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) {
  return -1;
}
} // namespace

ElfFile::ElfFile(process::Fd fd, const std::string& path, const std::string& debug_path)
    : path_(path),
      debug_path_("+:.debug:/usr/lib/debug" + (debug_path.empty() ? "" : ":" + debug_path)),
      debug_path_pointer_(debug_path_.data()),
      callbacks_(std::make_unique<Dwfl_Callbacks>()) {
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw no_program(path, "not a file");
  callbacks_->find_elf = find_no_elf;
  callbacks_->find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks_->section_address = dwfl_offline_section_address;
  callbacks_->debuginfo_path = &debug_path_pointer_;
  dwfl_.reset(dwfl_begin(callbacks_.get()));
  if (!dwfl_) throw no_program(path, words_of_dwfl());
  dwfl_report_begin(dwfl_.get());
  // At the addresses that the file states: the bias is 0.
  module_ = dwfl_report_elf(dwfl_.get(), path.c_str(), path.c_str(), fd.get(), 0, true);
  if (!module_) throw no_program(path, words_of_dwfl());
  static_cast<void>(fd.release()); // libdwfl closes it
  dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module_, &bias);
  if (!elf) throw no_program(path, words_of_dwfl());
  read_segments(elf);
}

void ElfFile::read_segments(Elf* elf) {
  GElf_Ehdr header;
  std::size_t count = 0;
  if (!gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &count) != 0)
    throw no_program(path_, words_of_dwfl());
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    throw no_program(path_, "a different type of ELF file");
  machine_ = header.e_machine;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 4096); ++i) {
    GElf_Phdr program;
    if (!gelf_getphdr(elf, static_cast<int>(i), &program)) break;
    if (program.p_type != PT_LOAD) continue;
    segments_.push_back({program.p_vaddr, program.p_offset, program.p_filesz});
    const std::uint64_t most = ~std::uint64_t{0} - program.p_vaddr;
    end_ = std::max(end_, program.p_vaddr + std::min(program.p_memsz, most));
  }
}

Dwarf* ElfFile::dwarf(Dwarf_Addr& bias) const {
  return dwfl_module_getdwarf(module_, &bias);
}

std::span<const unsigned char> ElfFile::build_id() const {
  const unsigned char* bits = nullptr;
  GElf_Addr where = 0;
  const int size = dwfl_module_build_id(module_, &bits, &where);
  return size > 0 ? std::span(bits, static_cast<std::size_t>(size)) : std::span<const unsigned char>{};
}

std::optional<std::uint64_t> ElfFile::address(std::uint64_t offset) const {
  for (const Segment& s : segments_)
    if (offset >= s.offset && offset - s.offset < s.size) return s.address + (offset - s.offset);
  // Mappings begin at a page boundary, segments need not.
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (const Segment& s : segments_)
    if (offset < s.offset && s.offset - offset < page) return s.address - (s.offset - offset);
  return {};
}

std::optional<std::uint64_t> ElfFile::offset(std::uint64_t address) const {
  for (const Segment& s : segments_)
    if (address >= s.address && address - s.address < s.size) return s.offset + (address - s.address);
  return {};
}

std::vector<unsigned char> ElfFile::bytes(std::uint64_t address, std::size_t size) const {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module_, &bias);
  for (const Segment& s : segments_) {
    if (address < s.address || address - s.address >= s.size) continue;
    const std::uint64_t skip = address - s.address;
    const std::size_t take = static_cast<std::size_t>(std::min<std::uint64_t>(size, s.size - skip));
    const Elf_Data* const data =
        elf_getdata_rawchunk(elf, static_cast<int64_t>(s.offset + skip), take, ELF_T_BYTE);
    if (!data || !data->d_buf) return {};
    const auto* const from = static_cast<const unsigned char*>(data->d_buf);
    return {from, from + std::min<std::size_t>(data->d_size, take)};
  }
  return {};
}

bool ElfFile::has_section(const char* name) const {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module_, &bias);
  std::size_t names = 0;
  if (!elf || elf_getshdrstrndx(elf, &names) != 0) return false;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    const char* const its = elf_strptr(elf, names, header.sh_name);
    if (its && std::strcmp(its, name) == 0) return true;
  }
  return false;
}

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

Units::Units(Dwarf* dwarf) {
  constexpr std::size_t most_ranges = 16'000'000;
  Dwarf_CU* unit = nullptr;
  std::uint8_t type = 0;
  Unit now;
  while (dwarf && dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &now.skeleton, &now.die) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    if (type == DW_UT_compile || dwarf_tag(&now.die) == DW_TAG_invalid) now.die = now.skeleton;
    Dwarf_Addr base = 0, low = 0, high = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&now.skeleton, at, &base, &low, &high)) > 0;) {
      if (ranges_.size() >= most_ranges) return;
      if (low < high) ranges_.push_back({low, high, static_cast<std::uint32_t>(units_.size())});
    }
    units_.push_back(now);
  }
  std::ranges::sort(ranges_, {}, &Range::low);
}

std::optional<std::size_t> Units::find(std::uint64_t address) const {
  auto at = std::ranges::upper_bound(ranges_, address, {}, &Range::low);
  for (int tries = 0; tries < 8 && at != ranges_.begin(); ++tries) {
    --at;
    if (address < at->high) return at->unit;
  }
  return {};
}

} // namespace recount::symbol
