// Numbers as text.
#pragma once

#include "base/witness.hpp"

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace recount::base {

/// Four significant digits at least: "0.1234", "27.11", "30880"; an exponent below 1e-6 only.
[[nodiscard]] std::string format_number(double value);
/// In units of 10^6, without the unit.
[[nodiscard]] std::string format_millions(double value);
/// "98.31 %" of a share.
[[nodiscard]] std::string format_share(double share);
/// Percentage points with a sign: "+1.20", "-0.35".
[[nodiscard]] std::string format_points(double difference);
/// "2.31 times"
[[nodiscard]] std::string format_times(double factor);
/// "12 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string format_duration(std::chrono::duration<double> time);
/// "126 ns", "0.25 ms", "2.5 s".
[[nodiscard]] std::string format_nanoseconds(std::uint64_t ns);
/// Four significant digits: "512 B", "4 KiB", "1.5 MiB"; compact, for axes: "512", "4K", "1.5M".
[[nodiscard]] std::string format_bytes(double bytes, bool compact = false);
[[nodiscard]] inline std::string format_bytes(std::integral auto bytes, bool compact = false) {
  return format_bytes(static_cast<double>(bytes), compact);
}
/// Exact, as options take it: "512", "4K", "1536K", "1000".
[[nodiscard]] std::string format_size(std::int64_t bytes);
/// A count with its noun in the right number: "1 run", "3 runs"; `several` where more than an s differs:
/// "1 value differs", "3 values differ".
[[nodiscard]] std::string format_count(std::integral auto count, std::string_view one,
                                       std::string_view several = {}) {
  const bool single = count == 1;
  std::string text = std::to_string(count) + " ";
  text += single || several.empty() ? one : several;
  if (!single && several.empty()) text += 's';
  return text;
}
/// The source of a value: "counted by perf", "published", "modelled (i7-9700)".
[[nodiscard]] std::string format_witness(const Witness& witness);

// Numbers from text.

/// The whole text as a number; none for anything else, such as blanks or the sign of an unsigned one.
/// Floating point: also "inf" and "nan". Pure.
template <class T>
[[nodiscard]] std::optional<T> parse(std::string_view text, [[maybe_unused]] int base = 10) {
  T value{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<T>)
    read = std::from_chars(text.data(), end, value);
  else
    read = std::from_chars(text.data(), end, value, base);
  if (read.ec != std::errc{} || read.ptr != end) return {};
  return value;
}

/// A whole unsigned number as event names write it, decimal or hexadecimal after 0x; none for anything else.
/// Pure.
[[nodiscard]] inline std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  return parse<std::uint64_t>(text, hex ? 16 : 10);
}

/// "600", "4K": a whole number, K, M or G (powers of 1024); none for anything else or more than 63 bits.
/// Pure.
[[nodiscard]] inline std::optional<std::int64_t> parse_size(std::string_view text) {
  const std::size_t unit = text.empty() ? text.npos : std::string_view("kKmMgG").find(text.back());
  std::size_t power = unit == text.npos ? 0 : unit / 2 + 1;
  if (power > 0) text.remove_suffix(1);
  auto number = parse<std::int64_t>(text);
  for (; number && power > 0; --power)
    if (__builtin_mul_overflow(*number, std::int64_t{1024}, &*number)) return {};
  return number;
}

} // namespace recount::base
