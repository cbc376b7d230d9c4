#include "profile/data_objects.hpp"

#include "base/nearest.hpp"
#include "profile/located.hpp"
#include "profile/recording.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace recount::profile {
namespace {
using ObjectKind = DataObject::Kind;
using Labels = std::vector<std::string>;

constexpr std::size_t most_objects = 1'000'000;
constexpr std::size_t most_variables = 1'000'000; ///< of a process

/// Whether a function only passes an allocation on for its caller.
bool passes_on(const Located& at, const symbol::Frame& frame) {
  const std::string name = frame.function.substr(0, frame.function.find('('));
  const std::string module = short_path(at.module);
  const auto holds = [&](std::string_view part) { return name.find(part) != name.npos; };
  const auto is_of = [&](std::string_view library) { return module.starts_with(library); };
  return frame.file.starts_with("/usr/include/") || name.starts_with("operator new") || holds("std::") ||
         holds("__gnu_cxx::") || name == "malloc" || name == "calloc" || name == "realloc" ||
         is_of("libc.so") || is_of("libc-") || is_of("libstdc++");
}

std::string label_of(const Located& at, const symbol::Frame& frame) {
  const std::string name = at.name_of(frame);
  return frame.line > 0 ? fmt::format("{} ({}:{})", name, short_path(frame.file), frame.line) : name;
}

/// The calls of a site from the first that is the program's own.
Labels labels_of(const DataObject& object, const Naming& naming) {
  struct Call {
    const Located* at;
    const symbol::Frame* frame;
  };
  std::vector<Call> calls;
  for (const std::uint32_t place : object.calls)
    for (const auto& frame : naming.places.at(place).frames)
      calls.push_back({&naming.places[place], &frame});
  auto first =
      std::ranges::find_if(calls, [](const Call& call) { return !passes_on(*call.at, *call.frame); });
  if (first == calls.end()) first = calls.begin();
  Labels labels;
  for (; first != calls.end(); ++first)
    labels.push_back(label_of(*first->at, *first->frame));
  return labels;
}

Labels beginning(const Labels& labels, std::size_t count) {
  return {labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(std::min(count, labels.size()))};
}

std::string block_name(const NamedObject& object, const Labels& labels) {
  return fmt::format("{} {}", object.kind == "heap" ? "heap block from" : "memory mapped by",
                     labels.empty() ? "[unknown]" : fmt::format("{}", fmt::join(labels, ", called by ")));
}

/// Names heap blocks by as few calls as tell them apart.
void name_blocks(std::vector<NamedObject>& named, const std::vector<Labels>& labels) {
  constexpr std::size_t most_calls = 4;
  std::vector<std::map<Labels, std::set<Labels>>> meant(most_calls);
  for (std::size_t calls = 0; calls < most_calls; ++calls)
    for (const Labels& all : labels)
      meant[calls][beginning(all, calls + 1)].insert(beginning(all, most_calls));
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i].kind != "heap" && named[i].kind != "mapped") continue;
    std::size_t calls = 1;
    while (calls < most_calls && meant[calls - 1][beginning(labels[i], calls)].size() > 1)
      ++calls;
    named[i].name = block_name(named[i], beginning(labels[i], calls));
    named[i].calls = labels[i];
  }
}

std::string kind_name(ObjectKind kind) {
  constexpr const char* names[] = {"unknown", "heap", "mapped", "stack", "variable", "file"};
  return names[static_cast<std::size_t>(kind)];
}
} // namespace

std::uint32_t DataObjects::number_of(DataObject object) {
  Key key(object.kind, object.name, object.file, object.calls, object.number);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  if (all_.size() >= most_objects) return 0;
  const auto number = static_cast<std::uint32_t>(all_.size());
  known_.emplace(std::move(key), number);
  all_.push_back(std::move(object));
  return number;
}

const symbol::Module* DataObjects::module(std::uint32_t file, Files& files, const Places& places) {
  auto known = modules_.find(file);
  if (known == modules_.end())
    known = modules_.emplace(file, files.module(places.spaces(), file, debug_path_).module).first;
  return known->second ? &*known->second : nullptr;
}

