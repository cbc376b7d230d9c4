// A disturbance or limitation of one value or repetition.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace recount {

struct Flag {
  enum class Kind {
    steal,            ///< time taken by the hypervisor; `share`
    preempted,        ///< by other threads; `share`
    throttled,        ///< by the control group; `share`
    frequency,        ///< changed, by `share`
    thermal,          ///< throttled by heat
    migrated,         ///< to another CPU
    sibling_busy,     ///< the other hardware thread of the core
    sampled,          ///< a simulation of a part of the accesses: `share` of them, `error`
    papi_crashes,     ///< counting it by PAPI ends the process
    unevaluated_row,  ///< the preset's formula has no value here
    other_papi_value, ///< PAPI computes another value from the same counts
    note              ///< anything else; `text`
  };
  Kind kind = Kind::note;
  std::string text;            ///< for people: "preempted 3 times (4.2 %)"
  std::optional<double> share; ///< in per cent
  std::optional<double> error; ///< half-width of the interval of the value, in its unit

  Flag(Kind k, std::string t, std::optional<double> percent = {}, std::optional<double> half_width = {})
      : kind(k), text(std::move(t)), share(percent), error(half_width) {}
  bool operator==(const Flag&) const = default;
};

/// As in results files, in the order of Flag::Kind.
inline constexpr std::array<std::string_view, 12> flag_kinds{
    "steal",        "preempted", "throttled",    "frequency",       "thermal",          "migrated",
    "sibling_busy", "sampled",   "papi_crashes", "unevaluated_row", "other_papi_value", "note"};

[[nodiscard]] constexpr std::string_view name_of(Flag::Kind kind) {
  return flag_kinds[static_cast<std::size_t>(kind)];
}

} // namespace recount
