// Text that gnuplot executes: commands of this program, in which text from elsewhere is a string or a
// comment.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace recount::plot {

/// A string literal of this program. Text that exists only at run time does not convert to it.
class Literal {
public:
  template <std::size_t n>
  consteval Literal(const char (&text)[n]) : text_(text, n - 1) {} // NOLINT: a literal is meant to convert
  [[nodiscard]] constexpr std::string_view text() const { return text_; }

private:
  std::string_view text_;
};

/// Commands, or a part of one. It is made of literals, numbers, quoted() strings and comments; no constructor
/// takes a string. A results file is not trusted, and gnuplot starts a shell for more than one command of its
/// language (gnuplot 5.4, "Substitution", "system", "set output").
class GnuplotCode {
public:
  GnuplotCode() = default;
  GnuplotCode(Literal literal) : text_(literal.text()) {} // NOLINT: a literal is code
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  GnuplotCode& operator+=(const GnuplotCode& more) {
    text_ += more.text_;
    return *this;
  }
  friend GnuplotCode operator+(GnuplotCode a, const GnuplotCode& b) { return a += b; }

private:
  struct FromText {}; ///< lest a literal would fit two constructors
  GnuplotCode(FromText /*tag*/, std::string text) : text_(std::move(text)) {}
  std::string text_;

  friend GnuplotCode vcode(fmt::string_view pattern, fmt::format_args arguments);
  friend GnuplotCode quoted(std::string_view text, bool tex);
  friend GnuplotCode quoted_tic(std::string_view text, bool tex);
  friend GnuplotCode file_literal(std::string_view path);
  friend GnuplotCode comment(std::string_view text);
};

inline GnuplotCode vcode(fmt::string_view pattern, fmt::format_args arguments) {
  return {GnuplotCode::FromText{}, fmt::vformat(pattern, arguments)};
}

template <class T>
concept GnuplotPart = (std::is_arithmetic_v<T> && !std::same_as<T, char>) || std::same_as<T, GnuplotCode> ||
                      std::same_as<T, Literal>;

/// As fmt::format, with a literal as the pattern; the arguments are numbers and code.
template <GnuplotPart... Arguments>
[[nodiscard]] GnuplotCode code(fmt::format_string<const Arguments&...> pattern,
                               const Arguments&... arguments) {
  return vcode(pattern, fmt::make_format_args(arguments...));
}

/// A string in which gnuplot replaces neither `...` nor @macros: in single quotes, or in double quotes with
/// octal escapes. Controls are base::printable(); `tex`: what LaTeX reads as commands is escaped.
[[nodiscard]] GnuplotCode quoted(std::string_view text, bool tex = false);
/// The same for the name of a tic, which gnuplot reads as a format of its position: % is doubled.
[[nodiscard]] GnuplotCode quoted_tic(std::string_view text, bool tex);
/// The name of a file, every byte of it. A name
/// that gnuplot would take for a pipe ("|..."), for stdout ("-") or for a home ("~...") begins with "./".
[[nodiscard]] GnuplotCode file_literal(std::string_view path);
/// A line of comment. A backslash at its end would make the next line a part of it.
[[nodiscard]] GnuplotCode comment(std::string_view text);

} // namespace recount::plot

template <>
struct fmt::formatter<recount::plot::GnuplotCode> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const recount::plot::GnuplotCode& code, Context& context) const {
    return fmt::formatter<std::string_view>::format(code.text(), context);
  }
};
template <>
struct fmt::formatter<recount::plot::Literal> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(recount::plot::Literal literal, Context& context) const {
    return fmt::formatter<std::string_view>::format(literal.text(), context);
  }
};

// The one way by which anything reaches gnuplot or a script for it.
namespace gnuplotio {
class Gnuplot;
}

namespace recount::plot {

/// x, y, and two more: the ends of the band; or a share as drawn, its height, the ends of its interval, the
/// share.
using DataRow = std::vector<double>;

/// Writes code and numbers. Other text does not compile: see GnuplotCode. The numbers are exact (17 digits)
/// whatever the global locale.
class GnuplotWriter {
public:
  explicit GnuplotWriter(std::FILE* file); ///< which is closed at the end
  GnuplotWriter(const GnuplotWriter&) = delete;
  GnuplotWriter& operator=(const GnuplotWriter&) = delete;
  ~GnuplotWriter();

  GnuplotWriter& operator<<(const GnuplotCode& code);
  GnuplotWriter& operator<<(Literal literal) { return *this << GnuplotCode(literal); }
  /// A data block: `name` is that of a block, "$curve1".
  void data(const GnuplotCode& name, const std::vector<DataRow>& rows);
  [[nodiscard]] bool flush(); ///< whether everything could be written

private:
  std::unique_ptr<gnuplotio::Gnuplot> gnuplot_;
};

/// What `send` writes.
[[nodiscard]] std::string script_text(const std::function<void(GnuplotWriter&)>& send);

/// Starts gnuplot with the default settings only (no ~/.gnuplot), has it execute what `send` writes, and
/// waits for the end. Returns its output: warnings. Throws recount::Error (unavailable) with gnuplot's own
/// words when it is missing, cannot be started, reports an error, hangs or ends with another status than 0.
std::string run_gnuplot(const std::function<void(GnuplotWriter&)>& send);

/// The same of figures that follow one another, as text: one gnuplot draws them all, each after `reset`. One
/// that ends, hangs or complains is replaced, and run_gnuplot() draws the figure. Not thread-safe.
std::string draw_next(const std::function<void(GnuplotWriter&)>& send);

} // namespace recount::plot
