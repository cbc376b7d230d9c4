#include "cli/version.hpp"

#include "cli/commit.hpp"
#include "symbol/disassembly.hpp"
#include "witness/results_header.hpp"

#include <recount/papi.hpp>

#include <fmt/format.h>
#include <hwloc.h>
#include <zlib.h>

namespace recount::cli {

std::string version_text() {
  const std::string built_from = commit;
  const unsigned hwloc = hwloc_get_api_version();
  symbol::Versions versions{
      {"PAPI", papi::version()},
      {"libpfm4", witness::libpfm_version()},
      {"hwloc", fmt::format("API {}.{}.{}", hwloc >> 16U, hwloc >> 8U & 0xffU, hwloc & 0xffU)},
      {"zlib", zlibVersion()}};
  for (auto&& version : symbol::library_versions())
    versions.push_back(version);
  std::string text = "recount " RECOUNT_VERSION;
  if (built_from != "none") text += " (commit " + built_from + ")";
  for (const auto& [library, version] : versions)
    text += fmt::format("\n{:<10}{}", library, version);
  return text + "\n";
}

} // namespace recount::cli
