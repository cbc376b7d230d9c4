// A point of a kernel: its parameters with their values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace recount::kernel {

/// A parameter's value: sizes, strides and counts are integers (bytes where they are sizes), choices are
/// text.
using ParamValue = std::variant<std::int64_t, std::string>;
/// A parameter point, by parameter name ("size", "stride", "n", ...).
using Params = std::map<std::string, ParamValue>;

/// A number in digits, or the word.
[[nodiscard]] inline std::string text(const ParamValue& value) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  return number ? std::to_string(*number) : std::get<std::string>(value);
}

/// "size=32768 stride=64": the point for people, in messages and tables.
[[nodiscard]] inline std::string describe(const Params& params) {
  std::string all;
  for (const auto& [name, value] : params)
    all += (all.empty() ? "" : " ") + name + '=' + text(value);
  return all;
}

} // namespace recount::kernel
