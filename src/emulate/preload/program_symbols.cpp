#include "emulate/preload/program_symbols.hpp"

#include "emulate/real.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace recount::emulate {
namespace {

/// Where the program has been loaded: the first object that the dynamic linker tells of.
ElfW(Addr) load_address() {
  ElfW(Addr) address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<ElfW(Addr)*>(to) = info->dlpi_addr;
        return 1;
      },
      &address);
  return address;
}

struct Image {
  const unsigned char* at = nullptr;
  std::size_t bytes = 0;
  template <class T>
  [[nodiscard]] const T* part(std::size_t offset, std::size_t count) const {
    if (offset > bytes || count > (bytes - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(at + offset);
  }
};

void read_symbols(const Image& image, std::map<std::string, Symbol>& into) {
  const auto* const header = image.part<ElfW(Ehdr)>(0, 1);
  if (header == nullptr) return;
  const auto* const sections = image.part<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return;
  const ElfW(Addr) base = load_address();
  for (std::size_t s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const auto count = sections[s].sh_size / sizeof(ElfW(Sym));
    const auto* const symbols = image.part<ElfW(Sym)>(sections[s].sh_offset, count);
    const auto& strings = sections[sections[s].sh_link];
    const auto* const names = image.part<char>(strings.sh_offset, strings.sh_size);
    if (symbols == nullptr || names == nullptr) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = names + symbols[i].st_name;
      if (name.starts_with("recount_kernel_") || name.starts_with("__cpu_"))
        into[name] = {reinterpret_cast<unsigned char*>(base + symbols[i].st_value), symbols[i].st_size};
    }
  }
}

std::map<std::string, Symbol> read_program() {
  std::map<std::string, Symbol> all;
  const auto fd = static_cast<int>(
      real::syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return all;
  struct stat status {};
  if (fstat(fd, &status) == 0 && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* const at = real::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) {
      read_symbols({static_cast<const unsigned char*>(at), bytes}, all);
      real::munmap(at, bytes);
    }
  }
  real::close(fd);
  return all;
}

} // namespace

Symbol program_symbol(const std::string& name) {
  static const auto all = read_program();
  const auto found = all.find(name);
  return found == all.end() ? Symbol{} : found->second;
}

} // namespace recount::emulate
