#include "host/sysctl.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace recount::host {
namespace {
std::string path_of(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  return "/proc/sys/" + name;
}
} // namespace

std::optional<std::string> sysctl(const std::string& name) {
  return base::read_line(path_of(name));
}
std::optional<long long> sysctl_number(const std::string& name) {
  return base::read_number(path_of(name));
}
std::string show_setting(const std::string& name) {
  return name + " = " + sysctl(name).value_or("(not there)");
}

} // namespace recount::host
