#include "profile/data_objects.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::profile {
namespace {
using ObjectKind = DataObject::Kind;
using Labels = std::vector<std::string>;

constexpr std::size_t most_objects = 1'000'000;
constexpr std::size_t most_variables = 1'000'000; ///< of a process
} // namespace

std::uint32_t DataObjects::number(DataObject object) {
  Key key(object.kind, object.name, object.file, object.calls, object.number);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (all_.size() >= most_objects) return 0;
  const auto number = static_cast<std::uint32_t>(all_.size());
  known_.emplace(std::move(key), number);
  all_.push_back(std::move(object));
  return number;
}

symbol::Module* DataObjects::module(std::uint32_t file, Files& files, const Places& places) {
  const auto [known, added] = modules_.try_emplace(file);
  if (added) known->second = files.module(places.spaces(), file, debug_path_).module;
  return known->second.get();
}

void ProcessData::module(const trace::Module& module) {
  constexpr std::size_t most_pending = 4096;
  const auto place = places_->spaces().find(pid_, module.start);
  if (!place) return;
  map_.map(module.start, module.end, place->file);
  // Its beginning determines its address; the offset of a later part may belong to two segments.
  if (module.offset == 0 && pending_.size() < most_pending) pending_.push_back({place->file, module.start});
}

/// The variables of a module, at the addresses where it was loaded; once, as it may be mapped in several
/// parts.
void ProcessData::load_variables(const Loaded& loaded) {
  symbol::Module* const module = objects_->module(loaded.file, *files_, *places_);
  const auto linked_at = module ? module->address(0) : std::nullopt;
  if (!linked_at || !loaded_.insert(loaded).second) return;
  const std::uint64_t bias = loaded.start - *linked_at;
  modules_[loaded.start] = {loaded.start, module->end() + bias, loaded.file};
  for (const symbol::Named& variable : module->variables("*")) {
    if (variable.end <= variable.start || variables_.size() >= most_variables) continue;
    DataObject object{.kind = ObjectKind::variable, .name = variable.name, .file = loaded.file};
    object.number = variable.start;
    object.bytes = variable.end - variable.start;
    variables_[variable.start + bias] = {variable.start + bias, variable.end + bias,
                                         objects_->number(std::move(object))};
  }
}

std::uint32_t ProcessData::allocated_by(ObjectKind kind, std::uint32_t site) {
  const auto [known, added] = sites_.try_emplace({kind, site});
  if (!added) return known->second;
  DataObject object{.kind = kind};
  for (const std::uint64_t call : map_.site(site))
    object.calls.push_back(places_->user_place(pid_, call));
  return known->second = objects_->number(std::move(object));
}

bool ProcessData::memory(std::uint64_t kind, std::span<const std::uint64_t> words) {
  if (!map_.take(kind, words)) return false;
  if (const auto& block = map_.made())
    if (const std::uint32_t number = allocated_by(ObjectKind::heap, block->number); number != 0) {
      ++(*objects_)[number].blocks;
      (*objects_)[number].bytes += block->end - block->start;
    }
  const auto [start, end] = map_.gone();
  for (Extents* extents : {&variables_, &modules_})
    extents->erase(extents->lower_bound(start), extents->lower_bound(end));
  if (start < end) loaded_.clear(); // what is loaded there next is looked up again
  return true;
}

ProcessData::Extent ProcessData::extent_at(const Extents& all, std::uint64_t address) {
  auto next = all.upper_bound(address);
  if (next == all.begin() || address >= (--next)->second.end) return {};
  return next->second;
}

ProcessData::Extent ProcessData::find(std::uint64_t address) {
  using Region = trace::MemoryMap::Region;
  const auto region = map_.find(address);
  const auto whole_region = [&](std::uint32_t number) { return Extent{region->start, region->end, number}; };
  if (region && region->kind == Region::Kind::block)
    return whole_region(allocated_by(ObjectKind::heap, region->number));
  if (region && region->kind == Region::Kind::stack) {
    DataObject stack{.kind = ObjectKind::stack};
    stack.number = region->number;
    return whole_region(objects_->number(std::move(stack)));
  }
  for (const Loaded& module : pending_)
    load_variables(module);
  pending_.clear();
  if (const Extent variable = extent_at(variables_, address); variable.end != 0) return variable;
  Extent found = extent_at(modules_, address); // also its memory that is not in the file
  if (region && region->kind == Region::Kind::file) found = whole_region(region->number);
  if (found.end == 0 && region && region->number != 0)
    return whole_region(allocated_by(ObjectKind::mapped, region->number));
  if (found.end == 0) return {};
  const std::string& path = places_->spaces().files()[found.number].path;
  found.number = objects_->number({.kind = ObjectKind::file, .name = path});
  return found;
}

