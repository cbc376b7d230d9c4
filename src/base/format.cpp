#include "base/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace recount::base {

namespace {
/// Decimal places for four significant digits.
int decimal_places(double value, int most) {
  if (value == 0 || !std::isfinite(value)) return 0;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, most);
}
} // namespace

std::string format_number(double value) {
  if (value == 0) return "0";
  if (std::abs(value) < 1e-6) return fmt::format("{:.4g}", value);
  return fmt::format("{:.{}f}", value, decimal_places(value, 9));
}

std::string format_millions(double value) {
  const double millions = value / 1e6;
  if (millions == 0) return "0";
  if (std::abs(millions) < 0.001) return fmt::format("{:.2g}", millions);
  return fmt::format("{:.{}f}", millions, decimal_places(millions, 3));
}

std::string format_share(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

std::string format_points(double difference) {
  const std::string text = fmt::format("{:+.2f}", 100 * difference);
  return text == "-0.00" || text == "+0.00" ? "0.00" : text;
}

std::string format_times(double factor) {
  return fmt::format("{:.{}f} times", factor, factor < 10 ? 2 : 1);
}

std::string format_duration(std::chrono::duration<double> time) {
  constexpr double longest = 9e9; // fits long
  const auto s = static_cast<long>(std::min(time.count(), longest));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
}

std::string format_nanoseconds(std::uint64_t ns) {
  const auto time = static_cast<double>(ns);
  if (ns < 10'000) return fmt::format("{} ns", ns);
  return ns < 1'000'000'000 ? fmt::format("{:.3g} ms", time / 1e6) : fmt::format("{:.1f} s", time / 1e9);
}

std::string format_bytes(double bytes, bool compact) {
  constexpr std::array prefixes{"", "K", "M", "G", "T", "P", "E"};
  std::size_t power = 0;
  constexpr double min_of_next = 1023.5; // which four digits would show as 1024
  while (bytes >= min_of_next && power + 1 < prefixes.size()) {
    bytes /= 1024;
    ++power;
  }
  const char* const unit = compact ? "" : power > 0 ? "iB" : "B";
  return fmt::format("{:.4g}{}{}{}", bytes, compact ? "" : " ", prefixes.at(power), unit);
}

std::string format_size(std::int64_t bytes) {
  const char* unit = "";
  for (const char* larger : {"K", "M", "G"}) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{}{}", bytes, unit);
}

std::string format_witness(const Witness& witness) {
  if (const auto machine = witness.described_machine()) return "modelled (" + *machine + ")";
  switch (witness.kind) {
  case Witness::model: return "modelled";
  case Witness::clock: return "by the clock";
  case Witness::published: return "published";
  default: return "counted by " + witness.name();
  }
}

} // namespace recount::base
