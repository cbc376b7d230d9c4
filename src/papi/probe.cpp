#include "papi/probe.hpp"

#include "papi/event_set.hpp"
#include "papi/library.hpp"
#include "papi/resolve.hpp"
#include "process/fd.hpp"

#include <fmt/format.h>
#include <papi.h>
#include <perfmon/pfmlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace recount::papi {
namespace {

void put(int fd, const std::vector<std::string>& fields) {
  std::string line;
  for (std::string field : fields) {
    std::replace_if(
        field.begin(), field.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
    line += (line.empty() ? "" : "\t") + field;
  }
  line += '\n';
  static_cast<void>(process::write_all(fd, line)); // it fails only when the reader has gone
}

/// The core PMU whose rows PAPI looks for in its table, by PAPI's own rule; libpfm4's flag is_dfl means
/// something else. PAPI has initialised libpfm4 by now.
std::string core_pmu() {
  for (int i = 0; i < PFM_PMU_MAX; ++i) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(i), &info) != PFM_SUCCESS) continue;
    const bool generic =
        std::string_view(info.name) == "ix86arch" || std::strstr(info.desc, "E-Core") != nullptr;
    if (info.is_present && info.type == PFM_PMU_TYPE_CORE && !generic) return info.name;
  }
  return {};
}

void put_component(int fd, int index) {
  const PAPI_component_info_t* info = PAPI_get_component_info(index);
  if (info == nullptr) return;
  put(fd, {"component", info->name, info->disabled == 0 ? "1" : "0", info->disabled_reason});
}

void put_presets(int fd) {
  int code = PAPI_PRESET_MASK;
  PAPI_event_info_t info{};
  if (PAPI_enum_event(&code, PAPI_ENUM_FIRST) != PAPI_OK) return;
  do {
    // The walk over available presets starts at the first of all, available or not.
    if (PAPI_query_event(code) != PAPI_OK || PAPI_get_event_info(code, &info) != PAPI_OK || info.count == 0)
      continue;
    std::vector<std::string> fields{"preset", info.symbol, info.derived, info.postfix};
    for (unsigned i = 0; i < std::min(info.count, static_cast<unsigned>(PAPI_MAX_INFO_TERMS)); ++i)
      fields.emplace_back(info.name[i]);
    put(fd, fields);
  } while (PAPI_enum_event(&code, PAPI_PRESET_ENUM_AVAIL) == PAPI_OK);
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> out;
  for (;;) {
    const auto tab = line.find('\t');
    out.emplace_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return out;
    line.remove_prefix(tab + 1);
  }
}

/// Calls `use` for each whole line, split at its tabs.
template <class Use>
void each_line(std::string_view text, const Use& use) {
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    use(fields_of(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
}

int number(const std::string& text) {
  return static_cast<int>(std::strtol(text.c_str(), nullptr, 10));
}

} // namespace

void write_claims(int fd) {
  const auto known = preset_names(); // initialises the components
  const bool software = try_once({"perf::PAGE-FAULTS"}, Domain::user).empty();
  put(fd, {"library", version(), core_pmu(), std::to_string(known.size()), software ? "1" : "0"});
  for (int i = 0; i < PAPI_num_components(); ++i)
    put_component(fd, i);
  put_presets(fd);
}

void write_trials(int fd, const std::vector<std::string>& presets) {
  for (const auto& name : presets) {
    put(fd, {"try", name});
    const Reason reason = try_once({name}, Domain::user);
    put(fd, {reason.empty() ? "ok" : "no", reason.cause, reason.setting, reason.fix, name_of(reason.code)});
  }
}

Inventory parse_claims(std::string_view text) {
  Inventory out;
  each_line(text, [&](const std::vector<std::string>& f) {
    if (f[0] == "library" && f.size() == 5) {
      out.version = f[1];
      out.core_pmu = f[2];
      out.presets_known = number(f[3]);
      out.software_events = f[4] == "1";
    } else if (f[0] == "component" && f.size() == 4) {
      out.components.push_back({f[1], f[2] == "1", f[3]});
    } else if (f[0] == "preset" && f.size() >= 4) {
      out.presets.push_back({f[1], f[2], f[3], {f.begin() + 4, f.end()}, false, "not tried"});
    }
  });
  return out;
}

std::string parse_trials(std::string_view text, std::vector<Preset>& presets) {
  std::string trying;
  each_line(text, [&](const std::vector<std::string>& f) {
    if (f[0] == "try" && f.size() == 2) {
      trying = f[1];
      return;
    }
    const auto it =
        std::find_if(presets.begin(), presets.end(), [&](const Preset& p) { return p.name == trying; });
    if (it == presets.end() || f.size() != 5) return;
    it->counts = f[0] == "ok";
    it->reason = {f[1], f[2], f[3], reason_code(f[4])};
    trying.clear();
  });
  return trying;
}

} // namespace recount::papi
