#include "model/machine.hpp"

#include "host/text.hpp"
#include "model/nearest.hpp"
#include "model/shipped.hpp"
#include "recount/error.hpp"

#include <cerrno>
#include <cstring>

namespace recount::model {

namespace {

std::string slurp(const std::string& path) {
  if (auto text = host::read_file(path)) return *text;
  throw bad_input(path, std::string("cannot be read: ") + std::strerror(errno));
}

} // namespace

MachineDescription machine(const std::string& name) {
  if (name == "host") return host_machine();
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return parse_machine(slurp(name), name);
  std::vector<std::string> known{"host"};
  for (const Shipped& shipped : shipped_machines()) {
    if (shipped.name == name) return parse_machine(shipped.json, name + ".json");
    known.emplace_back(shipped.name);
  }
  throw bad_input(name, "no such machine", suggest(name, known) + " A file needs a slash or .json");
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const Shipped& shipped : shipped_machines())
    names.emplace_back(shipped.name);
  return names;
}

} // namespace recount::model
