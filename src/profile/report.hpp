// What `recount profile` prints: tables for people, one JSON object.
#pragma once

#include "command/output.hpp"
#include "profile/located.hpp"
#include "profile/recording.hpp"
#include "profile/rows.hpp"
#include "verdict/store.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace recount::profile {

/// A profile with names.
struct Profile {
  profile::Recording recording;
  profile::Naming naming;
  std::string subject;  ///< the command or the process
  verdict::Marks marks; ///< of recount check
};

/// What recount check found wrong with an event.
[[nodiscard]] std::string mark_of(const Profile& profile, std::size_t event);
/// Whether each occurrence of an event was sampled: shares are then exact.
[[nodiscard]] bool every_occurrence(const Profile& profile, std::size_t event);

/// The events that tables show: all but those of advice_text().
[[nodiscard]] std::vector<std::size_t> shown_events(const Profile& profile);
/// With the kinds of misses: a sentence on each of the worst lines, about what the simulations beside have
/// shown.
[[nodiscard]] std::string advice_text(const Profile& profile);

/// Samples per event, lost records, overhead and notes.
[[nodiscard]] std::string profile_summary(const Profile& profile);
/// At most `top` rows.
[[nodiscard]] command::Table profile_table(const Profile& profile, profile::By by, std::size_t top);
/// The table with its title, and the sum of the omitted rows.
[[nodiscard]] std::string profile_text(const Profile& profile, profile::By by, std::size_t top,
                                       std::FILE* stream);
/// The `top` call chains that most samples of the first event have, innermost function first.
[[nodiscard]] std::string chains_table(const Profile& profile, std::size_t top);
/// Source text with shares.
[[nodiscard]] std::string annotated_text(const Profile& profile, const std::string& function);
[[nodiscard]] std::string profile_json(const Profile& profile, const std::vector<profile::By>& by);

/// "62 % (59…65)"; the interval alone with few samples; no interval for exact shares.
[[nodiscard]] std::string share_text(const profile::Share& share, std::uint64_t samples);

} // namespace recount::profile
