#include "symbol/elf_file.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

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

} // namespace recount::symbol
