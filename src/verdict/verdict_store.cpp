#include "verdict/verdict_store.hpp"

#include "base/json.hpp"
#include "base/names.hpp"
#include "base/output_file.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "host/cpu.hpp"
#include "preset/preset_table.hpp"
#include "preset/written.hpp"
#include "process/fd.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace recount::verdict {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{8} << 20, most_records = 32;
/// What parse() accepts of a text and of a machine. merge() keeps no more: one text too many would make the
/// whole file unreadable.
constexpr std::size_t longest = 300, most_entries = 5000;

/// As parse() returns it.
std::string storable(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const std::size_t before = kept.size();
    base::append_printable(kept, text);
    if (kept.size() <= longest) continue;
    kept.resize(before);
    break;
  }
  return kept;
}

MachineKey storable(const MachineKey& machine) {
  MachineKey kept = machine;
  for (std::string* const text :
       {&kept.cpu, &kept.microcode, &kept.kernel, &kept.hypervisor, &kept.papi, &kept.table})
    *text = storable(*text);
  return kept;
}

Error unreadable(const std::string& where, int error) {
  return bad_input(where, std::string("cannot be read: ") + std::strerror(error),
                   error == EACCES || error == EPERM ? "let this user read it: chmod u+r" : "remove it");
}

std::string read_text(const std::string& where) {
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

/// A mark of "PAPI_L1_DCM" is also one of "l1_dcm".
bool same_name(std::string_view name, std::string_view known) {
  return preset::same_word(name, known) ||
         (is_preset(known) && preset::same_word(name, known.substr(preset_prefix.size())));
}

} // namespace

std::string format_encoding(std::span<const Event> events) {
  std::vector<std::string> all;
  for (const Event& event : events)
    // A breakpoint has its address and length in the place of config1 and config2, its kind of access
    // elsewhere.
    all.push_back(
        fmt::format("{}:{:x}:{:x}:{:x}", event.attr.type,
                    event.attr.type == PERF_TYPE_BREAKPOINT ? event.attr.bp_type : event.attr.config,
                    event.attr.config1, event.attr.config2));
  return fmt::format("{}", fmt::join(all, ","));
}

void merge(Records& records, const MachineKey& of, const std::vector<Entry>& entries) {
  const MachineKey machine = storable(of);
  const auto found = std::ranges::find(records, machine, &Record::machine);
  if (found == records.end())
    records.insert(records.begin(), Record{machine, {}});
  else
    std::rotate(records.begin(), found, found + 1);
  auto& known = records.front().entries;
  for (const Entry& given : entries) {
    const Entry entry{storable(given.name), storable(given.verdict), storable(given.mark),
                      given.encoding.size() > longest ? "" : storable(given.encoding), given.checked};
    if (entry.name.empty() || entry.name != base::printable(given.name))
      continue; // a name that is cut is another one
    std::erase_if(known, [&](const Entry& old) { return old.name == entry.name; });
    known.push_back(entry);
  }
  if (known.size() > most_entries)
    known.erase(known.begin(), known.end() - static_cast<std::ptrdiff_t>(most_entries));
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
  const std::string text = where ? read_text(*where) : "";
  return text.empty() ? Records{} : parse(text, *where);
}

void store(const MachineKey& machine, const std::vector<Entry>& entries) {
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
  std::string text = to_text(records);
  for (; text.size() > most_bytes && records.size() > 1; text = to_text(records))
    records.pop_back();
  if (!base::replace_file(*where, text)) throw base::cannot_write(*where, errno);
}

Marks Marks::of_this_machine() {
  const Records records = verdict::read();
  // Most machines have no verdicts: then neither PAPI is loaded nor its tables are read.
  if (std::ranges::none_of(
          records, [cpu = host::this_cpu().identity(), kernel = host::this_kernel()](const Record& one) {
            return one.machine.cpu == cpu && one.machine.kernel == kernel;
          }))
    return {};
  const auto found = std::ranges::find(records, storable(this_machine_key()), &Record::machine);
  return found == records.end() ? Marks() : Marks(found->entries);
}

