// The events of whole traces in rows.
#pragma once

#include "model/accelerated/set_trace.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace recount::model {

/// Lays out traces, each once, when asked for. Only reads the store, to which it keeps a reference. Not
/// thread-safe.
class TraceRows {
public:
  explicit TraceRows(const SetTraces& traces) : traces_(traces) {}

  /// An event of a row.
  struct Timed {
    std::uint64_t time = 0; ///< in which of the segments inside one another (8 bits each), then the tag
    TraceEvent event;
  };
  /// All events of a trace, `line` relative to the first. None when segments lie too deep for that, or are
  /// too many: then no trace of the same segment has a row. Their times compare.
  [[nodiscard]] std::optional<std::span<const Timed>> row(std::uint32_t id);

  /// Before traces get other numbers.
  void clear() {
    rows_.clear();
    rows_.shrink_to_fit();
    bytes_ = 0;
  }
  [[nodiscard]] std::size_t bytes() const { return rows_.capacity() * sizeof(rows_[0]) + bytes_; }

private:
  bool lay_out(std::uint32_t id, std::int64_t line, std::uint64_t path, unsigned depth);

  const SetTraces& traces_;
  std::vector<std::unique_ptr<std::vector<Timed>>> rows_; ///< by id
  std::size_t bytes_ = 0;
  std::vector<Timed> row_;
};

} // namespace recount::model
