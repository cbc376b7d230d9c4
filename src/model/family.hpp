// A family of machines that differ in the size and ways of their only cache.
#pragma once

#include "model/machine.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace recount::model {

/// "32K/8": a member as it is written.
[[nodiscard]] std::string to_text(const FamilyMember& member);

/// The first cache of `machine` alone, LRU, write-back and without prefetcher, in other sizes and ways:
/// "SIZES/WAYS", each one number or FROM:TO. Sizes double from one to the next; ways are all numbers, and
/// those that do not divide a size into whole sets are left out. One member becomes an ordinary machine, more
/// a family. Throws recount::Error (bad_input) naming the machine.
[[nodiscard]] MachineDescription resized(MachineDescription machine, std::string_view text);

/// The names of a family's members, for the name of a family ("i7-9700~l1=8K:64K/1:16") or of any other
/// machine, which is its only member. Throws as machine() does.
[[nodiscard]] std::vector<std::string> member_names(const std::string& machine_name);

/// What comes before the sizes in a name that has any, "i7-9700~l1="; else empty.
[[nodiscard]] std::string_view before_sizes(std::string_view machine_name);

} // namespace recount::model
