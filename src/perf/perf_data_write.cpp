#include "base/output_file.hpp"
#include "perf/perf_data.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace recount::perf {
namespace {

using FileWords = std::vector<std::uint64_t>;

std::uint64_t two(std::uint32_t first, std::uint32_t second) {
  const std::uint32_t halves[]{first, second};
  std::uint64_t value = 0;
  std::memcpy(&value, halves, sizeof value);
  return value;
}

void append(FileWords& words, std::span<const std::uint64_t> more) {
  words.insert(words.end(), more.begin(), more.end());
}

/// A text with its NUL, filled up to whole words.
void append(FileWords& words, std::string_view text) {
  const std::size_t at = words.size();
  words.resize(at + text.size() / sizeof(std::uint64_t) + 1);
  std::memcpy(&words[at], text.data(), text.size());
}

/// A record with its fields; the header is completed last.
class Encoder {
public:
  Encoder(FileWords& words, const RecordFormat& format) : words_(words), format_(format) {
    words_.assign(1, 0);
  }

  void operator()(const Sample& s) {
    type_ = PERF_RECORD_SAMPLE;
    misc_ =
        static_cast<std::uint16_t>(static_cast<unsigned>(s.mode) | (s.exact ? PERF_RECORD_MISC_EXACT_IP : 0));
    for (const std::uint64_t value :
         {id_of_event(s.event), s.ip, two(s.pid, s.tid), s.time, s.address, two(s.cpu, 0), s.period})
      words_.push_back(value);
    if (format_.sample_type & PERF_SAMPLE_CALLCHAIN) counted(s.chain, s.chain.size());
    if (format_.sample_type & PERF_SAMPLE_BRANCH_STACK) counted(s.branches, s.branches.size() / 3);
    if (format_.sample_type & PERF_SAMPLE_REGS_USER) {
      words_.push_back(s.user_registers.empty() ? std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE} : s.register_abi);
      append(words_, s.user_registers);
    }
    if (format_.sample_type & PERF_SAMPLE_STACK_USER) {
      counted(s.user_stack, s.user_stack.size_bytes());
      if (!s.user_stack.empty()) words_.push_back(s.user_stack.size_bytes());
    }
  }

  void operator()(const Mapping& m) {
    type_ = PERF_RECORD_MMAP2;
    misc_ = PERF_RECORD_MISC_USER;
    for (const std::uint64_t value : {two(m.pid, m.tid), m.start, m.length, m.offset})
      words_.push_back(value);
    if (m.build_id.empty()) {
      words_.push_back(two(gnu_dev_major(m.device), gnu_dev_minor(m.device)));
      append(words_, std::array{m.inode, std::uint64_t{0}});
    } else {
      misc_ |= PERF_RECORD_MISC_MMAP_BUILD_ID;
      std::array<std::uint8_t, 24> id{}; // its length, three bytes of padding, 20 bytes
      id[0] = static_cast<std::uint8_t>(std::min<std::size_t>(m.build_id.size(), 20));
      std::copy_n(m.build_id.begin(), id[0], id.begin() + 4);
      std::array<std::uint64_t, 3> as_words{};
      std::memcpy(as_words.data(), id.data(), sizeof as_words);
      append(words_, as_words);
    }
    words_.push_back(two(m.protection, 0));
    append(words_, m.file);
    trailer(m.pid, m.tid, m.time);
  }

  void operator()(const Name& n) {
    type_ = PERF_RECORD_COMM;
    misc_ = n.exec ? PERF_RECORD_MISC_COMM_EXEC : 0;
    words_.push_back(two(n.pid, n.tid));
    append(words_, n.name);
    trailer(n.pid, n.tid, n.time);
  }

  void operator()(const Fork& f) {
    type_ = PERF_RECORD_FORK;
    append(words_, std::array{two(f.pid, f.parent_pid), two(f.tid, f.parent_tid), f.time});
    trailer(f.parent_pid, f.parent_tid, f.time);
  }

