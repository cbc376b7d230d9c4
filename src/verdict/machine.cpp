#include "verdict/store.hpp"

#include "base/hash.hpp"
#include "base/text.hpp"
#include "host/machine.hpp"
#include "preset/here.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>

namespace recount::verdict {
namespace {

std::string hash_of_tables() {
  std::uint64_t hashed = base::fnv({});
  std::string table;
  try {
    table = preset::papi_table();
  } catch (const Error&) { // no table is installed: PAPI's own
  }
  bool any = false;
  for (const std::string& path : {table, preset::papi_user_events()})
    if (const auto text = path.empty() ? std::nullopt : base::read_file(path)) {
      hashed = base::fnv(*text, hashed);
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
