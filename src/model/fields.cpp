#include "model/fields.hpp"

#include "base/nearest.hpp"

#include <limits>

namespace recount::model {

using nlohmann::json;

namespace {

/// "32K" in bytes; no value when it is not a size or does not fit.
std::optional<std::int64_t> size_of(const std::string& text) {
  std::size_t digits = 0;
  std::int64_t value = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    if (value > std::numeric_limits<std::int64_t>::max() / 16) return {};
    value = 10 * value + (text[digits] - '0');
  }
  const std::string unit = text.substr(digits);
  const int power = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (digits == 0 || power < 0 || value > std::numeric_limits<std::int64_t>::max() >> power) return {};
  return value << power;
}

} // namespace

Fields::Fields(const json& value, std::string file, std::string path)
    : value_(value), file_(std::move(file)), path_(std::move(path)) {
  if (!value_.is_object())
    throw bad_input(file_, (path_.empty() ? "the description" : path_) + " is not an object {...}",
                    "see recount-machines(5)");
}

std::string Fields::path(const std::string& name) const {
  return path_.empty() ? name : path_ + "." + name;
}

Error Fields::error(const std::string& name, const std::string& cause, const std::string& remedy) const {
  return bad_input(file_, path(name) + ": " + cause, remedy.empty() ? "see recount-machines(5)" : remedy);
}

const json& Fields::any(const std::string& name) {
  static const json none;
  known_.push_back(name);
  const auto found = value_.find(name);
  return found == value_.end() ? none : *found;
}

const json& Fields::needed(const std::string& name) {
  const json& field = any(name);
  if (field.is_null()) throw error(name, "missing");
  return field;
}

std::string Fields::text(const std::string& name) {
  const json& field = needed(name);
  if (!field.is_string()) throw error(name, "is not text");
  return field.get<std::string>();
}

std::string Fields::text(const std::string& name, const std::string& fallback) {
  return any(name).is_null() ? fallback : text(name);
}

std::int64_t Fields::count(const std::string& name, std::optional<std::int64_t> fallback) {
  const json& field = any(name);
  if (field.is_null() && fallback) return *fallback;
  if (field.is_null()) throw error(name, "missing");
  if (!field.is_number_integer()) throw error(name, "is not an integer, but " + field.dump());
  if (field.is_number_unsigned() &&
      field.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    throw error(name, "is too large: " + field.dump());
  const auto value = field.get<std::int64_t>();
  if (value < 1) throw error(name, "must be at least 1, but is " + field.dump());
  return value;
}

std::int64_t Fields::bytes(const std::string& name, std::optional<std::int64_t> fallback) {
  const json& field = any(name);
  if (!field.is_string()) return count(name, fallback);
  const auto value = size_of(field.get<std::string>());
  if (!value || *value < 1)
    throw error(name, "is not a size, but " + field.dump(), "bytes, or text such as \"32K\" or \"12M\"");
  return *value;
}

bool Fields::flag(const std::string& name, bool fallback) {
  const json& field = any(name);
  if (field.is_null()) return fallback;
  if (!field.is_boolean()) throw error(name, "must be true or false, but is " + field.dump());
  return field.get<bool>();
}

std::optional<double> Fields::number(const std::string& name) {
  const json& field = any(name);
  if (field.is_null()) return {};
  if (!field.is_number() || field.get<double>() < 0)
    throw error(name, "must be a number, 0 or more, but is " + field.dump());
  return field.get<double>();
}

std::size_t Fields::choice(const std::string& name, const std::vector<std::string>& words) {
  const json& field = any(name);
  if (field.is_null()) return 0;
  if (field.is_string())
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] == field.get<std::string>()) return i;
  throw error(name, "unknown value " + field.dump(),
              base::did_you_mean_or_all(field.is_string() ? field.get<std::string>() : "", words));
}

const json& Fields::list(const std::string& name) {
  const json& field = needed(name);
  if (!field.is_array() || field.empty()) throw error(name, "is not a list [...] of at least one");
  return field;
}

void Fields::done() const {
  for (const auto& item : value_.items())
    if (std::ranges::find(known_, item.key()) == known_.end())
      throw error(item.key(), "unknown field", base::did_you_mean_or_all(item.key(), known_));
}

} // namespace recount::model
