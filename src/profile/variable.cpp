#include "base/nearest.hpp"
#include "profile/event_request.hpp"

#include "profile/files.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

namespace recount::profile {

std::uint64_t address_of(const Watched& watched, const std::string& event, pid_t pid) {
  symbol::Spaces spaces;
  Files files;
  std::vector<std::pair<std::uint64_t, std::uint64_t>>
      seen; ///< where code of each file begins, and its offset
  existing_mappings(pid, [&](const Record& record) {
    spaces.add(record);
    const auto& mapping = std::get<Mapping>(record);
    files.look_at(spaces, mapping.pid);
    if (seen.size() < spaces.files().size()) seen.emplace_back(mapping.start, mapping.offset);
  });
  std::vector<std::string> near;
  for (std::uint32_t file = 0; file < spaces.files().size(); ++file) {
    if (!spaces.files()[file].is_file()) continue;
    auto found = files.module(spaces, file, {});
    if (!found.module) continue;
    const auto variables = found.module->variables(watched.variable);
    if (variables.size() > 1)
      throw bad_input(
          event,
          fmt::format("{} variables in {} have this name", variables.size(), spaces.files()[file].path),
          fmt::format("write the address of one: recount profile -p PID -e mem:ADDRESS"));
    const auto stated = found.module->address(seen[file].second);
    if (variables.empty() || !stated) {
      for (const auto& variable : found.module->variables("*" + watched.variable + "*"))
        near.push_back(variable.name);
      continue;
    }
    return variables[0].start + (seen[file].first - *stated) + watched.offset;
  }
  throw bad_input(event, "no such variable in the program and its libraries: " + watched.variable,
                  base::did_you_mean(watched.variable, near, "nm -C PROGRAM lists them"));
}

} // namespace recount::profile
