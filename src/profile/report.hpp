// What `recount profile` prints: tables for people, one object of JSON.
#pragma once

#include "command/output.hpp"
#include "profile/annotation.hpp"
#include "profile/recording.hpp"
#include "profile/rows.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace recount::cli {

/// Everything that was found, named.
struct Profile {
  profile::Recording recording;
  profile::Naming naming;
  std::string subject; ///< the command or the process
};

/// Whether each occurrence of an event was sampled, none missing: shares are then no estimates.
[[nodiscard]] bool every_occurrence(const Profile& profile, std::size_t event);

/// The events with their samples, what was lost, what it cost, and the notes.
[[nodiscard]] std::string profile_summary(const Profile& profile);
/// At most `top` rows.
[[nodiscard]] Table profile_table(const Profile& profile, profile::By by, std::size_t top);
/// The table with its title, and how much the other rows come to.
[[nodiscard]] std::string profile_text(const Profile& profile, profile::By by, std::size_t top,
                                       std::FILE* stream);
/// The `top` call chains that most samples of the first event have, innermost function first.
[[nodiscard]] std::string chains_table(const Profile& profile, std::size_t top);
/// Source text with shares.
[[nodiscard]] std::string annotated_text(const Profile& profile, const std::string& function);
[[nodiscard]] std::string profile_json(const Profile& profile, const std::vector<profile::By>& by);

/// "62 % (59…65)"; the interval alone where samples are few; no interval where there is nothing to estimate.
[[nodiscard]] std::string share_text(const profile::Share& share, std::uint64_t samples);

} // namespace recount::cli
