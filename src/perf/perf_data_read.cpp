#include "base/text.hpp"
#include "perf/perf_data.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace recount::perf {
namespace {

using FileBytes = std::vector<unsigned char>;
constexpr const char* how_to_record = "recount profile --perf-data FILE -- COMMAND";
constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

Error wrong(const std::string& path, const std::string& cause, const std::string& fix = {}) {
  return bad_input(base::printable(path), cause, fix);
}

/// Fills `into` from an offset; false where the file ends before.
bool read_at(int fd, std::uint64_t offset, std::span<unsigned char> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

template <class Struct>
std::span<unsigned char> bytes_in(Struct& value) {
  return {reinterpret_cast<unsigned char*>(&value), sizeof value};
}

/// Takes values from the front; after an underrun, all are empty.
class Parser {
public:
  explicit Parser(const FileBytes& bytes) : left_(bytes) {}
  std::span<const unsigned char> take(std::size_t size) {
    if (size > left_.size()) {
      short_ = true;
      left_ = {};
      return {};
    }
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  template <class Number>
  Number number() {
    Number value = 0;
    if (const auto from = take(sizeof value); !from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  /// Its size, and bytes up to a NUL.
  std::string text() {
    const auto bytes = take(number<std::uint32_t>());
    const auto* const chars = reinterpret_cast<const char*>(bytes.data());
    return bytes.empty() ? std::string() : std::string(chars, strnlen(chars, bytes.size()));
  }
  [[nodiscard]] bool ran_short() const { return short_; }
  [[nodiscard]] bool empty() const { return left_.empty(); }

private:
  std::span<const unsigned char> left_;
  bool short_ = false;
};

perf_event_header read_header(std::uint64_t first) {
  perf_event_header header{};
  std::memcpy(&header, &first, sizeof header);
  return header;
}

std::string name_without_description(const perf_event_attr& attr) {
  if (attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_CPU_CLOCK) return "cpu-clock";
  if (attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_TASK_CLOCK) return "task-clock";
  return fmt::format("event of type {}, config {:#x}", attr.type, attr.config);
}

SampledEvent make_event(const perf_event_attr& attr) {
  SampledEvent event;
  event.event.name = name_without_description(attr);
  event.event.attr = attr;
  event.event.present = false; // an attribute of a file is never opened
  (attr.freq ? event.frequency : event.period) = attr.sample_period;
  return event;
}

FileHeader read_header(int fd, const std::string& path) {
  FileHeader header;
  const bool whole = read_at(fd, 0, bytes_in(header));
  auto reversed = file_magic;
  std::ranges::reverse(reversed);
  if (header.magic == reversed)
    throw wrong(path, "was written on a machine with the other order of bytes",
                "read it there: recount profile --input FILE");
  if (header.magic != file_magic || (!whole && header.size != 16))
    throw wrong(path, "is not perf.data: it does not begin with PERFILE2", how_to_record);
  if (header.size < sizeof header)
    throw wrong(path, "was written to a pipe (perf record -o -), which has another format",
                "perf record -o FILE -- COMMAND");
  return header;
}

} // namespace

PerfDataReader::PerfDataReader(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  struct stat status {};
  if (!fd_ || ::fstat(fd_.get(), &status) != 0)
    throw wrong(path, std::string("cannot be read: ") + std::strerror(errno), how_to_record);
  if (!S_ISREG(status.st_mode)) throw wrong(path, "is not a file", how_to_record);
  file_size_ = static_cast<std::uint64_t>(status.st_size);
  const FileHeader header = read_header(fd_.get(), path);
  data_ = header.data;
  if (data_.offset > file_size_ || data_.offset % word_bytes != 0)
    throw wrong(path, fmt::format("is damaged: its data begin at byte {}", data_.offset));
  // The size stays 0 where perf was killed.
  if (data_.size == 0 || data_.size > file_size_ - data_.offset) {
    data_.size = file_size_ - data_.offset;
    report_.damaged = 1;
  }
  read_attributes(header.attributes, header.attribute_size);
  if (report_.damaged == 0) read_features(header.features);
  for (SampledEvent& event : events_) {
    event.event.name = base::printable(event.event.name);
    // These names are those of simulated events.
    if (event.event.name.starts_with("model:")) event.event.name = name_without_description(event.event.attr);
  }
}

FileBytes PerfDataReader::bytes(FileSection section) const {
  constexpr std::uint64_t most = 64U << 20U;
  FileBytes all;
  if (section.size > most || section.offset > file_size_ || section.size > file_size_ - section.offset)
    return all;
  all.resize(section.size);
  if (!read_at(fd_.get(), section.offset, all)) all.clear();
  return all;
}

void PerfDataReader::read_attributes(FileSection section, std::uint64_t each) {
  constexpr std::size_t most_attributes = 65536;
  std::uint64_t ids_left = 8U << 20U; // bytes of all ids that are read
  const FileBytes all = bytes(section);
  const std::uint64_t size = each - sizeof(FileSection); // of the attribute itself
  if (each < PERF_ATTR_SIZE_VER0 + sizeof(FileSection) || each > 4096 || all.size() < each ||
      all.size() / each > most_attributes)
    throw wrong(path_, "is damaged: it describes no events");
  for (std::size_t at = 0; at + each <= all.size(); at += each) {
    perf_event_attr attr{};
    std::memcpy(&attr, &all[at], std::min<std::size_t>(size, sizeof attr));
    FileSection ids;
    std::memcpy(&ids, &all[at + size], sizeof ids);
    Attribute& attribute = attributes_.emplace_back();
    attribute.samples = {attr.sample_type, attr.read_format, attr.sample_regs_user, attr.branch_sample_type};
    attribute.others = attr.sample_id_all ? attribute.samples : RecordFormat{};
    const bool dummy = attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_DUMMY;
    attribute.event = dummy ? npos : events_.size();
    if (!dummy) events_.push_back(make_event(attr));
    registers_ |= attr.sample_regs_user;
    if (ids.size > ids_left) continue;
    ids_left -= ids.size;
    const FileBytes numbers = bytes(ids);
    for (std::size_t i = 0; i + word_bytes <= numbers.size(); i += word_bytes) {
      std::uint64_t id = 0;
      std::memcpy(&id, &numbers[i], sizeof id);
      by_id_[id] = attributes_.size() - 1;
    }
  }
  const auto type = [](const Attribute& a) { return a.samples.sample_type; };
  identified_ = std::ranges::all_of(
      attributes_, [&](const Attribute& a) { return (type(a) & PERF_SAMPLE_IDENTIFIER) != 0; });
  const bool uniform =
      std::ranges::all_of(attributes_, [&](const Attribute& a) { return type(a) == type(attributes_[0]); });
  if (attributes_.size() > 1 && !identified_ && !(uniform && (type(attributes_[0]) & PERF_SAMPLE_ID)))
    throw wrong(path_, "has several events and no ids in its records");
  if (events_.empty()) throw wrong(path_, "has no event that samples");
}

void PerfDataReader::read_features(std::span<const std::uint64_t> bits) {
  std::uint64_t at = data_.offset + data_.size;
  for (std::size_t number = 0; number < bits.size() * 64; ++number) {
    if (!(bits[number / 64] >> number % 64 & 1U)) continue;
    FileSection section;
    if (!read_at(fd_.get(), at, bytes_in(section))) return;
    at += sizeof section;
    read_feature(number, bytes(section));
  }
}

void PerfDataReader::read_feature(std::size_t number, const FileBytes& bytes) {
  constexpr std::uint32_t most_words = 65536;
  Parser parser(bytes);
  switch (number) {
  case file_host: about_.host = parser.text(); break;
  case file_release: about_.release = parser.text(); break;
  case file_command:
    for (auto left = std::min(parser.number<std::uint32_t>(), most_words); left > 0 && !parser.empty();
         --left)
      about_.command.push_back(parser.text());
    break;
  case file_events: read_names(bytes); break;
  case file_build_ids: read_build_ids(bytes); break;
  default: break;
  }
}

/// The names of the events, in the order of the attributes.
void PerfDataReader::read_names(const FileBytes& bytes) {
  Parser parser(bytes);
  const auto count = parser.number<std::uint32_t>(), attr_size = parser.number<std::uint32_t>();
  for (std::size_t i = 0; i < std::min<std::size_t>(count, attributes_.size()); ++i) {
    parser.take(attr_size);
    const std::uint64_t ids = parser.number<std::uint32_t>();
    const std::string name = parser.text();
    parser.take(ids * word_bytes);
    if (parser.ran_short()) return;
    if (attributes_[i].event != npos && !name.empty()) events_[attributes_[i].event].event.name = name;
  }
}

/// {header, pid, build id with its size, path} each.
void PerfDataReader::read_build_ids(const FileBytes& bytes) {
  constexpr std::size_t id_bytes = 20, fixed = sizeof(perf_event_header) + 4 + 24;
  Parser parser(bytes);
  while (!parser.empty()) {
    perf_event_header header{};
    const auto first = parser.take(sizeof header);
    if (first.empty()) return;
    std::memcpy(&header, first.data(), sizeof header);
    if (header.size < fixed) return;
    parser.take(4);
    const auto id = parser.take(24);
    const auto path = parser.take(header.size - fixed);
    if (parser.ran_short() || path.empty()) return;
    const auto* const text = reinterpret_cast<const char*>(path.data());
    build_ids_[std::string(text, strnlen(text, path.size()))] = {id.begin(), id.begin() + id_bytes};
  }
}

const PerfDataReader::Attribute& PerfDataReader::find_attribute(std::span<const std::uint64_t> words) const {
  if (attributes_.size() == 1 || !identified_) return attributes_.front();
  const auto known = by_id_.find(id_of(words));
  return attributes_[known == by_id_.end() ? 0 : known->second];
}

/// Records of perf itself, which are not in the order of times.
void PerfDataReader::look_at(std::span<const std::uint64_t> words) {
  const auto type = read_header(words[0]).type;
  if (type == record_compressed || type == record_compressed2)
    throw wrong(path_, "is compressed (perf record -z)", "record it without -z");
  // {pid, tid, start, length, offset, name}
  if (type != PERF_RECORD_MMAP || words.size() < 7) return;
  const std::string_view name(reinterpret_cast<const char*>(&words[5]), words.subspan(5).size_bytes());
  if (name.substr(0, name.find('\0')) == kernel_map) about_.kernel_text = words[4];
}

/// The records that are whole in `words`, which are at `offset` in the file. Returns the bytes until the next
/// one; 0: the first is damaged.
std::uint64_t PerfDataReader::index_chunk(std::span<const std::uint64_t> words, std::uint64_t offset,
                                          std::vector<Indexed>& all) {
  constexpr std::size_t most_records = 50'000'000;
  std::size_t used = 0;
  while (used < words.size()) {
    const perf_event_header header = read_header(words[used]);
    const std::size_t size = header.size / word_bytes;
    if (size == 0 || header.size % word_bytes != 0 || size > words.size() - used) break;
    const auto record = words.subspan(used, size);
    look_at(record);
    if (header.type < first_record_of_perf) {
      if (all.size() == most_records)
        throw wrong(path_, fmt::format("has more than {} records", most_records), "record fewer samples");
      const Attribute& attribute = find_attribute(record);
      const RecordFormat& format = header.type == PERF_RECORD_SAMPLE ? attribute.samples : attribute.others;
      all.push_back({time_of(record, format.sample_type), offset + used * word_bytes});
    }
    used += size;
    // Data of this size follow the record.
    if (header.type == record_auxtrace && size > 1)
      return used * word_bytes + std::min(record[1] / word_bytes * word_bytes, file_size_);
  }
  return used * word_bytes;
}

std::vector<PerfDataReader::Indexed> PerfDataReader::index() {
  constexpr std::size_t chunk = 4U << 20U; // more than the largest record
  std::vector<Indexed> all;
  std::vector<std::uint64_t> buffer;
  for (std::uint64_t at = data_.offset, left = data_.size; left > 0;) {
    buffer.resize(std::min<std::uint64_t>(chunk, left) / word_bytes);
    const std::span bytes(reinterpret_cast<unsigned char*>(buffer.data()), buffer.size() * word_bytes);
    const std::uint64_t used =
        !buffer.empty() && read_at(fd_.get(), at, bytes) ? index_chunk(buffer, at, all) : 0;
    if (used == 0) {
      ++report_.damaged; // or the last one is cut off
      break;
    }
    at += used;
    left -= std::min(used, left);
  }
  std::ranges::stable_sort(all, {}, &Indexed::time);
  return all;
}

bool PerfDataReader::complete(Decoded& decoded, const Attribute& attribute) {
  const Attribute* owner = &attribute;
  if (!identified_ && attributes_.size() > 1)
    if (const auto known = by_id_.find(decoded.id); known != by_id_.end())
      owner = &attributes_[known->second];
  if (auto* sample = std::get_if<Sample>(&decoded.record)) {
    if (owner->event == npos) return false;
    const SampledEvent& event = events_[owner->event];
    sample->event = owner->event;
    if (!(attribute.samples.sample_type & PERF_SAMPLE_PERIOD))
      sample->period = std::max<std::uint64_t>(event.period, 1);
    SampledCount& count = report_.events[owner->event];
    ++count.samples;
    count.weight += sample->period;
  } else if (auto* mapping = std::get_if<Mapping>(&decoded.record)) {
    // A file is recognised by its build id where both are known; a copy has another inode.
    if (const auto known = build_ids_.find(mapping->file);
        mapping->build_id.empty() && known != build_ids_.end())
      mapping->build_id = known->second;
  } else if (auto* throttle = std::get_if<Throttle>(&decoded.record)) {
    if (owner->event == npos) return false;
    throttle->event = owner->event;
    report_.events[owner->event].throttled += throttle->stopped ? 1U : 0U;
  } else if (const auto* loss = std::get_if<Loss>(&decoded.record)) {
    report_.lost_records += loss->records;
  }
  return true;
}

SamplingReport PerfDataReader::read(const Sampling::Sink& sink) {
  report_.events.assign(events_.size(), {});
  std::vector<std::uint64_t> words(0x10000 / word_bytes);
  Decoded decoded;
  for (const Indexed& one : index()) {
    std::uint64_t first = 0;
    if (!read_at(fd_.get(), one.offset, bytes_in(first))) break;
    const std::size_t size = read_header(first).size;
    if (size < word_bytes || size % word_bytes != 0 ||
        !read_at(fd_.get(), one.offset, {reinterpret_cast<unsigned char*>(words.data()), size}))
      break; // the file was changed meanwhile
    const auto record = std::span<const std::uint64_t>(words).first(size / word_bytes);
    if (read_header(record[0]).size != size) break;
    const Attribute& attribute = find_attribute(record);
    const bool is_sample = read_header(record[0]).type == PERF_RECORD_SAMPLE;
    const auto understood = decode(record, is_sample ? attribute.samples : attribute.others, decoded);
    if (understood == Understood::no) ++report_.damaged;
    if (understood != Understood::yes || !complete(decoded, attribute)) continue;
    ++report_.records;
    report_.bytes += size;
    sink(decoded.record);
  }
  return report_;
}

} // namespace recount::perf
