#include "commands/profile/places.hpp"

#include "base/nearest.hpp"
#include "base/statistics/statistics.hpp"
#include "base/text.hpp"
#include "count/symbol/disassembly.hpp"
#include "count/symbol/memory_symbols.hpp"

#include <recount/error.hpp>

#include <boost/math/distributions/binomial.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>

namespace recount::profile {

std::string short_path(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// The file as it was mapped, if its inode is known; else any of this path. What a process maps in its own
/// namespace may have another path there than in /proc/PID/maps.
process::Fd Files::open(const symbol::MappedFile& file, int root) const {
  const auto is_mapped_file = [&file](const process::Fd& fd) {
    struct stat status {};
    return fd && (file.inode == 0 || (::fstat(fd.get(), &status) == 0 && status.st_ino == file.inode));
  };
  process::Fd seen = process::open_regular(file.path, root);
  if (root < 0 || is_mapped_file(seen)) return seen;
  process::Fd here = process::open_regular(file.path);
  return seen && !is_mapped_file(here) ? std::move(seen) : std::move(here);
}

void Files::add(const Record& record, const symbol::Spaces& spaces) {
  constexpr std::size_t max_open = 512;
  if (const auto* fork = std::get_if<Fork>(&record); fork != nullptr && fork->pid != fork->parent_pid) {
    views_.fork(fork->parent_pid, fork->pid);
    seen_.erase(fork->pid);
  }
  const auto* const mapping = std::get_if<Mapping>(&record);
  if (mapping == nullptr) return;
  // A process changes its root before it executes something there.
  if (seen_.insert(mapping->pid).second || open_.size() < spaces.files().size()) views_.look(mapping->pid);
  while (open_.size() < spaces.files().size()) {
    const auto& file = spaces.files()[open_.size()];
    process::Fd fd;
    if (file.is_file() && open_.size() < max_open) fd = open(file, views_.root(mapping->pid));
    open_.push_back(std::move(fd));
  }
}

namespace {
bool is_replaced(const symbol::MappedFile& mapped, const symbol::Module& module, ino_t inode) {
  if (mapped.build_id.empty()) return mapped.inode != 0 && mapped.inode != inode;
  const auto id = module.build_id(); // the kernel pads a shorter one with zeros
  return id.size() > mapped.build_id.size() || !std::equal(id.begin(), id.end(), mapped.build_id.begin());
}
} // namespace

process::Fd Files::descriptor(const symbol::Spaces& spaces, std::uint32_t file) const {
  if (spaces.files()[file].path == "[vdso]") return symbol::vdso_file();
  process::Fd fd;
  if (file < open_.size() && open_[file]) fd.reset(::fcntl(open_[file].get(), F_DUPFD_CLOEXEC, 0));
  return fd ? std::move(fd) : process::open_regular(spaces.files()[file].path);
}

Files::Found Files::module(const symbol::Spaces& spaces, std::uint32_t file, const std::string& debug_path) {
  const auto& mapped = spaces.files()[file];
  try {
    if (mapped.path == "[vdso]") return {symbol::vdso(debug_path)};
    process::Fd fd = descriptor(spaces, file);
    if (!fd) return {nullptr, std::strerror(errno)};
    struct stat status {};
    ::fstat(fd.get(), &status);
    auto module = symbol::open_module(std::move(fd), mapped.path, debug_path);
    if (is_replaced(mapped, *module, status.st_ino))
      return {nullptr, "the file was replaced since it was mapped"};
    return {std::move(module)};
  } catch (const Error& error) {
    return {nullptr, error.problem().cause};
  }
}

std::vector<MappedModule> mapped_modules(pid_t pid, const std::string& debug_path) {
  const auto number = static_cast<std::uint32_t>(pid);
  symbol::Spaces spaces;
  Files files;
  existing_mappings(pid, [&](const Record& record) {
    spaces.add(record);
    files.add(record, spaces);
  });
  std::vector<MappedModule> all;
  for (std::uint32_t file = 0; file < spaces.files().size(); ++file) {
    const symbol::MappedFile& mapped = spaces.files()[file];
    const auto mapping = spaces.mapped(number, file);
    if (!mapped.is_file() || !mapping) continue;
    if (auto module = files.module(spaces, file, debug_path).module)
      all.push_back(
          {mapped.path, files.descriptor(spaces, file), std::move(module), mapping->first, mapping->second});
  }
  return all;
}

void add(std::vector<Tally>& sum, std::span<const Tally> more) {
  sum.resize(more.size());
  for (std::size_t e = 0; e < more.size(); ++e)
    sum[e] += more[e];
}

bool without_samples(std::span<const Tally> tallies) {
  return std::ranges::all_of(tallies, [](const Tally& tally) { return tally.samples == 0; });
}

std::size_t Places::Hash::operator()(const Place& p) const noexcept {
  std::uint64_t h = p.offset * 0x9e3779b97f4a7c15U + (std::uint64_t{p.file} << 8U) +
                    static_cast<std::uint64_t>(p.kind) + (std::uint64_t{p.object} << 40U) +
                    (std::uint64_t{p.pid} << 16U);
  h ^= h >> 32U;
  return static_cast<std::size_t>(h * 0xbf58476d1ce4e5b9U);
}

Places::Places(std::vector<bool> after, bool chains)
    : after_(std::move(after)),
      with_chains_(chains),
      chain_tallies_(events()),
      totals_(events()),
      squares_(events()),
      chains_(1) {}

void Places::add(const Record& record) {
  if (const auto* sample = std::get_if<Sample>(&record))
    add_sample(*sample);
  else {
    spaces_.add(record);
    if (with_chains_) name_process(record);
  }
}

void Places::name_process(const Record& record) {
  constexpr std::size_t max_processes = 1'000'000, max_names = 65536;
  if (const auto* fork = std::get_if<Fork>(&record); fork != nullptr && fork->pid != fork->parent_pid) {
    const auto parent = processes_.find(fork->parent_pid);
    if (parent == processes_.end() || processes_.size() >= max_processes) return;
    const std::uint32_t name = parent->second;
    processes_[fork->pid] = name;
  }
  const auto* name = std::get_if<Name>(&record);
  if (name == nullptr || name->name.empty() || !(name->exec || name->pid == name->tid) ||
      processes_.size() >= max_processes)
    return;
  auto known = process_numbers_.find(name->name);
  if (known == process_numbers_.end()) {
    if (process_names_.size() >= max_names) return;
    known = process_numbers_.emplace(name->name, static_cast<std::uint32_t>(process_names_.size())).first;
    process_names_.emplace_back(name->name);
  }
  processes_[name->pid] = known->second;
}

std::uint32_t Places::chain_of_process(std::uint32_t pid) {
  const auto known = processes_.find(pid);
  return known == processes_.end() ? 0 : intern_chain({0, intern({Place::Kind::process, known->second})});
}

double Places::effective(std::size_t event) const {
  const auto weight = static_cast<double>(totals_[event].weight);
  return squares_[event] > 0 ? weight * weight / squares_[event] : 0;
}

std::uint32_t Places::intern(const Place& wanted) {
  constexpr std::size_t max_places = 1'000'000;
  const bool full = places_.size() >= max_places;
  const Place place = full && !known_.contains(wanted) ? Place{Place::Kind::many} : wanted;
  const auto [at, added] = known_.emplace(place, static_cast<std::uint32_t>(places_.size()));
  if (added) {
    places_.push_back(place);
    tallies_.resize(places_.size() * events());
  }
  return at->second;
}

/// 0: there is no room for another one.
std::uint32_t Places::intern_chain(const Chain& chain) {
  constexpr std::size_t max_chains = 1'000'000;
  const std::uint64_t key = std::uint64_t{chain.caller} << 32U | chain.place;
  if (const auto known = known_chains_.find(key); known != known_chains_.end()) return known->second;
  if (chains_.size() >= max_chains) return 0;
  const auto number = static_cast<std::uint32_t>(chains_.size());
  known_chains_.emplace(key, number);
  chains_.push_back(chain);
  chain_tallies_.resize(chains_.size() * events());
  return number;
}

std::uint32_t Places::place(std::uint32_t pid, Mode mode, std::uint64_t address, std::uint32_t object) {
  if (mode == Mode::kernel) return intern({Place::Kind::kernel, 0, address, object});
  const auto found = mode == Mode::user ? spaces_.find(pid, address) : std::nullopt;
  if (!found) return intern({Place::Kind::unknown, 0, address, object});
  const auto& mapped = spaces_.files()[found->file];
  const bool in_file = mapped.is_file() || mapped.path == "[vdso]";
  return intern({in_file ? Place::Kind::file : Place::Kind::memory, found->file, found->offset, object,
                 in_file ? 0 : pid});
}

void Places::add_tally(std::uint32_t place, std::uint32_t chain, std::size_t event, const Tally& tally) {
  tallies_[place * events() + event] += tally;
  totals_[event] += tally;
  if (with_chains_) chain_tallies_[chain * events() + event] += tally;
}

void Places::add_sample(const Sample& s) {
  // A trap reports the next instruction; the byte before it belongs to the one that caused it.
  const std::uint64_t back = after_[s.event] && s.mode == Mode::user && s.ip > 0 ? 1 : 0;
  const std::uint32_t innermost = place(s.pid, s.mode, s.ip - back);
  add_tally(innermost, with_chains_ ? chain_of_sample(s, innermost) : 0, s.event, {1, s.period});
  squares_[s.event] += static_cast<double>(s.period) * static_cast<double>(s.period);
}

void Places::count(std::uint32_t pid, std::uint64_t address, std::size_t event, const Tally& tally,
                   std::uint32_t object) {
  const std::uint32_t at = place(pid, Mode::user, address, object);
  add_tally(at, with_chains_ ? intern_chain({chain_of_process(pid), at}) : 0, event, tally);
  const auto weight = static_cast<double>(tally.weight);
  squares_[event] += weight * weight / static_cast<double>(std::max<std::uint64_t>(tally.samples, 1));
}

/// The kernel records addresses innermost first, with markers where the mode changes; all but the innermost
/// are return addresses, whose calls end right before them.
std::uint32_t Places::chain_of_sample(const Sample& s, std::uint32_t innermost) {
  std::vector<std::uint32_t> frames{innermost};
  Mode mode = s.mode;
  bool first = true;
  for (const std::uint64_t address : s.chain) {
    if (address >= PERF_CONTEXT_MAX) {
      mode = address == PERF_CONTEXT_KERNEL ? Mode::kernel
             : address == PERF_CONTEXT_USER ? Mode::user
                                            : Mode::unknown;
      continue;
    }
    if (address > 0 && !(first && address == s.ip)) frames.push_back(place(s.pid, mode, address - 1));
    first = false;
  }
  std::uint32_t chain = chain_of_process(s.pid);
  for (const std::uint32_t frame : frames | std::views::reverse) {
    const std::uint32_t next = intern_chain({chain, frame});
    if (next == 0) break;
    chain = next;
  }
  return chain;
}

std::string Located::name_of(const symbol::Frame& frame) const {
  return frame.function.empty() ? fmt::format("{}+{:#x}", short_path(module), address) : frame.function;
}

std::string Located::source() const {
  const symbol::Frame& innermost = frames.front();
  return innermost.line > 0 ? fmt::format("{}:{}", short_path(innermost.file), innermost.line)
                            : std::string();
}

namespace {
using Indices = std::vector<std::size_t>;

using FunctionCode = std::map<std::uint64_t, std::vector<symbol::Instruction>>; ///< by start of a function

/// Instructions have no fixed size: one is found by disassembling its function, once for each.
void name_instruction(Located& at, const symbol::Module& module, FunctionCode& functions) {
  constexpr std::uint64_t largest = 1 << 20;
  if (at.start == 0 || at.end <= at.start || at.end - at.start > largest) return;
  auto [known, added] = functions.try_emplace(at.start);
  if (added)
    known->second =
        symbol::disassemble(module.machine(), module.bytes(at.start, at.end - at.start), at.start);
  const auto& all = known->second;
  auto it = std::ranges::upper_bound(all, at.address, {}, &symbol::Instruction::address);
  if (it == all.begin() || at.address >= (--it)->address + it->size) return;
  at.address = it->address;
  at.instruction = it->text;
}

/// Whether these places have at least 1 % of the samples of an event.
bool is_frequent(const Places& places, const Indices& which) {
  std::vector<Tally> sum;
  for (const std::size_t i : which)
    add(sum, places.tally(i));
  for (std::size_t e = 0; e < places.events(); ++e)
    if (sum[e].samples * 100 > places.total(e).samples) return true;
  return false;
}

/// Names the places of one file.
void name_file(const Places& places, const Indices& which, Files& files, const std::string& debug_path,
               bool instructions, Naming& naming) {
  const std::uint32_t file = places.places()[which.front()].file;
  const auto found = files.module(places.spaces(), file, debug_path);
  FunctionCode functions;
  bool lineless = false;
  for (const std::size_t i : which) {
    Located& at = naming.places[i];
    if (found.module) {
      at.address = found.module->address(at.address).value_or(at.address);
      at.frames = found.module->frames(at.address);
      if (const auto function = found.module->function(at.address)) {
        at.start = function->start;
        at.end = function->end;
      }
      if (instructions) name_instruction(at, *found.module, functions);
    }
    lineless = lineless || at.frames.front().line == 0;
  }
  if (!lineless || !is_frequent(places, which)) return;
  if (const std::string lacks = found.module ? found.module->lacks() : found.missing; !lacks.empty())
    naming.notes.push_back(places.spaces().files()[file].path + ": " + lacks);
}

/// Adds the functions of the jitdump files that a process has mapped, "jit-PID.dump".
void add_dumps(const Places& places, const Files& files, std::uint32_t pid, symbol::JitSymbols& functions) {
  constexpr std::size_t largest = 1U << 30U;
  const std::string name = fmt::format("jit-{}.dump", pid);
  const auto& mapped = places.spaces().files();
  for (std::uint32_t file = 0; file < mapped.size(); ++file) {
    if (!mapped[file].is_file() || short_path(mapped[file].path) != name) continue;
    const process::Fd fd = files.descriptor(places.spaces(), file);
    if (!fd || ::lseek(fd.get(), 0, SEEK_SET) != 0) continue;
    if (const auto bytes = base::read_all(fd.get(), largest)) functions.add_dump(*bytes);
  }
}

/// Names the places of one process in memory that is no file: generated code.
void name_memory(const Places& places, const Indices& which, const Files& files, Naming& naming) {
  const std::uint32_t pid = places.places()[which.front()].pid;
  symbol::JitSymbols functions;
  std::string missing;
  functions.add_map(symbol::perf_map_text(files.views(), pid, missing));
  const std::uint32_t known = files.views().own_pid(pid), own = known != 0 ? known : pid;
  add_dumps(places, files, own, functions);
  for (const std::size_t i : which) {
    Located& at = naming.places[i];
    const auto* const found = functions.find(at.address);
    if (found == nullptr) continue;
    at.module = "[jit]";
    at.frames[0].function = found->second.name;
    at.start = found->first;
    at.end = found->second.end;
  }
  if (!functions.empty() || !is_frequent(places, which)) return;
  naming.notes.push_back(
      missing.empty()
          ? fmt::format("process {} ran generated code without names: it wrote no /tmp/perf-{}.map and no "
                        "jit-{}.dump (see GENERATED CODE in recount-profile(1))",
                        pid, own, own)
          : missing);
}

void name_kernel(const Indices& which, Naming& naming) {
  const auto kernel = symbol::KernelSymbols::here();
  for (const std::size_t i : which) {
    Located& at = naming.places[i];
    const auto found = kernel.find(at.address);
    if (!found) continue;
    if (!found->module.empty()) at.module = fmt::format("[kernel {}]", found->module);
    at.frames[0].function = found->name;
    at.start = found->start;
    at.end = found->end;
  }
  if (!kernel.hidden().empty()) naming.notes.push_back("[kernel]: " + kernel.hidden());
}

std::string module_name(const Place& place, const symbol::Spaces& spaces) {
  switch (place.kind) {
  case Place::Kind::file:
  case Place::Kind::memory: return spaces.files()[place.file].path;
  case Place::Kind::kernel: return "[kernel]";
  case Place::Kind::many: return "[other places]";
  case Place::Kind::process: return {};
  case Place::Kind::unknown: break;
  }
  return "[unknown]";
}
} // namespace

Naming name_places(const Places& places, Files& files, const std::string& debug_path, bool instructions) {
  Naming naming;
  std::map<std::uint32_t, Indices> by_file;
  std::map<std::uint32_t, Indices> memory; // by process
  Indices kernel;
  for (const Place& place : places.places()) {
    if (place.kind == Place::Kind::file) by_file[place.file].push_back(naming.places.size());
    if (place.kind == Place::Kind::memory) memory[place.pid].push_back(naming.places.size());
    if (place.kind == Place::Kind::kernel) kernel.push_back(naming.places.size());
    Located& at = naming.places.emplace_back();
    at.module = module_name(place, places.spaces());
    at.address = place.offset;
    at.frames.resize(1);
    if (place.kind == Place::Kind::process) at.frames[0].function = places.process_names()[place.file];
  }
  for (const auto& [file, which] : by_file)
    name_file(places, which, files, debug_path, instructions, naming);
  for (const auto& [pid, which] : memory)
    name_memory(places, which, files, naming);
  if (!kernel.empty()) name_kernel(kernel, naming);
  return naming;
}

namespace {
using ObjectKind = DataObject::Kind;
using Labels = std::vector<std::string>;

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
  constexpr std::size_t max_calls = 4;
  std::vector<std::map<Labels, std::set<Labels>>> denoted(max_calls + 1); // by number of calls
  for (const DataObject& object : objects)
    for (std::size_t calls = 1; calls <= max_calls; ++calls)
      denoted[calls][innermost(object.call_names, calls)].insert(innermost(object.call_names, max_calls));
  for (DataObject& object : objects) {
    if (object.kind != ObjectKind::heap && object.kind != ObjectKind::mapped) continue;
    std::size_t calls = 1;
    while (calls < max_calls && denoted[calls][innermost(object.call_names, calls)].size() > 1)
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

std::vector<DataObject> name_objects(const std::vector<DataObject>& objects, const Places& places,
                                     const Naming& naming) {
  std::vector<DataObject> named = objects;
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

std::map<std::vector<std::string>, Tally> chains_by_name(const Places& places, const Naming& naming,
                                                         std::size_t event, const std::string& inlined,
                                                         bool processes) {
  std::map<std::vector<std::string>, Tally> sums; // other addresses of the same functions are the same chain
  for (std::size_t chain = 1; chain < places.chains().size(); ++chain) {
    const Tally& tally = places.chain_tally(chain)[event];
    if (tally.samples == 0) continue;
    std::vector<std::string> names;
    for (std::size_t c = chain; c != 0; c = places.chains()[c].caller) {
      const std::uint32_t place = places.chains()[c].place;
      if (!processes && places.places()[place].kind == Place::Kind::process) continue;
      const Located& at = naming.places[place];
      for (const symbol::Frame& frame : at.frames)
        names.push_back(at.name_of(frame) + (frame.inlined ? inlined : ""));
    }
    sums[std::move(names)] += tally;
  }
  return sums;
}

std::string folded(const Places& places, const Naming& naming, std::size_t event) {
  std::map<std::string, std::uint64_t> lines;
  for (auto& [names, tally] : chains_by_name(places, naming, event, "", true)) {
    std::vector<std::string> words(names.rbegin(), names.rend());
    for (char& c : words | std::views::join) {
      if (c == ';') c = ':';
      if (static_cast<unsigned char>(c) <= ' ') c = '_';
    }
    lines[fmt::format("{}", fmt::join(words, ";"))] += tally.weight;
  }
  std::string text;
  for (const auto& [line, weight] : lines)
    text += fmt::format("{} {}\n", line, weight);
  return text;
}

namespace {
/// In the order of By.
const std::vector<std::string> by_names{"module",  "symbol", "function",   "line",
                                        "address", "object", "line+object"};

/// The row of one place alone; what `by` does not distinguish is empty.
ProfileRow make_row(const Located& at, By by) {
  ProfileRow row;
  if (by == By::object) return row;
  row.module = at.module;
  if (by == By::module) return row;
  const symbol::Frame& frame = by == By::symbol ? at.function() : at.frames.front();
  row.function = frame.function;
  row.inlined = frame.inlined;
  const bool by_name = by == By::symbol || by == By::function;
  if (!row.inlined && !(by_name && row.function.empty())) {
    row.start = at.start;
    row.end = at.end;
  }
  if (by_name) return row;
  row.source = at.source();
  row.file = frame.file;
  row.line = frame.line;
  if (by == By::address || row.line == 0) row.address = at.address;
  if (by == By::address) row.instruction = at.instruction;
  return row;
}

void add_object(std::optional<DataObject>& sum, const DataObject& object) {
  if (!sum) {
    sum = object;
    return;
  }
  sum->bytes += object.bytes;
  sum->blocks += object.blocks;
  sum->low = std::min(sum->low, object.low);
  sum->high = std::max(sum->high, object.high);
}
} // namespace

By parse_by(const std::string& name) {
  const auto known = std::ranges::find(by_names, name);
  if (known == by_names.end())
    throw bad_input(
        "--by " + name, "is not a grouping of samples",
        base::did_you_mean(name, by_names, "module, symbol, function, line, address, object or line+object"));
  return static_cast<By>(known - by_names.begin());
}

std::string name_of(By by) {
  return by_names[static_cast<std::size_t>(by)];
}

bool by_object(By by) {
  return by == By::object || by == By::line_object;
}

By figure_by(const std::vector<By>& ways) {
  const bool by_symbol = ways.empty() || ways.front() == By::address || by_object(ways.front()) ||
                         std::ranges::find(ways, By::symbol) != ways.end();
  return by_symbol ? By::symbol : ways.front();
}

Share share_of(double k, double n) {
  Share share;
  if (!(n > 0)) return share;
  k = std::clamp(k, 0.0, n);
  share.value = k / n;
  constexpr double tail = 0.025;
  using Binomial = boost::math::binomial_distribution<double, statistics::Double>;
  share.low = k > 0 ? Binomial::find_lower_bound_on_p(n, k, tail) : 0;
  share.high = k < n ? Binomial::find_upper_bound_on_p(n, k, tail) : 1;
  return share;
}

Share share_of(const Tally& part, const Places& places, std::size_t event, bool exact) {
  const double all = static_cast<double>(places.total(event).weight), n = places.effective(event);
  Share share = share_of(all > 0 ? static_cast<double>(part.weight) / all * n : 0, n);
  share.exact = exact && n > 0;
  if (share.exact) share.low = share.high = share.value;
  return share;
}

std::vector<ProfileRow> group_places(const Places& places, const Naming& naming, By by) {
  using Key =
      std::tuple<std::string, std::string, std::string, int, std::uint64_t, std::uint64_t, std::string>;
  std::map<Key, ProfileRow> rows;
  std::set<std::pair<const ProfileRow*, std::uint32_t>> added; // objects of a row
  for (std::size_t i = 0; i < naming.places.size(); ++i) {
    if (without_samples(places.tally(i))) continue; // only in chains
    ProfileRow one = make_row(naming.places[i], by);
    const std::uint32_t number = by_object(by) ? places.places()[i].object : 0;
    const DataObject* const object = number > 0 ? &naming.objects.at(number - 1) : nullptr;
    Key key(one.module, one.function, one.file, one.line, one.address, one.start,
            object ? object->name + '\n' + object->module : std::string());
    ProfileRow& row = rows.try_emplace(std::move(key), std::move(one)).first->second;
    if (object && added.emplace(&row, number).second) add_object(row.object, *object);
    add(row.tallies, places.tally(i));
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows)
    sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, [](const ProfileRow& a, const ProfileRow& b) {
    return std::ranges::lexicographical_compare(a.tallies, b.tallies, std::greater(), &Tally::weight,
                                                &Tally::weight);
  });
  return sorted;
}

} // namespace recount::profile
