#include "symbol/versions.hpp"

#include <capstone/capstone.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

namespace recount::symbol {

Versions library_versions() {
  int major = 0, minor = 0;
  cs_version(&major, &minor);
  return {{"elfutils", dwfl_version(nullptr)}, {"capstone", fmt::format("{}.{}", major, minor)}};
}

} // namespace recount::symbol
