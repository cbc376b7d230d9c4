#include "sweep/range.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <recount/error.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace recount::sweep {
namespace {

constexpr const char* range_forms = "write FIRST:LAST:xFACTOR, FIRST:LAST:STEP or A,B,C; sizes take K, M, G: "
                                    "4K:4M:x2, 600:3000:400, 1,2,8";

/// "600", "4K"; nothing for other text or more than 63 bits.
std::optional<std::int64_t> parse_whole(std::string_view text) {
  const std::size_t unit = text.empty() ? text.npos : std::string_view("kKmMgG").find(text.back());
  std::size_t power = unit == text.npos ? 0 : unit / 2 + 1;
  if (power > 0) text.remove_suffix(1);
  auto number = base::parse<std::int64_t>(text);
  for (; number && power > 0; --power)
    if (__builtin_mul_overflow(*number, std::int64_t{1024}, &*number)) return {};
  return number;
}

class RangeParser {
public:
  RangeParser(std::string text, std::string subject) : text_(std::move(text)), subject_(std::move(subject)) {}

  [[noreturn]] void fail(const std::string& cause) const {
    throw bad_input(subject_, fmt::format("invalid range \"{:.80}\": {}", text_, cause), range_forms);
  }

  /// A number or a range with a step.
  void add_item(std::string_view item) {
    const auto parts = base::split(item, ':');
    if (parts.size() == 1) return add_value(number(parts[0]));
    if (parts.size() != 3) fail(fmt::format("\"{:.40}\" has no step", item));
    const std::int64_t first = number(parts[0]), last = number(parts[1]);
    if (first > last) fail(fmt::format("{} is greater than {}", parts[0], parts[1]));
    if (parts[2].starts_with('x'))
      add_geometric(first, last, parts[2].substr(1));
    else
      add_arithmetic(first, last, number(parts[2]));
  }

  [[nodiscard]] std::vector<std::int64_t> values() && { return std::move(values_); }

private:
  void add_value(std::int64_t value) {
    if (!seen_.insert(value).second) return;
    if (values_.size() == most_values) fail(fmt::format("more than {} values", most_values));
    values_.push_back(value);
  }

  [[nodiscard]] std::int64_t number(std::string_view text) const {
    const auto value = parse_whole(text);
    if (!value) fail(fmt::format("\"{:.40}\" is not a whole number below 2^63", text));
    return *value;
  }

  void add_arithmetic(std::int64_t first, std::int64_t last, std::int64_t step) {
    if (step < 1) fail("the step must be at least 1");
    for (std::int64_t value = first;;) {
      add_value(value);
      if (__builtin_add_overflow(value, step, &value) || value > last) return;
    }
  }

  void add_geometric(std::int64_t first, std::int64_t last, std::string_view text) {
    const double factor = base::parse<double>(text).value_or(0);
    if (!std::isfinite(factor) || factor <= 1)
      fail(fmt::format("the factor \"x{:.40}\" is not a number above 1", text));
    if (first < 1) fail("a range with a factor starts at 1 or more");
    // Powers of the factor instead of repeated rounding, so that x1.5 does not drift. With a factor close to
    // 1 several steps round to the same value; add_value() drops the duplicates.
    for (int step = 0;; ++step) {
      const double value = std::round(static_cast<double>(first) * std::pow(factor, step));
      if (value > static_cast<double>(last) || value >= 0x1p63) return;
      add_value(static_cast<std::int64_t>(value));
      if (step > 100'000'000) fail("the factor is too close to 1");
    }
  }

  std::string text_, subject_;
  std::vector<std::int64_t> values_;
  std::unordered_set<std::int64_t> seen_;
};

} // namespace

std::vector<std::int64_t> parse_range(const std::string& text, const std::string& subject) {
  RangeParser parser(text, subject);
  if (text.empty()) parser.fail("it is empty");
  for (const auto item : base::split(text, ','))
    parser.add_item(item);
  return std::move(parser).values();
}

std::int64_t parse_size(const std::string& text, const std::string& subject) {
  const auto value = parse_whole(text);
  if (!value)
    throw bad_input(subject, fmt::format("\"{:.80}\" is not a whole number below 2^63", text),
                    "numbers may end in K, M or G (powers of 1024)");
  return *value;
}

} // namespace recount::sweep
