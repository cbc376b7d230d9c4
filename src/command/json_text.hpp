// What --json prints.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace recount::cli {

/// One object whose first member, "schema", names its format: "recount-NAME/1". What is not UTF-8 (sysfs,
/// file names) is replaced.
[[nodiscard]] inline std::string json_text(const std::string& name, const nlohmann::ordered_json& object) {
  nlohmann::ordered_json all{{"schema", "recount-" + name + "/1"}};
  all.update(object);
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

} // namespace recount::cli
