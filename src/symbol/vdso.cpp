// The code that Linux maps into every process, from our own memory.
#include "symbol/module.hpp"

#include <recount/error.hpp>

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

namespace recount::symbol {

std::optional<Module> vdso(const std::string& debug_path) {
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(getauxval(AT_SYSINFO_EHDR));
  if (!header) return {};
  // The sections' headers stand at the end of the image.
  const std::size_t size = header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
  process::Fd file(::memfd_create("vdso", MFD_CLOEXEC));
  if (!file || ::write(file.get(), header, size) != static_cast<ssize_t>(size)) return {};
  try {
    return Module(std::move(file), "[vdso]", debug_path);
  } catch (const Error&) {
    return {};
  }
}

} // namespace recount::symbol
