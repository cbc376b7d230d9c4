#include "model/accelerated/trace_rows.hpp"

namespace recount::model {

bool TraceRows::lay_out(std::uint32_t id, std::int64_t line, std::uint64_t path, unsigned depth) {
  constexpr unsigned deepest = 4;
  const bool leaf = traces_.about(id).leaf;
  if (!leaf && depth == deepest) return false;
  for (std::size_t i = 0; i < traces_.size(id); ++i) {
    if (leaf) {
      TraceEvent e = traces_.event(id, i);
      e.line += line;
      row_.push_back({path | e.tag, e});
      continue;
    }
    const TraceChild inside = traces_.child(id, i);
    if (inside.at + inside.times > 0x100) return false;
    for (std::uint64_t at = inside.at; at < inside.at + inside.times; ++at)
      if (!lay_out(inside.id, line + inside.line, path | at << (32 + 8 * (deepest - 1 - depth)), depth + 1))
        return false;
  }
  return true;
}

std::optional<std::span<const TraceRows::Timed>> TraceRows::row(std::uint32_t id) {
  if (id >= rows_.size()) rows_.resize(id + id / 2 + 1);
  if (!rows_[id]) {
    row_.clear();
    if (!lay_out(id, 0, 0, 0)) row_.clear();
    rows_[id] = std::make_unique<std::vector<Timed>>(row_.begin(), row_.end());
    bytes_ += row_.size() * sizeof(Timed) + sizeof(std::vector<Timed>);
  }
  if (rows_[id]->empty()) return {};
  return std::span<const Timed>(*rows_[id]);
}

} // namespace recount::model
