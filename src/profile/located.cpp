#include "profile/located.hpp"

#include "symbol/disassembly.hpp"
#include "symbol/kernel_symbols.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

namespace recount::profile {
namespace {
using Kind = Place::Kind;
using Indices = std::vector<std::size_t>;

/// The disassembled functions, cached.
class Instructions {
public:
  explicit Instructions(const symbol::Module& module) : module_(module) {}
  /// Instructions have no fixed size: one is found by going from the beginning of its function.
  void name(Located& at) {
    if (at.start == 0 || at.end <= at.start || at.end - at.start > largest) return;
    auto [known, added] = functions_.try_emplace(at.start);
    if (added)
      known->second =
          symbol::disassemble(module_.machine(), module_.bytes(at.start, at.end - at.start), at.start);
    const auto& all = known->second;
    auto it = std::ranges::upper_bound(all, at.address, {}, &symbol::Instruction::address);
    if (it == all.begin() || at.address >= (--it)->address + it->size) return;
    at.address = it->address;
    at.instruction = it->text;
  }

private:
  static constexpr std::uint64_t largest = 1 << 20;
  const symbol::Module& module_;
  std::map<std::uint64_t, std::vector<symbol::Instruction>> functions_;
};

void name_in_module(Located& at, symbol::Module& module) {
  at.address = module.address(at.address).value_or(at.address);
  at.frames = module.frames(at.address);
  if (const auto function = module.function(at.address)) {
    at.start = function->start;
    at.end = function->end;
  }
}

/// Whether it has enough samples to explain why it has no lines.
bool matters(const Places& places, const Indices& which) {
  for (std::size_t e = 0; e < places.events(); ++e) {
    std::uint64_t samples = 0;
    for (const std::size_t i : which)
      samples += places.tally(i)[e].samples;
    if (samples * 100 > places.total(e).samples) return true;
  }
  return false;
}

/// Of the places of one file.
void name_file(const Places& places, const Indices& which, Files& files, const NamingOptions& options,
               Naming& naming) {
  const std::uint32_t file = places.places()[which.front()].file;
  const auto& mapped = places.spaces().files()[file];
  auto found = files.module(places.spaces(), file, options.debug_path);
  std::optional<Instructions> instructions;
  if (found.module && options.instructions) instructions.emplace(*found.module);
  bool lineless = false;
  for (const std::size_t i : which) {
    Located& at = naming.places[i];
    at.module = mapped.path;
    at.address = places.places()[i].offset;
    at.frames.resize(1);
    if (found.module) name_in_module(at, *found.module);
    if (instructions) instructions->name(at);
    lineless = lineless || at.frames.front().line == 0;
  }
  if (lineless && !found.trouble.empty() && matters(places, which))
    naming.notes.push_back(mapped.path + ": " + found.trouble);
}

void name_kernel(const Places& places, const Indices& which, Naming& naming) {
  const auto kernel = symbol::KernelSymbols::here();
  for (const std::size_t i : which) {
    Located& at = naming.places[i];
    at.module = "[kernel]";
    at.address = places.places()[i].offset;
    at.frames.resize(1);
    const auto found = kernel.find(at.address);
    if (!found) continue;
    if (!found->module.empty()) at.module = fmt::format("[kernel {}]", found->module);
    at.frames[0].function = found->name;
    at.start = found->start;
    at.end = found->end;
  }
  if (!kernel.hidden().empty()) naming.notes.push_back("[kernel]: " + kernel.hidden());
}

void name_other(const Places& places, std::size_t i, Naming& naming) {
  const Place& place = places.places()[i];
  Located& at = naming.places[i];
  at.module = place.kind == Kind::memory ? places.spaces().files()[place.file].path
              : place.kind == Kind::many ? "[other places]"
                                         : "[unknown]";
  at.address = place.offset;
  at.frames.resize(1);
}
} // namespace

std::string Located::name_of(const symbol::Frame& frame) const {
  return frame.function.empty() ? fmt::format("{}+{:#x}", short_path(module), address) : frame.function;
}

std::string Located::source() const {
  const symbol::Frame& innermost = frames.front();
  return innermost.line > 0 ? fmt::format("{}:{}", short_path(innermost.file), innermost.line)
                            : std::string();
}

std::string short_path(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

Naming name_places(const Places& places, Files& files, const NamingOptions& options) {
  Naming naming;
  naming.places.resize(places.places().size());
  std::map<std::uint32_t, Indices> by_file;
  Indices kernel;
  for (std::size_t i = 0; i < places.places().size(); ++i) {
    const Place& place = places.places()[i];
    if (place.kind == Kind::file)
      by_file[place.file].push_back(i);
    else if (place.kind == Kind::kernel)
      kernel.push_back(i);
    else
      name_other(places, i, naming);
  }
  for (const auto& [file, which] : by_file)
    name_file(places, which, files, options, naming);
  if (!kernel.empty()) name_kernel(places, kernel, naming);
  return naming;
}

namespace {
constexpr std::size_t most_places = 1'000'000;
constexpr std::size_t most_chains = 1'000'000;
} // namespace

std::size_t Places::Hash::operator()(const Place& p) const noexcept {
  std::uint64_t h = p.offset * 0x9e3779b97f4a7c15U + (std::uint64_t{p.file} << 8U) +
                    static_cast<std::uint64_t>(p.kind) + (std::uint64_t{p.object} << 40U);
  h ^= h >> 32U;
  return static_cast<std::size_t>(h * 0xbf58476d1ce4e5b9U);
}

Places::Places(std::vector<bool> after, bool chains)
    : after_(std::move(after)),
      with_chains_(chains),
      totals_(after_.size()),
      squares_(after_.size()),
      chains_(1) {
  chain_tallies_.resize(events());
}

void Places::add(const Record& record) {
  if (const auto* sample = std::get_if<Sample>(&record))
    add_sample(*sample);
  else
    spaces_.add(record);
}

double Places::effective(std::size_t event) const {
  const auto weight = static_cast<double>(totals_[event].weight);
  return squares_[event] > 0 ? weight * weight / squares_[event] : 0;
}

std::uint32_t Places::intern(const Place& wanted) {
  const bool full = places_.size() >= most_places;
  const Place place = full && !known_.contains(wanted) ? Place{Place::Kind::many} : wanted;
  const auto [at, added] = known_.emplace(place, static_cast<std::uint32_t>(places_.size()));
  if (added) {
    places_.push_back(place);
    tallies_.resize(places_.size() * events());
  }
  return at->second;
}

std::uint32_t Places::place(std::uint32_t pid, Mode mode, std::uint64_t address, std::uint32_t object) {
  if (mode == Mode::kernel) return intern({Place::Kind::kernel, 0, address, object});
  const auto found = mode == Mode::user ? spaces_.find(pid, address) : std::nullopt;
  if (!found) return intern({Place::Kind::unknown, 0, address, object});
  const auto& mapped = spaces_.files()[found->file];
  const bool in_file = mapped.is_file() || mapped.path == "[vdso]";
  return intern({in_file ? Place::Kind::file : Place::Kind::memory, found->file, found->offset, object});
}

void Places::add_sample(const Sample& s) {
  // What was executed last ends right before the instruction that a trap names.
  const std::uint64_t back = after_[s.event] && s.mode == Mode::user && s.ip > 0 ? 1 : 0;
  const std::uint32_t innermost = place(s.pid, s.mode, s.ip - back);
  Tally& tally = tallies_[innermost * events() + s.event];
  Tally& total = totals_[s.event];
  for (Tally* t : {&tally, &total}) {
    ++t->samples;
    t->weight += s.period;
  }
  squares_[s.event] += static_cast<double>(s.period) * static_cast<double>(s.period);
  if (with_chains_) add_chain(s, innermost);
}

void Places::count(std::uint32_t pid, std::uint64_t address, std::size_t event, std::uint64_t samples,
                   std::uint64_t weight, std::uint32_t object) {
  const std::uint32_t at = place(pid, Mode::user, address, object);
  const std::uint32_t chain = with_chains_ ? child(0, at) : 0;
  const auto add = [&](Tally& tally) {
    tally.samples += samples;
    tally.weight += weight;
  };
  add(tallies_[at * events() + event]);
  add(totals_[event]);
  if (chain != 0) add(chain_tallies_[chain * events() + event]);
  const auto each = static_cast<double>(weight) / static_cast<double>(std::max<std::uint64_t>(samples, 1));
  squares_[event] += each * static_cast<double>(weight);
}

std::uint32_t Places::child(std::uint32_t caller, std::uint32_t place) {
  const std::uint64_t key = std::uint64_t{caller} << 32U | place;
  const auto known = known_chains_.find(key);
  if (known != known_chains_.end()) return known->second;
  if (chains_.size() >= most_chains) return 0;
  const auto made = static_cast<std::uint32_t>(chains_.size());
  known_chains_.emplace(key, made);
  chains_.push_back({caller, place});
  chain_tallies_.resize(chains_.size() * events());
  return made;
}

/// The kernel records addresses innermost first, with markers where the mode changes; all but the innermost
/// are return addresses, whose calls end right before them.
void Places::add_chain(const Sample& s, std::uint32_t innermost) {
  frames_.assign(1, innermost);
  Mode mode = s.mode;
  bool first = true;
  for (const std::uint64_t address : s.chain) {
    if (address >= PERF_CONTEXT_MAX) {
      mode = address == PERF_CONTEXT_KERNEL ? Mode::kernel
             : address == PERF_CONTEXT_USER ? Mode::user
                                            : Mode::unknown;
      continue;
    }
    if (address > 0 && !(first && address == s.ip)) frames_.push_back(place(s.pid, mode, address - 1));
    first = false;
  }
  std::uint32_t chain = 0;
  for (std::size_t i = frames_.size(); i-- > 0;) {
    const std::uint32_t next = child(chain, frames_[i]);
    if (next == 0) {
      ++cut_;
      break;
    }
    chain = next;
  }
  Tally& tally = chain_tallies_[chain * events() + s.event];
  ++tally.samples;
  tally.weight += s.period;
}

namespace {
constexpr std::size_t most_open = 512;

bool same_bytes(std::span<const unsigned char> a, std::span<const std::uint8_t> b) {
  // The kernel fills an id of fewer bytes up with zeros.
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

/// Why the file differs from the mapped one; empty: same file.
std::string other_file(const symbol::MappedFile& mapped, const symbol::Module& module, ino_t inode) {
  const auto id = module.build_id();
  const bool another = !mapped.build_id.empty() ? !same_bytes(id, mapped.build_id)
                                                : mapped.inode != 0 && mapped.inode != inode;
  return another ? "the file was replaced since it was mapped" : "";
}
} // namespace

process::Fd open_regular(const std::string& path) {
  process::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (fd && (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    fd.reset();
    errno = EINVAL;
  }
  return fd;
}

void Files::look_at(const symbol::Spaces& spaces, std::uint32_t pid) {
  while (open_.size() < spaces.files().size()) {
    const auto& file = spaces.files()[open_.size()];
    process::Fd fd;
    if (file.is_file() && count_ < most_open) {
      fd = open_regular(fmt::format("/proc/{}/root{}", pid, file.path));
      if (!fd) fd = open_regular(file.path);
      count_ += fd ? 1U : 0U;
    }
    open_.push_back(std::move(fd));
  }
}

Files::Found Files::module(const symbol::Spaces& spaces, std::uint32_t file, const std::string& debug_path) {
  const auto& mapped = spaces.files()[file];
  Found found;
  try {
    if (mapped.path == "[vdso]") {
      found.module = symbol::vdso(debug_path);
      return found;
    }
    process::Fd fd;
    if (file < open_.size() && open_[file]) fd.reset(::fcntl(open_[file].get(), F_DUPFD_CLOEXEC, 0));
    if (!fd) fd = open_regular(mapped.path);
    if (!fd) {
      found.trouble = std::strerror(errno);
      return found;
    }
    struct stat status {};
    ::fstat(fd.get(), &status);
    found.module.emplace(std::move(fd), mapped.path, debug_path);
    found.trouble = other_file(mapped, *found.module, status.st_ino);
    if (!found.trouble.empty())
      found.module.reset();
    else
      found.trouble = found.module->lacks();
  } catch (const Error& error) {
    found.trouble = error.problem().cause;
  }
  return found;
}

} // namespace recount::profile
