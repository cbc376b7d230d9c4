// One JSON object of a results file, field by field. Included by line_parse.cpp only.
#pragma once

#include "result/observation.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <recount/error.hpp>

namespace recount::result {

/// One object of a line with its place, so that every error names it. nlohmann::json, not Json: ordered keys
/// are searched one by one, and a damaged line can have any number of them.
class Fields {
public:
  Fields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail("is not a JSON object");
  }

  [[noreturn]] void fail(const std::string& cause) const {
    throw bad_input(where_, cause, "recount-results(5) documents the format");
  }

  [[nodiscard]] const nlohmann::json* find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  [[nodiscard]] const nlohmann::json& need(const char* key) const {
    const nlohmann::json* value = find(key);
    if (!value) fail(std::string("\"") + key + "\" is missing");
    return *value;
  }

  [[nodiscard]] std::string text(const char* key) const {
    const nlohmann::json& value = need(key);
    if (!value.is_string()) fail(std::string("\"") + key + "\" is not text");
    return value.get<std::string>();
  }
  [[nodiscard]] std::string text_or(const char* key) const { return find(key) ? text(key) : std::string(); }

  [[nodiscard]] std::int64_t whole(const nlohmann::json& value, const char* key) const {
    if (!value.is_number_integer()) fail(std::string("\"") + key + "\" is not a whole number");
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      fail(std::string("\"") + key + "\" is larger than 2^63 - 1");
    return value.get<std::int64_t>();
  }
  [[nodiscard]] std::optional<std::int64_t> whole_maybe(const char* key) const {
    const nlohmann::json* value = find(key);
    if (!value) return std::nullopt;
    return whole(*value, key);
  }
  [[nodiscard]] std::optional<double> real_maybe(const char* key) const {
    const nlohmann::json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_number()) fail(std::string("\"") + key + "\" is not a number");
    return value->get<double>();
  }

  [[nodiscard]] std::vector<std::string> words(const char* key) const {
    std::vector<std::string> all;
    const nlohmann::json* value = find(key);
    if (!value) return all;
    if (!value->is_array()) fail(std::string("\"") + key + "\" is not a list");
    for (const auto& word : *value) {
      if (!word.is_string()) fail(std::string("\"") + key + "\" holds something other than text");
      all.push_back(word.get<std::string>());
    }
    return all;
  }
  [[nodiscard]] std::map<std::string, std::string> table(const char* key) const {
    std::map<std::string, std::string> all;
    const nlohmann::json* value = find(key);
    if (!value) return all;
    if (!value->is_object()) fail(std::string("\"") + key + "\" is not an object");
    for (const auto& [name, word] : value->items()) {
      if (!word.is_string()) fail(std::string("\"") + key + "\" holds something other than text");
      all.emplace(name, word.get<std::string>());
    }
    return all;
  }

  [[nodiscard]] Params params(const nlohmann::json& value) const {
    if (!value.is_object()) fail("\"params\" is not an object");
    Params all;
    for (const auto& [name, v] : value.items()) {
      if (v.is_string())
        all.emplace(name, v.get<std::string>());
      else
        all.emplace(name, whole(v, "params"));
    }
    // Until November 2026 this parameter was called as that of the kernel `faults`, a number.
    if (const auto old = all.find("pages"); old != all.end() && old->second.index() == 1) {
      all.emplace("pagesize", old->second);
      all.erase(old);
    }
    return all;
  }

  /// A witness, or one with its point, under the names that recount has used since November 2026.
  [[nodiscard]] static std::string current_name(std::string name) {
    for (const auto& [old, now] :
         {std::pair("~pages=huge", "~placement=512"), std::pair("~pages=", "~placement="),
          std::pair(" pages=small", " pagesize=small"), std::pair(" pages=huge", " pagesize=huge")})
      if (const auto at = name.find(old); at != std::string::npos)
        name.replace(at, std::string_view(old).size(), now);
    return name;
  }

  /// What observations, failures and sections share.
  template <class Line>
  void common(Line& line) const {
    line.run = text("run");
    line.kernel = text("kernel");
    line.params = params(need("params"));
    const std::int64_t repetition = whole(need("repetition"), "repetition");
    if (repetition < 0 || repetition > std::numeric_limits<int>::max())
      fail("\"repetition\" is out of range");
    line.repetition = static_cast<int>(repetition);
    if constexpr (requires { line.witness; }) line.witness = current_name(text("witness"));
  }

private:
  const nlohmann::json& object_;
  std::string where_;
};

} // namespace recount::result
