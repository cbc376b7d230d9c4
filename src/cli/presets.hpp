// The data of `recount presets`.
#pragma once

#include "preset/preset_table.hpp"
#include "preset/view.hpp"

#include <set>
#include <string>
#include <vector>

namespace recount::cli {

struct PresetTermLine {
  std::string name, code, prose;
  std::string reason; ///< why it cannot be counted here; empty when it can, or when nobody tried
};

struct PresetLine {
  std::string name, prose;
  std::string reason; ///< why it is not available; empty when it is
  std::string type, formula, note;
  std::string mark;  ///< what recount check found wrong with it here
  std::string trial; ///< of --check: "counts", or why PAPI does not count it; empty: not tried
  int line = 0;      ///< of its row in the table
  std::string row;   ///< a row that defines the same; empty when PAPI does not read the whole of its row
  bool user = false; ///< of the table of user events
  std::set<std::string> events; ///< spellings of events of the core PMU: each takes a counter
  int counters = 0, available = 0;
  std::vector<PresetTermLine> terms;
};

struct PresetListing {
  std::string table, cpu;
  std::string user_table; ///< PAPI_USER_EVENTS_FILE; empty: none
  int counters = 0;       ///< of the PMU, programmable and fixed
  bool here = false;      ///< the CPU is this machine's, so terms were opened for a trial
  std::string remark;     ///< applies to all presets: no such CPU in the table, no PMU here
  std::vector<PresetLine> presets;
  std::vector<preset::ComponentBlock> components; ///< which only PAPI 7.3 with that component reads
};

/// `cpu` empty: this machine's. Throws Error when the table or the CPU is not there.
[[nodiscard]] PresetListing list_presets(const std::string& table, const std::string& cpu,
                                         PapiVersion version);

/// Has PAPI start, read and stop each preset that it claims, in a process of its own where that may crash.
void try_by_papi(PresetListing& listing);

} // namespace recount::cli
