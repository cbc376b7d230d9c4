// The parts of every error of recount: subject, cause, setting, fix.
#pragma once

#include <recount/reason.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace recount {

/// Whose fault an error is; decides the exit status of the program.
enum class ErrorKind {
  bad_input,  ///< what the user gave is wrong: exit status 2
  unavailable ///< this machine cannot do it, here and now: exit status 3
};

/// The parts of an error message. `subject` and `cause` are always given, the others may be empty.
struct Problem : Reason {
  std::string subject; ///< the event, file or option concerned, e.g. "skl::L1D:REPLACEMENT"

  Problem(std::string concerned, Reason reason) : Reason(std::move(reason)), subject(std::move(concerned)) {}
};

/// The one exception type of the library, apart from std::bad_alloc and what callbacks of the program throw:
/// Sampling::read() and finish() pass on what the sink throws, Overflow::stop() what a callback threw in the
/// library's thread. what() is the whole message, one part per line.
class Error : public std::runtime_error {
public:
  Error(ErrorKind kind, Problem problem)
      : std::runtime_error(message(problem)), kind_(kind), problem_(std::move(problem)) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }

private:
  static std::string message(const Problem& p) {
    std::string text = p.subject + ": " + p.cause;
    if (!p.setting.empty()) text += "\n  setting: " + p.setting;
    if (!p.fix.empty()) text += "\n  fix:     " + p.fix;
    return text;
  }

  ErrorKind kind_;
  Problem problem_;
};

/// Shorthand for the two kinds.
[[nodiscard]] inline Error bad_input(std::string subject, std::string cause, std::string fix = {}) {
  return {ErrorKind::bad_input, {std::move(subject), Reason(std::move(cause), {}, std::move(fix))}};
}
[[nodiscard]] inline Error unavailable(std::string subject, std::string cause, std::string setting = {},
                                       std::string fix = {}) {
  return {ErrorKind::unavailable,
          {std::move(subject), Reason(std::move(cause), std::move(setting), std::move(fix))}};
}

namespace detail {
/// Apart from the check, which reads of counters execute.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_no_index(const char* subject, std::size_t index,
                                                                  std::size_t number) {
  throw bad_input(subject, "there is no index " + std::to_string(index),
                  "use an index below " + std::to_string(number));
}
} // namespace detail

/// Throws bad_input() unless `index` is below `number`; `subject` names the elements.
inline void require_index(const char* subject, std::size_t index, std::size_t number) {
  if (index >= number) detail::throw_no_index(subject, index, number);
}

} // namespace recount
