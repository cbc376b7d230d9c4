#include "trace/function_gate.hpp"

#include "base/nearest.hpp"
#include "process/child.hpp"
#include "process/fd.hpp"
#include "process/program.hpp"
#include "symbol/beginning.hpp"
#include "symbol/module.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <sstream>

namespace recount::trace {
namespace {

std::optional<symbol::Module> open_module(const std::string& file) {
  process::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return {};
  try {
    return symbol::Module(std::move(fd), file);
  } catch (const Error&) { // no program
    return {};
  }
}

/// The program, and the libraries that its dynamic linker would load (ld.so(8), --list). Nothing for a
/// script.
std::vector<symbol::Module> modules_of(const std::string& file) {
  std::vector<symbol::Module> all;
  if (auto program = open_module(file))
    all.push_back(std::move(*program));
  else
    return all;
  const std::string linker = symbol::linker_of(file);
  if (linker.empty()) return all;
  const auto listed = process::capture({{linker, "--list", file}}, {}, std::chrono::seconds(20));
  std::istringstream words(listed.out);
  for (std::string word; words >> word;)
    if (word.starts_with('/'))
      if (auto library = open_module(word)) all.push_back(std::move(*library));
  return all;
}

void demand_function(const std::vector<symbol::Module>& modules, const std::string& option,
                     const std::string& name) {
  if (name.empty() || std::ranges::any_of(modules, [&](const symbol::Module& module) {
        return !module.functions(name).empty();
      }))
    return;
  std::vector<std::string> names;
  for (const symbol::Named& function : modules.front().functions("*"))
    names.push_back(function.name.substr(0, function.name.find('(')));
  throw bad_input(
      option + " " + name, "neither the program nor its libraries have such a function",
      base::did_you_mean(name, names,
                         "compile it without -s, and with __attribute__((noinline)) if it is small"));
}

std::unordered_set<std::uint64_t> addresses_of(const Module& module, const std::string& name) {
  std::unordered_set<std::uint64_t> all;
  const auto elf = open_module(module.file);
  if (!elf) return all;
  for (const symbol::Named& function : elf->functions(name))
    if (const auto offset = elf->offset(function.start);
        offset && *offset >= module.offset && *offset - module.offset < module.end - module.start)
      all.insert(module.start + (*offset - module.offset));
  return all;
}

} // namespace

std::optional<FunctionGate> gate_of(const Blocks& blocks, FunctionRange& range) {
  if (range.empty()) return {};
  return FunctionGate(blocks, range, addresses_of);
}

std::string never_entered(const FunctionRange& range) {
  return range.from.empty() || range.begun ? std::string()
                                           : "the program never entered the function " + range.from;
}

void demand_functions(const std::vector<std::string>& command, const FunctionRange& range) {
  const auto file = range.empty() ? std::nullopt : process::find_program(command.front());
  if (!file) return;
  const auto modules = modules_of(*file);
  if (modules.empty()) return;
  demand_function(modules, "--from", range.from);
  demand_function(modules, "--to", range.to);
}

} // namespace recount::trace
