// perf.data, the file of perf(1): written, and read from any source. Its format is described in
// tools/perf/Documentation/perf.data-file-format.txt of Linux.
#pragma once

#include "perf/record.hpp"
#include "process/fd.hpp"

#include <recount/sampling.hpp>

#include <linux/perf_event.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace recount::perf {

/// What a file states besides its records.
struct PerfDataAbout {
  std::vector<std::string> command; ///< of perf or recount, which recorded it; empty: unknown
  std::string host = {}, release = {};
  std::uint64_t kernel_text = 0; ///< address of _text in the kernel that was sampled; 0: unknown
};

/// A part of a file, as its header and its attributes name it.
struct FileSection {
  std::uint64_t offset = 0, size = 0;
};

/// Writes a file while it is recorded. Memory is bounded.
class PerfDataWriter {
public:
  /// The file is created or replaced when there is something to write: an old one remains if no program could
  /// be run.
  explicit PerfDataWriter(const std::string& path);
  /// Once, before add(). `format`: with IDENTIFIER, IP, TID and TIME, and without READ.
  void begin(const std::vector<SampledEvent>& events, const RecordFormat& format);
  /// After an error, further records are left out.
  void add(const Record& record);
  /// Completes the file. Throws base::cannot_write() for the first error.
  void finish(const PerfDataAbout& about);

private:
  void put(std::span<const std::uint64_t> words);
  void flush();
  void open();

  std::string path_, start_; ///< `start_`: header and attributes
  process::Fd fd_;
  int error_ = 0;
  std::vector<SampledEvent> events_;
  RecordFormat format_;
  std::vector<std::uint64_t> buffer_, record_;
  std::uint64_t size_ = 0; ///< bytes so far
};

/// Reads a file. It is not trusted: a damaged record ends the data.
class PerfDataReader {
public:
  /// Throws Error (bad_input) with the reason if it cannot be read.
  explicit PerfDataReader(const std::string& path);
  /// Those that sample; names are printable. Attributes are as in the file.
  [[nodiscard]] const std::vector<SampledEvent>& events() const noexcept { return events_; }
  [[nodiscard]] const PerfDataAbout& about() const noexcept { return about_; }
  [[nodiscard]] std::uint64_t registers() const noexcept { return registers_; } ///< the mask of the samples
  /// Delivers all records in the order of their times. The report has samples, weights and losses.
  [[nodiscard]] SamplingReport read(const Sampling::Sink& sink);

private:
  struct Attribute {
    RecordFormat samples, others; ///< `others` has no fields without sample_id_all
    std::size_t event = 0;        ///< index into events_; npos: samples nothing
  };
  struct Indexed {
    std::uint64_t time = 0, offset = 0;
  };
  static constexpr std::size_t npos = ~std::size_t{0};

  [[nodiscard]] std::vector<unsigned char> bytes(FileSection section) const;
  void read_attributes(FileSection attributes, std::uint64_t each);
  void read_features(std::span<const std::uint64_t> bits);
  void read_feature(std::size_t number, const std::vector<unsigned char>& bytes);
  void read_names(const std::vector<unsigned char>& bytes);
  void read_build_ids(const std::vector<unsigned char>& bytes);
  [[nodiscard]] const Attribute& find_attribute(std::span<const std::uint64_t> words) const;
  [[nodiscard]] std::vector<Indexed> index();
  std::uint64_t index_chunk(std::span<const std::uint64_t> words, std::uint64_t offset,
                            std::vector<Indexed>& all);
  void look_at(std::span<const std::uint64_t> words);
  bool complete(Decoded& decoded, const Attribute& attribute);

  std::string path_;
  process::Fd fd_;
  std::uint64_t file_size_ = 0;
  FileSection data_;
  std::vector<Attribute> attributes_;
  std::vector<SampledEvent> events_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_; ///< index into attributes_
  std::map<std::string, std::vector<std::uint8_t>, std::less<>> build_ids_;
  bool identified_ = false; ///< each record has its event's id at a fixed place
  PerfDataAbout about_;
  std::uint64_t registers_ = 0;
  SamplingReport report_;
};

// The structures of the file that writer and reader share (tools/perf/util/header.h of Linux). Numbers are in
// the order of bytes of the machine that wrote it.

/// The size of an attribute that is written, up to and including its field sample_max_stack: any perf(1)
/// since Linux 4.8 reads it.
inline constexpr std::uint32_t file_attr_size = PERF_ATTR_SIZE_VER5;

inline constexpr std::array<char, 8> file_magic{'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'};

struct FileHeader {
  std::array<char, 8> magic = file_magic;
  std::uint64_t size = sizeof(FileHeader); ///< of a file that perf wrote to a pipe: 16
  std::uint64_t attribute_size = file_attr_size + sizeof(FileSection);
  FileSection attributes, data, event_types;
  std::array<std::uint64_t, 4> features{}; ///< bits; their sections follow the data in the same order
};
static_assert(sizeof(FileHeader) == 104);

/// Bits of FileHeader::features, HEADER_* of Linux.
enum FileFeature : unsigned {
  file_build_ids = 2,
  file_host = 3,
  file_release = 4,
  file_arch = 6,
  file_command = 11,
  file_events = 12
};

/// Records of perf itself, which no kernel writes, have numbers from here on.
inline constexpr std::uint32_t first_record_of_perf = 64, record_auxtrace = 71, record_compressed = 81,
                               record_compressed2 = 83;

/// The name that perf gives to the mapping of the kernel.
inline constexpr std::string_view kernel_map = "[kernel.kallsyms]_text";

/// The id of an event in a file of recount; 0 is none.
inline constexpr std::uint64_t id_of_event(std::size_t event) {
  return event + 1;
}

} // namespace recount::perf
