// The code that Linux maps into every process, from the memory of this process.
#include "process/worker.hpp"
#include "symbol/module.hpp"

#include <recount/error.hpp>

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

namespace recount::symbol {

std::optional<Module> vdso(const std::string& debug_path) {
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(getauxval(AT_SYSINFO_EHDR));
  if (!header) return {};
  // The section headers are the last part of the image.
  const std::size_t size = header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
  try {
    return Module(process::text_file({reinterpret_cast<const char*>(header), size}), "[vdso]", debug_path);
  } catch (const Error&) {
    return {};
  }
}

} // namespace recount::symbol