void DataObjects::count_block(std::uint32_t number, std::uint64_t bytes) {
  if (number == 0) return;
  ++all_[number].blocks;
  all_[number].bytes += bytes;
}

void DataObjects::count_access(std::uint32_t number, std::uint64_t offset) {
  DataObject& object = all_[number];
  if (number == 0 || object.kind == ObjectKind::stack) return; // no beginning that means anything
  object.low = std::min(object.low, offset);
  object.high = std::max(object.high, offset);
}

void ProcessData::module(const trace::Module& module) {
  const auto place = places_->spaces().find(pid_, module.start);
  if (!place) return;
  map_.map(module.start, module.end, place->file);
  constexpr std::size_t most_pending = 4096;
  // Its beginning tells where it is; the offset of a later part may belong to two segments.
  if (module.offset == 0 && pending_.size() < most_pending) pending_.push_back({place->file, module.start});
}

/// Its variables, wherever it was loaded to; once, as it may be mapped in several parts.
void ProcessData::load(const Loaded& loaded) {
  const symbol::Module* const module = objects_->module(loaded.file, *files_, *places_);
  const auto stated = module ? module->address(0) : std::nullopt;
  if (!stated || !loaded_.insert(loaded).second) return;
  const std::uint64_t moved = loaded.start - *stated;
  modules_[loaded.start] = {module->end() + moved, loaded.file};
  for (const symbol::Named& variable : module->variables("*")) {
    if (variable.end <= variable.start || variables_.size() >= most_variables) continue;
    DataObject object;
    object.kind = ObjectKind::variable;
    object.name = variable.name;
    object.file = loaded.file;
    object.number = variable.start;
    object.bytes = variable.end - variable.start;
    const std::uint32_t number = objects_->number_of(std::move(object));
    variables_[variable.start + moved] = {variable.end + moved, number};
  }
}

std::uint32_t ProcessData::object_of(DataObject::Kind kind, std::uint32_t site) {
  const auto known = sites_.find({kind, site});
  if (known != sites_.end()) return known->second;
  DataObject object;
  object.kind = kind;
  for (const std::uint64_t call : map_.site(site))
    object.calls.push_back(places_->place_of(pid_, call));
  return sites_[{kind, site}] = objects_->number_of(std::move(object));
}

bool ProcessData::memory(std::uint64_t kind, std::span<const std::uint64_t> words) {
  if (!map_.take(kind, words)) return false;
  if (const auto& block = map_.made())
    objects_->count_block(object_of(ObjectKind::block, block->number), block->end - block->start);
  const auto [start, end] = map_.gone();
  variables_.erase(variables_.lower_bound(start), variables_.lower_bound(end));
  modules_.erase(modules_.lower_bound(start), modules_.lower_bound(end));
  if (start < end) loaded_.clear(); // what is loaded there next is looked up again
  return true;
}

ProcessData::Found ProcessData::at(const Bounds& all, std::uint64_t address) {
  auto next = all.upper_bound(address);
  if (next == all.begin() || address >= (--next)->second.end) return {};
  return {next->first, next->second.end, next->second.number};
}

ProcessData::Found ProcessData::find(std::uint64_t address) {
  using Region = trace::MemoryMap::Region;
  const auto region = map_.find(address);
  if (region && region->kind == Region::Kind::block)
    return {region->start, region->end, object_of(ObjectKind::block, region->number)};
  DataObject object;
  if (region && region->kind == Region::Kind::stack) {
    object.kind = ObjectKind::stack;
    object.number = region->number;
    return {region->start, region->end, objects_->number_of(object)};
  }
  for (const Loaded& module : pending_)
    load(module);
  pending_.clear();
  if (const Found variable = at(variables_, address); variable.end != 0) return variable;
  Found found = at(modules_, address); // also its memory that is not in the file
  if (region && region->kind == Region::Kind::file) found = {region->start, region->end, region->number};
  if (found.end == 0 && region && region->number != 0)
    return {region->start, region->end, object_of(ObjectKind::mapped, region->number)};
  if (found.end == 0) return {};
  object.kind = ObjectKind::file;
  object.name = places_->spaces().files()[found.number].path;
  found.number = objects_->number_of(object);
  return found;
}

