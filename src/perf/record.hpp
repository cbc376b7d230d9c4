// Parser of ring-buffer records (perf_event_open(2), "MMAP layout"). Pure; accepts any bytes.
#pragma once

#include <recount/sampling.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace recount::perf {

/// Nothing if the line is invalid; the file name is a view into it, "//anon" where there is none.
[[nodiscard]] std::optional<Mapping> parse_maps_line(std::string_view line);

/// What the records of an event hold, from its perf_event_attr.
struct RecordFormat {
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t user_registers = 0, interrupted_registers = 0;
};

/// The fields of a sample that decode() knows; a sample_type with others makes every sample damaged.
inline constexpr std::uint64_t known_fields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_WEIGHT |
    PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_INTR;

struct Decoded {
  Record record;
  std::uint64_t id = 0;                 ///< the kernel's id of the event (PERF_SAMPLE_IDENTIFIER or _ID)
  std::span<const std::uint64_t> group; ///< of a sample with PERF_SAMPLE_READ: the words of the reading
};

enum class Understood {
  yes,
  other, ///< a well-formed record of another type
  no     ///< inconsistent lengths
};

/// Parses a record, header included; `into` holds views of `words`. Without sample_id_all (a
/// sample_type of 0) records other than samples have no time and no id.
[[nodiscard]] Understood decode(std::span<const std::uint64_t> words, const RecordFormat& format,
                                Decoded& into);

/// The id of the event that made a record (PERF_SAMPLE_IDENTIFIER, which all of a ring must have) without
/// knowing its format; 0 when it is too short.
[[nodiscard]] std::uint64_t id_of(std::span<const std::uint64_t> words) noexcept;
/// The time of a record without parsing the rest; 0 if it has none.
[[nodiscard]] std::uint64_t time_of(std::span<const std::uint64_t> words, std::uint64_t sample_type) noexcept;

} // namespace recount::perf
