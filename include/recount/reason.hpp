// Why there is no count, or why an operation failed: a value, which becomes text where it is printed.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace recount {

/// Causes that programs distinguish; the text of Reason is for people.
enum class ReasonCode {
  other,
  no_pmu,        ///< Linux has no core PMU here
  no_event,      ///< the PMU does not have the event, or there is no such PMU
  dead,          ///< such events open, but a trial counted less than what occurred
  permission,    ///< a setting, a capability or a sandbox forbids it
  busy,          ///< all counters are in use: never scheduled, or used exclusively
  no_resources,  ///< no file descriptor or memory left
  not_supported, ///< the PMU or the kernel lacks a feature that the event requests
  bad_event,     ///< the kernel rejects the encoding
  interrupted,   ///< a signal, or a state that changes: another attempt may succeed
  wrong_process, ///< the object was opened before fork(2)
  not_started,
  crash ///< the library that counts it crashes
};
/// The codes as words, as in results files.
inline constexpr std::array reason_code_names{
    "other",         "no_pmu",    "no_event",    "dead",          "permission",  "busy", "no_resources",
    "not_supported", "bad_event", "interrupted", "wrong_process", "not_started", "crash"};
[[nodiscard]] constexpr const char* name_of(ReasonCode code) noexcept {
  return reason_code_names[static_cast<std::size_t>(code)];
}
/// The code of that name; `other` for a name of a later release.
[[nodiscard]] constexpr ReasonCode reason_code(std::string_view name) noexcept {
  for (std::size_t i = 0; i < reason_code_names.size(); ++i)
    if (name == reason_code_names[i]) return static_cast<ReasonCode>(i);
  return ReasonCode::other;
}

/// A plain value. Without a cause it is empty: nothing is missing. All texts may hold names from outside:
/// escape them for the terminal.
struct Reason {
  std::string cause;   ///< one clause, e.g. "this user may not count in the kernel (EACCES)"
  std::string setting; ///< the setting concerned with its value, e.g. "kernel.perf_event_paranoid = 3"
  std::string fix;     ///< how to correct it, a command where there is one
  ReasonCode code = ReasonCode::other;
  int error = 0; ///< errno; 0: the cause is no failed call

  Reason() = default;
  // A cause alone is a reason.
  Reason(const char* text) : cause(text) {}            // NOLINT(google-explicit-constructor)
  Reason(std::string text) : cause(std::move(text)) {} // NOLINT(google-explicit-constructor)
  Reason(std::string text, ReasonCode what) : cause(std::move(text)), code(what) {}
  Reason(std::string text, std::string with_setting, std::string how, ReasonCode what = ReasonCode::other,
         int number = 0)
      : cause(std::move(text)),
        setting(std::move(with_setting)),
        fix(std::move(how)),
        code(what),
        error(number) {}

  [[nodiscard]] bool empty() const noexcept { return cause.empty(); }
  /// "CAUSE; SETTING = VALUE; FIX" on one line.
  [[nodiscard]] std::string text() const {
    std::string all = cause;
    for (const std::string* part : {&setting, &fix})
      if (!part->empty()) all += "; " + *part;
    return all;
  }
  /// The same with "SUBJECT: " before the cause.
  [[nodiscard]] Reason about(const std::string& subject) const {
    Reason longer = *this;
    longer.cause.insert(0, subject + ": ");
    return longer;
  }
  friend bool operator==(const Reason&, const Reason&) = default;
};

} // namespace recount
