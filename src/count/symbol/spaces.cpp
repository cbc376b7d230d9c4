#include "count/symbol/spaces.hpp"

#include <fmt/format.h>

#include <iterator>

namespace recount::symbol {
namespace {
constexpr std::size_t max_files = 65536;
constexpr std::size_t max_regions = 1'000'000; ///< of one process
constexpr std::size_t max_spaces = 65536;
constexpr std::size_t max_ended = 256; ///< processes that are kept after their end
} // namespace

std::uint32_t Spaces::file_number(const Mapping& m) {
  std::string key = fmt::format("{} {} {}", m.device, m.inode, m.file);
  key.append(reinterpret_cast<const char*>(m.build_id.data()), m.build_id.size());
  const auto [at, added] = known_.emplace(std::move(key), static_cast<std::uint32_t>(files_.size()));
  if (added)
    files_.push_back({std::string(m.file), m.device, m.inode, {m.build_id.begin(), m.build_id.end()}});
  return at->second;
}

void Spaces::cut(Space& space, std::uint64_t start, std::uint64_t end) {
  auto at = space.upper_bound(start);
  if (at != space.begin() && std::prev(at)->second.end > start) --at;
  while (at != space.end() && at->first < end) {
    const std::uint64_t low = at->first;
    const Region whole = at->second;
    at = space.erase(at);
    if (low < start) space[low] = {start, whole.offset, whole.file};
    if (whole.end > end) space[end] = {whole.end, whole.offset + (end - low), whole.file};
  }
}

void Spaces::take(const Mapping& m) {
  const bool full = files_.size() >= max_files || (spaces_.size() >= max_spaces && !spaces_.contains(m.pid));
  const std::uint64_t end = m.start + m.length;
  if (full || end <= m.start || m.pid == ~0U) return;
  Space& space = spaces_[m.pid];
  cut(space, m.start, end);
  if (space.size() >= max_regions) return;
  const std::uint32_t file = file_number(m);
  // Anonymous memory has no meaningful offset.
  const bool anonymous = !files_[file].is_file() && m.file != "[vdso]";
  space[m.start] = {end, anonymous ? m.start : m.offset, file};
}

void Spaces::take(const Fork& fork) {
  if (fork.pid == fork.parent_pid) return; // a thread
  const auto parent = spaces_.find(fork.parent_pid);
  if (parent == spaces_.end() || spaces_.size() >= max_spaces) return;
  std::erase(ended_, fork.pid); // the PID is reused
  Space copy = parent->second;
  spaces_[fork.pid] = std::move(copy);
}

void Spaces::take(const Name& name) {
  if (name.exec) spaces_.erase(name.pid);
}

void Spaces::take(const End& end) {
  if (end.pid != end.tid) return;
  ended_.push_back(end.pid); // erased later: its first thread may end before others do
  if (ended_.size() <= max_ended) return;
  spaces_.erase(ended_.front());
  ended_.pop_front();
}

void Spaces::add(const Record& record) {
  std::visit([this](const auto& r) { take(r); }, record);
}

std::optional<Spaces::Location> Spaces::find(std::uint32_t pid, std::uint64_t address) const {
  const auto space = spaces_.find(pid);
  if (space == spaces_.end()) return {};
  auto at = space->second.upper_bound(address);
  if (at == space->second.begin() || address >= (--at)->second.end) return {};
  return Location{at->second.file, at->second.offset + (address - at->first)};
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> Spaces::mapped(std::uint32_t pid,
                                                                      std::uint32_t file) const {
  const auto space = spaces_.find(pid);
  if (space == spaces_.end()) return {};
  for (const auto& [start, region] : space->second)
    if (region.file == file) return std::pair(start, region.offset);
  return {};
}

} // namespace recount::symbol
