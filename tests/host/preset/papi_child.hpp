// Real PAPI over a table, in a process of its own that may die.
#pragma once

#include <recount/preset.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::test {

/// What PAPI made of one preset.
struct Seen {
  bool available = false;
  bool described = false; ///< PAPI_get_event_info() came back
  std::string derived, postfix;
  int count = 0;
  int added = 0;             ///< PAPI_add_event()'s value
  std::optional<int> signal; ///< what killed it at the read
  std::optional<long long> value;
  std::vector<long long> counts; ///< of the natives asked for, from the same read
};

struct PapiRun {
  bool loaded = false; ///< PAPI_library_init() came back
  int init = 0;        ///< its value
  int max_mhz = 0;
  std::string end; ///< how the process ended
  std::map<std::string, Seen> presets;
};

/// Loads the table and reads each preset once, together with the natives that `expected` names for it.
PapiRun run_papi(const std::string& table, const std::vector<std::string>& names,
                 const LoadedTable& expected);

} // namespace recount::test
