// JSON as recount writes it: keys in the order of the manual.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace recount {

using Json = nlohmann::ordered_json;

template <class T>
[[nodiscard]] Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// Empty text is null.
[[nodiscard]] inline Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

/// An array of `element(one)`.
template <class List, class Element>
[[nodiscard]] Json make_array(const List& list, const Element& element) {
  Json all = Json::array();
  for (const auto& one : list)
    all.push_back(element(one));
  return all;
}

/// Text that is not UTF-8 (sysfs, file names) is replaced. An `indent` of -1 gives one line.
[[nodiscard]] inline std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// The text as dumped() writes it.
[[nodiscard]] inline std::string as_utf8(const std::string& text) {
  return Json::parse(dumped(text)).get<std::string>();
}

/// The output of --json: one object whose first member, "schema", names its format: "recount-NAME/1".
[[nodiscard]] inline std::string json_text(const std::string& name, const Json& object) {
  Json all{{"schema", "recount-" + name + "/1"}};
  all.update(object);
  return dumped(all, 2) + '\n';
}

} // namespace recount
