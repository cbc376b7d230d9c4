#include "symbol/disassembly.hpp"
#include "symbol/module.hpp"
#include "symbol/scopes.hpp"

#include <recount/error.hpp>

// A build without symbols (-Dsymbols=false): profiles show addresses in files.
namespace recount::symbol {

struct Module::State {};

Module::Module(process::Fd, const std::string& path, const std::string&) {
  throw unavailable(path, "this recount was built without symbols", "-Dsymbols=false",
                    "build it with libdw-dev");
}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;
std::span<const unsigned char> Module::build_id() const {
  return {};
}
std::optional<std::uint64_t> Module::address(std::uint64_t) const {
  return {};
}
std::optional<std::uint64_t> Module::offset(std::uint64_t) const {
  return {};
}
std::uint64_t Module::end() const {
  return 0;
}
std::vector<Frame> Module::frames(std::uint64_t) {
  return std::vector<Frame>(1);
}
std::optional<Named> Module::function(std::uint64_t) {
  return {};
}
std::vector<Named> Module::functions(const std::string&) const {
  return {};
}
std::vector<Named> Module::parts(const Named&) const {
  return {};
}
std::vector<Named> Module::variables(const std::string&) const {
  return {};
}
std::optional<std::size_t> Module::inlined(const std::string&) {
  return {};
}
std::vector<unsigned char> Module::bytes(std::uint64_t, std::size_t) const {
  return {};
}
int Module::machine() const {
  return 0;
}
bool Module::is_go() const {
  return false;
}
std::string Module::lacks() const {
  return {};
}

std::optional<Module> vdso(const std::string&) {
  return {};
}

std::vector<Instruction> disassemble(int, std::span<const unsigned char>, std::uint64_t) {
  return {};
}

std::optional<std::vector<std::uint64_t>> exits(int, const std::vector<Code>&) {
  return {};
}

std::string demangle(const char* name) {
  return name;
}

Versions library_versions() {
  return {};
}

} // namespace recount::symbol