std::uint32_t ProcessData::access(std::uint64_t address) {
  const bool same = last_changes_ == map_.changes() && address >= last_.start && address < last_.end;
  if (!same) last_ = find(address);
  const ObjectKind kind = objects_->all()[last_.number].kind; // a mapping may hold others
  const bool whole = kind == ObjectKind::block || kind == ObjectKind::stack || kind == ObjectKind::variable;
  last_changes_ = whole ? map_.changes() : ~std::uint64_t{0};
  objects_->count_access(last_.number, address - last_.start);
  return last_.number;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> ProcessData::rows() const {
  const ObjectKind kind = objects_->all()[last_.number].kind;
  if (kind != ObjectKind::block && kind != ObjectKind::variable) return {};
  return std::pair{last_.start, last_.end};
}

std::vector<NamedObject> name_objects(const DataObjects& objects, const Places& places,
                                      const Naming& naming) {
  std::vector<NamedObject> named;
  std::vector<Labels> labels;
  std::map<std::pair<std::string, std::uint32_t>, int>
      variables; // of a name in a file: several units may have one
  for (const DataObject& object : objects.all()) {
    NamedObject& one = named.emplace_back();
    one.kind = kind_name(object.kind);
    one.bytes = object.bytes;
    one.blocks = object.blocks;
    one.row = object.row;
    one.low = object.low;
    one.high = object.high;
    Labels& its = labels.emplace_back();
    switch (object.kind) {
    case ObjectKind::unknown: one.name = "unknown memory"; break;
    case ObjectKind::stack: one.name = fmt::format("stack of thread {}", object.number); break;
    case ObjectKind::file: one.name = "file " + object.name; break;
    case ObjectKind::variable:
      one.name = object.name;
      if (object.low <= object.high) ++variables[{object.name, object.file}];
      one.module = places.spaces().files()[object.file].path;
      break;
    case ObjectKind::block:
    case ObjectKind::mapped: its = labels_of(object, naming); break;
    }
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    const DataObject& object = objects.all()[i];
    if (object.kind == ObjectKind::variable && variables[{object.name, object.file}] > 1)
      named[i].name += fmt::format(" at {:#x}", object.number);
  }
  name_blocks(named, labels);
  return named;
}

std::uint64_t address_of(const Watched& watched, const std::string& event, pid_t pid) {
  symbol::Spaces spaces;
  Files files;
  std::vector<std::pair<std::uint64_t, std::uint64_t>>
      seen; ///< where code of each file begins, and its offset
  existing_mappings(pid, [&](const Record& record) {
    spaces.add(record);
    const auto& mapping = std::get<Mapping>(record);
    files.look_at(spaces, mapping.pid);
    if (seen.size() < spaces.files().size()) seen.emplace_back(mapping.start, mapping.offset);
  });
  std::vector<std::string> near;
  for (std::uint32_t file = 0; file < spaces.files().size(); ++file) {
    if (!spaces.files()[file].is_file()) continue;
    auto found = files.module(spaces, file, {});
    if (!found.module) continue;
    const auto variables = found.module->variables(watched.variable);
    if (variables.size() > 1)
      throw bad_input(
          event,
          fmt::format("{} variables in {} have this name", variables.size(), spaces.files()[file].path),
          fmt::format("write the address of one: recount profile -p PID -e mem:ADDRESS"));
    const auto stated = found.module->address(seen[file].second);
    if (variables.empty() || !stated) {
      for (const auto& variable : found.module->variables("*" + watched.variable + "*"))
        near.push_back(variable.name);
      continue;
    }
    return variables[0].start + (seen[file].first - *stated) + watched.offset;
  }
  throw bad_input(event, "no such variable in the program and its libraries: " + watched.variable,
                  base::did_you_mean(watched.variable, near, "nm -C PROGRAM lists them"));
}

} // namespace recount::profile