std::uint32_t ProcessData::access(std::uint64_t address) {
  const bool same = last_changes_ == map_.changes() && address >= last_.start && address < last_.end;
  if (!same) last_ = find(address);
  DataObject& object = (*objects_)[last_.number];
  // A mapping may contain other objects, so that it is looked up each time.
  const bool whole = object.kind == ObjectKind::heap || object.kind == ObjectKind::stack ||
                     object.kind == ObjectKind::variable;
  last_changes_ = whole ? map_.changes() : ~std::uint64_t{0};
  if (last_.number != 0 && object.kind != ObjectKind::stack) { // a stack has no meaningful start
    object.low = std::min(object.low, address - last_.start);
    object.high = std::max(object.high, address - last_.start);
  }
  return last_.number;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> ProcessData::bounds() const {
  const ObjectKind kind = objects_->all()[last_.number].kind;
  if (kind != ObjectKind::heap && kind != ObjectKind::variable) return {};
  return std::pair{last_.start, last_.end};
}

namespace {
/// Whether a function only allocates for its caller.
bool is_allocator(const Located& at, const symbol::Frame& frame) {
  const std::string name = frame.function.substr(0, frame.function.find('('));
  const std::string module = short_path(at.module);
  return frame.file.starts_with("/usr/include/") || name.starts_with("operator new") ||
         name.find("std::") != name.npos || name.find("__gnu_cxx::") != name.npos || name == "malloc" ||
         name == "calloc" || name == "realloc" || module.starts_with("libc.so") ||
         module.starts_with("libc-") || module.starts_with("libstdc++");
}

/// The calls of a site from the first of the program itself, or all if there is none.
Labels name_calls(const DataObject& object, const Naming& naming) {
  Labels labels;
  std::size_t first = 0;
  bool own = false;
  for (const std::uint32_t place : object.calls) {
    const Located& at = naming.places.at(place);
    for (const symbol::Frame& frame : at.frames) {
      if (!own && !is_allocator(at, frame)) {
        own = true;
        first = labels.size();
      }
      const std::string name = at.name_of(frame);
      labels.push_back(frame.line > 0 ? fmt::format("{} ({}:{})", name, short_path(frame.file), frame.line)
                                      : name);
    }
  }
  labels.erase(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(first));
  return labels;
}

Labels innermost(const Labels& labels, std::size_t count) {
  return {labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(std::min(count, labels.size()))};
}

/// Names allocated memory by as few calls as distinguish it.
void name_blocks(std::vector<DataObject>& objects) {
  constexpr std::size_t most_calls = 4;
  std::vector<std::map<Labels, std::set<Labels>>> denoted(most_calls + 1); // by number of calls
  for (const DataObject& object : objects)
    for (std::size_t calls = 1; calls <= most_calls; ++calls)
      denoted[calls][innermost(object.call_names, calls)].insert(innermost(object.call_names, most_calls));
  for (DataObject& object : objects) {
    if (object.kind != ObjectKind::heap && object.kind != ObjectKind::mapped) continue;
    std::size_t calls = 1;
    while (calls < most_calls && denoted[calls][innermost(object.call_names, calls)].size() > 1)
      ++calls;
    const Labels labels = innermost(object.call_names, calls);
    object.name = object.kind == ObjectKind::heap ? "heap block from " : "memory mapped by ";
    object.name += labels.empty() ? "[unknown]" : fmt::format("{}", fmt::join(labels, ", called by "));
  }
}
} // namespace

std::string name_of(ObjectKind kind) {
  constexpr const char* names[] = {"unknown", "heap", "mapped", "stack", "variable", "file"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<DataObject> name_objects(const DataObjects& objects, const Places& places, const Naming& naming) {
  std::vector<DataObject> named = objects.all();
  std::map<std::pair<std::string, std::uint32_t>, int> variables; // units of one file may share a name
  for (const DataObject& object : named)
    if (object.kind == ObjectKind::variable && object.low <= object.high)
      ++variables[{object.name, object.file}];
  for (DataObject& object : named) {
    switch (object.kind) {
    case ObjectKind::unknown: object.name = "unknown memory"; break;
    case ObjectKind::stack: object.name = fmt::format("stack of thread {}", object.number); break;
    case ObjectKind::file: object.name = "file " + object.name; break;
    case ObjectKind::variable:
      object.module = places.spaces().files()[object.file].path;
      if (variables[{object.name, object.file}] > 1) object.name += fmt::format(" at {:#x}", object.number);
      break;
    case ObjectKind::heap:
    case ObjectKind::mapped: object.call_names = name_calls(object, naming); break;
    }
  }
  name_blocks(named);
  return named;
}

} // namespace recount::profile
