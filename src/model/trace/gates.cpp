#include "model/trace/gates.hpp"

#include "base/nearest.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/text.hpp"
#include "count/symbol/module.hpp"

#include <recount/error.hpp>

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

namespace recount::trace {

FunctionGate::FunctionGate(const Blocks& blocks, FunctionRange& range, Find find)
    : blocks_(&blocks),
      range_(&range),
      find_(find),
      between_(range.from.empty()),
      open_(range.from.empty()) {}

void FunctionGate::module(const Module& module) {
  for (const auto& [name, addresses] : {std::pair(&range_->from, &from_), std::pair(&range_->to, &to_)})
    if (!name->empty()) addresses->merge(find_(module, *name));
}

void FunctionGate::thread(std::uint64_t number) {
  if (!inherited_) threads_[number_] = std::move(current_);
  if (!inherited_) current_ = std::move(threads_[number]);
  inherited_ = false;
  number_ = number;
  last_ = none;
  update();
}

FunctionGate FunctionGate::forked() const {
  FunctionGate child(*this);
  child.threads_.clear();
  child.inherited_ = true;
  child.last_ = none;
  return child;
}

void FunctionGate::drop(std::size_t frames) {
  current_.frames.resize(frames);
  if (current_.inside > frames) current_.inside = 0;
}

/// Whose stack is in use again, or was given back.
void FunctionGate::drop_below(std::uint64_t slot) {
  std::size_t kept = current_.frames.size();
  while (kept > 0 && current_.frames[kept - 1].slot <= slot)
    --kept;
  drop(kept);
}

// As setjmp(3) returned there, the stack is as high as when it was called.
void FunctionGate::jump(std::uint64_t address) {
  if (current_.inside == 0) return;
  if (const auto call = current_.slots.find(address); call != current_.slots.end()) drop_below(call->second);
}

void FunctionGate::call(const Blocks::Instruction& by) {
  constexpr std::size_t most = 1 << 20;
  const std::uint64_t slot = by.stores ? accessed_ : 0;
  if (slot != 0) {
    drop_below(slot);
    current_.slots[by.address + by.bytes] = slot;
  }
  if (current_.frames.size() >= most) drop(0);
  current_.frames.push_back({by.address + by.bytes, slot});
}

void FunctionGate::come_back(std::uint64_t address) {
  const Blocks::Instruction& by = blocks_->instruction(last_);
  if (by.loads) return drop_below(accessed_);
  std::size_t kept = current_.frames.size();
  while (kept > 0 && current_.frames[kept - 1].back != address)
    --kept;
  if (kept > 0) drop(kept - 1);
}

void FunctionGate::update() {
  open_ = range_->to.empty() ? current_.inside > 0 : between_;
}

void FunctionGate::block(const Blocks::Block& block) {
  const Blocks::Instruction& next = blocks_->instruction(block.instruction);
  if (last_ != none) {
    const Blocks::Instruction& before = blocks_->instruction(last_);
    if (before.flow == RT_CALL) call(before);
    if (before.flow == RT_RETURN) come_back(next.address);
    if (before.flow == RT_JUMP) jump(next.address);
  }
  if (from_.contains(next.address)) {
    range_->begun = between_ = true;
    // Entered by a jump (tail call) it returns where its caller would have returned.
    if (current_.inside == 0) current_.inside = std::max<std::size_t>(current_.frames.size(), 1);
    if (current_.frames.empty()) current_.frames.push_back({0, ~std::uint64_t{0}});
  }
  if (to_.contains(next.address)) between_ = false;
  update();
  first_ = block.instruction;
  last_ = block.instruction + block.instructions - 1;
}

namespace {

/// Null: no program.
std::unique_ptr<symbol::Module> open_module(const std::string& file) {
  try {
    return symbol::open_module(process::Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)), file);
  } catch (const Error&) {
    return {};
  }
}

using Modules = std::vector<std::unique_ptr<symbol::Module>>;

/// The program, and the libraries that its dynamic linker would load (ld.so(8), --list). Nothing for a
/// script.
Modules find_modules(const std::string& file) {
  Modules all;
  if (auto program = open_module(file)) all.push_back(std::move(program));
  const std::string linker = all.empty() ? std::string() : all.front()->interpreter();
  if (linker.empty()) return all;
  const auto listed = process::capture({{linker, "--list", file}}, {}, std::chrono::seconds(20));
  std::istringstream words(listed.out);
  for (std::string word; words >> word;)
    if (word.starts_with('/'))
      if (auto library = open_module(word)) all.push_back(std::move(library));
  return all;
}

void demand_function(const Modules& modules, const std::string& option, const std::string& name) {
  if (name.empty() || std::ranges::any_of(modules, [&](const std::unique_ptr<symbol::Module>& module) {
        return !module->functions(name).empty();
      }))
    return;
  std::vector<std::string> names;
  for (const symbol::Named& function : modules.front()->functions("*"))
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

std::optional<FunctionGate> make_gate(const Blocks& blocks, FunctionRange& range) {
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
  const auto modules = find_modules(*file);
  if (modules.empty()) return;
  demand_function(modules, "--from", range.from);
  demand_function(modules, "--to", range.to);
}

std::vector<std::pair<int, int>> descriptors(const process::Fd& sink, bool sections) {
  if (!sections) return {};
  return {{sink.get(), process::free_descriptor()}};
}

void SectionGate::take(std::string_view text) {
  while (!name_.empty() && !text.empty()) {
    const auto end = text.find('\n');
    take_line(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

void SectionGate::take_line(std::string_view line) {
  const base::SectionLine section = base::parse_section_line(line);
  if (section.name != name_) return;
  if (section.edge == "begin") ++depth_;
  if (section.edge == "end" && depth_ > 0) --depth_;
  open_ = depth_ > 0;
  seen_ = seen_ || open_;
}

} // namespace recount::trace
