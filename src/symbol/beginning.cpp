#include "symbol/beginning.hpp"

#include "process/fd.hpp"
#include "symbol/module.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <optional>

namespace recount::symbol {
namespace {

/// Nothing of a file that is no program of 64 bits.
std::optional<Elf64_Ehdr> header_of(std::ifstream& in) {
  Elf64_Ehdr head{};
  in.read(reinterpret_cast<char*>(&head), sizeof head);
  if (!in || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  return head;
}

std::string interpreter(std::ifstream& in, const Elf64_Ehdr& head) {
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment{};
    in.seekg(static_cast<std::streamoff>(head.e_phoff + i * sizeof segment));
    in.read(reinterpret_cast<char*>(&segment), sizeof segment);
    constexpr std::uint64_t longest = 4096;
    if (!in) break;
    if (segment.p_type != PT_INTERP || segment.p_filesz > longest) continue;
    std::string name(segment.p_filesz, '\0');
    in.seekg(static_cast<std::streamoff>(segment.p_offset));
    in.read(name.data(), static_cast<std::streamsize>(name.size()));
    name.resize(std::min(name.find('\0'), name.size())); // it ends with 0
    return in ? name : std::string();
  }
  return {};
}

} // namespace

std::string linker_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const auto head = header_of(in);
  return head ? interpreter(in, *head) : std::string();
}

std::uint64_t entry_to_main(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const auto head = header_of(in);
  if (!head || head->e_entry == 0 || !interpreter(in, *head).empty()) return 0;
  try {
    const Module module(process::Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)), file);
    const auto found = module.functions("main");
    return found.size() == 1 ? found.front().start - head->e_entry : 0;
  } catch (const Error&) { // no program
    return 0;
  }
}

} // namespace recount::symbol
