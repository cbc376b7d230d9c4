#include "verdict/store.hpp"

#include "base/text.hpp"
#include "host/machine.hpp"
#include "preset/here.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>

namespace recount::verdict {
namespace {

/// FNV-1a with 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv): tells texts apart, no protection.
std::uint64_t hash(std::string_view text, std::uint64_t from) {
  for (const char c : text)
    from = (from ^ std::uint64_t{static_cast<unsigned char>(c)}) * 0x100000001b3;
  return from;
}

std::string hash_of_tables() {
  std::uint64_t hashed = 0xcbf29ce484222325;
  std::string table;
  try {
    table = preset::papi_table();
  } catch (const Error&) { // no table is installed: PAPI's own
  }
  bool any = false;
  for (const std::string& path : {table, preset::papi_user_events()})
    if (const auto text = path.empty() ? std::nullopt : base::read_file(path)) {
      hashed = hash(*text, hashed);
      any = true;
    }
  return any ? fmt::format("{:016x}", hashed) : std::string();
}

} // namespace

Machine this_machine() {
  const host::Machine& machine = host::this_machine();
  return {machine.cpu.identity(), machine.cpu.microcode, machine.os,
          machine.hypervisor,     papi::version(),       hash_of_tables()};
}

} // namespace recount::verdict