  void operator()(const End& e) {
    type_ = PERF_RECORD_EXIT;
    append(words_, std::array{two(e.pid, e.pid), two(e.tid, e.tid), e.time});
    trailer(e.pid, e.tid, e.time);
  }

  void operator()(const Loss& l) {
    type_ = PERF_RECORD_LOST;
    append(words_, std::array{id_of_event(0), l.records});
    trailer(0, 0, l.time);
  }

  void operator()(const Throttle& t) {
    type_ = t.stopped ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE;
    append(words_, std::array{t.time, id_of_event(t.event), std::uint64_t{0}});
    trailer(0, 0, t.time, t.event);
  }

  /// Whether the record has a size that its header can hold.
  [[nodiscard]] bool complete() {
    const std::size_t bytes = words_.size() * sizeof(std::uint64_t);
    perf_event_header header{};
    if (bytes > 0xffff) return false;
    header.type = type_;
    header.misc = misc_;
    header.size = static_cast<std::uint16_t>(bytes);
    std::memcpy(words_.data(), &header, sizeof header);
    return true;
  }

private:
  void counted(std::span<const std::uint64_t> words, std::size_t count) {
    words_.push_back(count);
    append(words_, words);
  }
  void trailer(std::uint32_t pid, std::uint32_t tid, std::uint64_t time, std::size_t event = 0) {
    append(words_, std::array{two(pid, tid), time, two(0, 0), id_of_event(event)});
  }

  FileWords& words_;
  const RecordFormat& format_;
  std::uint32_t type_ = 0;
  std::uint16_t misc_ = 0;
};

constexpr std::uint64_t fixed_fields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
                                       PERF_SAMPLE_PERIOD;
constexpr std::uint64_t optional_fields =
    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

perf_event_attr file_attr(const SampledEvent& event, const RecordFormat& format) {
  perf_event_attr attr = event.event.attr;
  attr.size = file_attr_size;
  attr.freq = event.frequency != 0;
  attr.sample_period = attr.freq ? event.frequency : event.period;
  attr.precise_ip = event.precise & 3U;
  attr.sample_type = format.sample_type;
  attr.read_format = 0;
  attr.sample_regs_user = format.user_registers;
  attr.branch_sample_type = format.branch_type & ~std::uint64_t{PERF_SAMPLE_BRANCH_HW_INDEX};
  attr.sample_id_all = attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = attr.inherit = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.exclude_callchain_user = (format.sample_type & PERF_SAMPLE_STACK_USER) != 0;
  return attr;
}

template <class Struct>
std::string_view as_bytes(const Struct& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Sections about the recording.

/// Its size, and the text with its NUL.
std::string sized_text(const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size() + 1);
  return std::string(as_bytes(size)).append(text.c_str(), size);
}

std::string texts(const std::vector<std::string>& all) {
  std::string bytes(as_bytes(static_cast<std::uint32_t>(all.size())));
  for (const std::string& text : all)
    bytes += sized_text(text);
  return bytes;
}

std::string descriptions(const std::vector<SampledEvent>& events, const RecordFormat& format) {
  std::string bytes(as_bytes(static_cast<std::uint32_t>(events.size())));
  bytes.append(as_bytes(file_attr_size));
  for (std::size_t e = 0; e < events.size(); ++e)
    bytes.append(as_bytes(file_attr(events[e], format)).substr(0, file_attr_size))
        .append(as_bytes(std::uint32_t{1}))
        .append(sized_text(events[e].event.name))
        .append(as_bytes(id_of_event(e)));
  return bytes;
}

/// By their numbers; see FileFeature.
std::map<unsigned, std::string>
features_of(const PerfDataAbout& about, const std::vector<SampledEvent>& events, const RecordFormat& format) {
  utsname system{};
  ::uname(&system);
  return {{file_host, sized_text(about.host)},
          {file_release, sized_text(about.release)},
          {file_arch, sized_text(system.machine)},
          {file_command, texts(about.command)},
          {file_events, descriptions(events, format)}};
}

