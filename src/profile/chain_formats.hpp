// Call chains in the formats of viewers.
#pragma once

#include "profile/profile_report.hpp"

#include <string>

namespace recount::profile {

/// The file format of speedscope (https://www.speedscope.app/file-format-schema.json), which Firefox Profiler
/// opens as well: one profile of weighted call chains per event.
[[nodiscard]] std::string speedscope_json(const Profile& profile);

/// The format of callgrind.out, which kcachegrind and callgrind_annotate(1) read: self cost by line, and
/// inclusive cost by call. A chain that repeats a call counts once for it. The number of calls is unknown: it
/// is that of samples below the call.
[[nodiscard]] std::string callgrind_text(const Profile& profile);

/// The format of pprof (https://github.com/google/pprof/blob/main/proto/profile.proto), compressed by gzip:
/// the weights of all events by call chain.
[[nodiscard]] std::string pprof_bytes(const Profile& profile);

} // namespace recount::profile
