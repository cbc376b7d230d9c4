#include "count/symbol/disassembly.hpp"
#include "count/symbol/module.hpp"
#include "count/symbol/unwinder.hpp"

#include <recount/error.hpp>

// A build without symbols (-Dsymbols=false): profiles show addresses in files.
namespace recount::symbol {

std::unique_ptr<Module> open_module(process::Fd, const std::string& path, const std::string&) {
  throw unavailable(path, "this recount was built without symbols", "-Dsymbols=false",
                    "build it with libdw-dev");
}
std::unique_ptr<Module> vdso(const std::string&) {
  return {};
}
process::Fd vdso_file() {
  return {};
}
struct Unwinder::State {};
std::uint64_t Unwinder::registers() {
  return 0;
}
Unwinder::Unwinder(std::uint64_t, const Spaces&, OpenFile) {}
Unwinder::Unwinder(Unwinder&&) noexcept = default;
Unwinder::~Unwinder() = default;
void Unwinder::forget(std::uint32_t) {}
Unwinder::Chain Unwinder::unwind(const Sample&, std::size_t) {
  return {};
}
std::string demangle(const char* name) {
  return name;
}
std::uint64_t entry_to_main(const std::string&) {
  return 0;
}
std::vector<Instruction> disassemble(int, std::span<const unsigned char>, std::uint64_t) {
  return {};
}
std::optional<std::vector<std::uint64_t>> exits(int, const std::vector<Code>&) {
  return {};
}
bool denotes(const std::string&, const std::string&) {
  return false;
}
Versions library_versions() {
  return {};
}

} // namespace recount::symbol