std::string Marks::find(std::string_view name, std::span<const Event> events) const {
  if (entries_.empty()) return {};
  for (const Entry& entry : entries_)
    if (same_name(name, entry.name)) return entry.mark;
  if (const std::string code = format_encoding(events); !code.empty())
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

namespace {

constexpr const char* schema = "recount-verdicts/1";

constexpr std::array machine_fields{
    std::pair("cpu", &MachineKey::cpu),       std::pair("microcode", &MachineKey::microcode),
    std::pair("kernel", &MachineKey::kernel), std::pair("hypervisor", &MachineKey::hypervisor),
    std::pair("papi", &MachineKey::papi),     std::pair("table", &MachineKey::table)};
constexpr std::array entry_fields{std::pair("name", &Entry::name), std::pair("verdict", &Entry::verdict),
                                  std::pair("mark", &Entry::mark), std::pair("encoding", &Entry::encoding)};

/// nlohmann::json, not Json, whose keys are searched one by one: an object can have any number of them.
using Parsed = nlohmann::json;

class Reader {
public:
  explicit Reader(const std::string& where) : where_(where) {}

  [[noreturn]] void fail(const std::string& cause) const {
    throw bad_input(where_, "is damaged: " + cause, "remove it, and run recount check again");
  }

  /// A member; null where there is none.
  const Parsed* find(const Parsed& object, const char* key) const {
    if (!object.is_object()) fail("an object is expected");
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

  const Parsed& list(const Parsed& object, const char* key, std::size_t most) const {
    const Parsed* const found = find(object, key);
    if (!found || !found->is_array() || found->size() > most)
      fail(fmt::format("\"{}\" is not a list of at most {} elements", key, most));
    return *found;
  }

  template <class Object, class Fields>
  void texts(const Parsed& from, const Fields& fields, Object& into) const {
    for (const auto& [key, member] : fields) {
      const Parsed* const found = find(from, key);
      if (!found) continue;
      const auto* const text = found->template get_ptr<const std::string*>();
      if (!text || text->size() > longest)
        fail(fmt::format("\"{}\" is not a text of at most {} bytes", key, longest));
      into.*member = base::printable(*text);
    }
  }

  Entry entry(const Parsed& from) const {
    Entry entry;
    texts(from, entry_fields, entry);
    if (entry.name.empty()) fail("\"name\" is missing");
    const Parsed* const time = find(from, "checked");
    if (time && !time->is_number_integer()) fail("\"checked\" is not a whole number");
    if (time) entry.checked = time->get<std::int64_t>();
    return entry;
  }

private:
  const std::string& where_;
};

} // namespace

std::string to_text(const Records& records) {
  Json all{{"schema", schema}, {"machines", Json::array()}};
  for (const Record& record : records) {
    Json machine = Json::object();
    for (const auto& [key, member] : machine_fields)
      machine[key] = record.machine.*member;
    Json& entries = machine["verdicts"] = Json::array();
    for (const Entry& entry : record.entries) {
      Json one = Json::object();
      for (const auto& [key, member] : entry_fields)
        if (const std::string& text = entry.*member; !text.empty()) one[key] = text;
      one["checked"] = entry.checked;
      entries.push_back(std::move(one));
    }
    all["machines"].push_back(std::move(machine));
  }
  return dumped(all, 1) + '\n';
}

Records parse(std::string_view text, const std::string& where) {
  const Reader reader(where);
  const Parsed all = Parsed::parse(text, nullptr, false);
  if (!all.is_object()) reader.fail("it is not a JSON object");
  if (const Parsed* const stated = reader.find(all, "schema"); !stated || *stated != schema)
    reader.fail(std::string("the schema is not ") + schema);
  Records records;
  for (const Parsed& machine : reader.list(all, "machines", 1000)) {
    Record& record = records.emplace_back();
    reader.texts(machine, machine_fields, record.machine);
    for (const Parsed& entry : reader.list(machine, "verdicts", most_entries))
      record.entries.push_back(reader.entry(entry));
  }
  return records;
}

namespace {

/// Empty where no table is installed, and PAPI reads its own.
std::string hash_of_tables() {
  std::vector<std::string> paths{preset::papi_user_events()};
  try {
    paths.insert(paths.begin(), preset::papi_table());
  } catch (const Error&) { // none is installed
  }
  std::uint64_t hash = base::fnv({});
  bool any = false;
  for (const std::string& path : paths)
    if (const auto text = path.empty() ? std::nullopt : base::read_file(path)) {
      hash = base::fnv(*text, hash);
      any = true;
    }
  return any ? fmt::format("{:016x}", hash) : std::string();
}

} // namespace

MachineKey this_machine_key() {
  const host::Cpu& cpu = host::this_cpu();
  return {cpu.identity(),          cpu.microcode,   host::this_kernel(),
          host::this_hypervisor(), papi::version(), hash_of_tables()};
}

} // namespace recount::verdict