std::uint64_t data_offset(std::size_t events) {
  return sizeof(FileHeader) + events * (file_attr_size + sizeof(FileSection) + sizeof(std::uint64_t));
}

} // namespace

PerfDataWriter::PerfDataWriter(const std::string& path) : path_(path) {}

void PerfDataWriter::begin(const std::vector<SampledEvent>& events, const RecordFormat& format) {
  events_ = events;
  format_ = format;
  format_.sample_type = fixed_fields | (format.sample_type & optional_fields);
  std::string& start = start_;
  start.assign(sizeof(FileHeader), '\0'); // completed at the end
  for (const SampledEvent& event : events_) {
    const perf_event_attr attr = file_attr(event, format_);
    const FileSection ids{sizeof(FileHeader) + events_.size() * (file_attr_size + sizeof(FileSection)) +
                              static_cast<std::uint64_t>(&event - events_.data()) * sizeof(std::uint64_t),
                          sizeof(std::uint64_t)};
    start.append(as_bytes(attr).substr(0, file_attr_size)).append(as_bytes(ids));
  }
  for (std::size_t e = 0; e < events_.size(); ++e)
    start.append(as_bytes(id_of_event(e)));
}

void PerfDataWriter::open() {
  fd_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600));
  if (!fd_ || !process::write_all(fd_.get(), start_)) error_ = errno;
}

void PerfDataWriter::add(const Record& record) {
  Encoder encoder(record_, format_);
  std::visit(encoder, record);
  if (encoder.complete()) put(record_);
}

void PerfDataWriter::put(std::span<const std::uint64_t> words) {
  constexpr std::size_t most_buffered = 1U << 17U;
  buffer_.insert(buffer_.end(), words.begin(), words.end());
  if (buffer_.size() >= most_buffered) flush();
}

void PerfDataWriter::flush() {
  if (!fd_ && error_ == 0) open();
  const std::size_t bytes = buffer_.size() * sizeof(std::uint64_t);
  if (error_ == 0 && !process::write_all(fd_.get(), {reinterpret_cast<const char*>(buffer_.data()), bytes}))
    error_ = errno;
  size_ += bytes;
  buffer_.clear();
}

void PerfDataWriter::finish(const PerfDataAbout& about) {
  if (about.kernel_text != 0) { // as perf(1) writes it; the address shows whether it is the same boot
    FileWords words{0, two(~0U, 0), about.kernel_text, ~about.kernel_text, about.kernel_text};
    append(words, kernel_map);
    append(words, std::array{two(~0U, 0), std::uint64_t{0}, std::uint64_t{0}, id_of_event(0)});
    perf_event_header header{PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL,
                             static_cast<std::uint16_t>(words.size() * sizeof(std::uint64_t))};
    std::memcpy(words.data(), &header, sizeof header);
    put(words);
  }
  flush();
  const auto features = features_of(about, events_, format_);
  FileHeader header;
  header.attributes = {sizeof header, events_.size() * (file_attr_size + sizeof(FileSection))};
  header.data = {data_offset(events_.size()), size_};
  std::uint64_t at = header.data.offset + size_ + features.size() * sizeof(FileSection);
  std::string sections, contents;
  for (const auto& [number, bytes] : features) {
    header.features[number / 64] |= std::uint64_t{1} << number % 64;
    sections.append(as_bytes(FileSection{at + contents.size(), bytes.size()}));
    contents.append(bytes);
  }
  if (error_ == 0 &&
      (!process::write_all(fd_.get(), sections + contents) || ::lseek(fd_.get(), 0, SEEK_SET) < 0 ||
       !process::write_all(fd_.get(), as_bytes(header))))
    error_ = errno;
  if (error_ != 0) throw base::cannot_write(path_, error_);
}

} // namespace recount::perf
