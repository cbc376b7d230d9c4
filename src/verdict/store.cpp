#include "verdict/store.hpp"

#include "base/output_file.hpp"
#include "base/text.hpp"
#include "preset/document.hpp"
#include "process/fd.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>

namespace recount::verdict {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{8} << 20, most_records = 32;

Error unreadable(const std::string& where, int error) {
  return bad_input(where, std::string("cannot be read: ") + std::strerror(error), "remove it");
}

std::string text_of(const std::string& where) {
  // O_NONBLOCK: a pipe of that name must not stop the program.
  const process::Fd file(::open(where.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (!file) throw unreadable(where, errno);
  struct stat kind {};
  if (::fstat(file.get(), &kind) != 0) throw unreadable(where, errno);
  if (!S_ISREG(kind.st_mode)) throw bad_input(where, "is not a regular file", "remove it");
  auto text = base::read_all(file.get(), most_bytes);
  if (!text) throw unreadable(where, errno);
  return *std::move(text);
}

/// A mark of "PAPI_L1_DCM" is one of "l1_dcm".
bool same_name(std::string_view name, std::string_view known) {
  constexpr std::string_view prefix = "PAPI_";
  if (preset::same_word(name, known)) return true;
  return known.starts_with(prefix) && preset::same_word(name, known.substr(prefix.size()));
}

} // namespace

std::string encoding_of(std::span<const Event> events) {
  std::vector<std::string> all;
  for (const Event& event : events)
    all.push_back(fmt::format("{}:{:x}:{:x}:{:x}", event.attr.type, event.attr.config, event.attr.config1,
                              event.attr.config2));
  return fmt::format("{}", fmt::join(all, ","));
}

void merge(Records& records, const Machine& machine, const std::vector<Entry>& entries) {
  const auto found = std::ranges::find(records, machine, &Record::machine);
  Record record{machine, {}};
  if (found != records.end()) {
    record = std::move(*found);
    records.erase(found);
  }
  for (const Entry& entry : entries) {
    std::erase_if(record.entries, [&](const Entry& known) { return known.name == entry.name; });
    record.entries.push_back(entry);
  }
  records.insert(records.begin(), std::move(record));
  if (records.size() > most_records) records.resize(most_records);
}

std::optional<std::string> path() {
  const char* const given = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  // XDG Base Directory Specification: relative paths are invalid and ignored.
  if (given && *given == '/') return std::string(given) + "/recount/verdicts.json";
  if (home && *home == '/') return std::string(home) + "/.local/state/recount/verdicts.json";
  return {};
}

Records read() {
  const auto where = path();
  if (!where) return {};
  const std::string text = text_of(*where);
  return text.empty() ? Records{} : parse(text, *where);
}

void keep(const Machine& machine, const std::vector<Entry>& entries) {
  const auto where = path();
  if (!where) return; // a process without a home
  const fs::path folder = fs::path(*where).parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw base::cannot_write(folder.string(), error.value());
  // Two checks at once: the second merges with what the first has written. Some file systems have no locks.
  const process::Fd lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock) ::flock(lock.get(), LOCK_EX);
  Records records;
  try {
    records = read();
  } catch (const Error&) { // nothing of it can be used
  }
  merge(records, machine, entries);
  if (!base::replace_file(*where, to_text(records))) throw base::cannot_write(*where, errno);
}

Marks Marks::here() {
  const Records records = verdict::read();
  if (records.empty()) return {};
  const auto found = std::ranges::find(records, this_machine(), &Record::machine);
  return found == records.end() ? Marks() : Marks(found->entries);
}

std::string Marks::of(std::string_view name, std::span<const Event> events) const {
  if (entries_.empty()) return {};
  for (const Entry& entry : entries_)
    if (same_name(name, entry.name)) return entry.mark;
  if (const std::string code = encoding_of(events); !code.empty())
    for (const Entry& entry : entries_)
      if (entry.encoding == code) return entry.mark;
  return {};
}

std::map<std::string, std::string> Marks::by_name() const {
  std::map<std::string, std::string> all;
  for (const Entry& entry : entries_)
    if (!entry.mark.empty()) all.emplace(entry.name, entry.mark);
  return all;
}

} // namespace recount::verdict
