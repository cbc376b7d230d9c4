// The events of one CPU: by name, by encoding and by description.
#pragma once

#include "lint/lint.hpp"
#include "preset/catalogue.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace recount::propose {

/// The words of a description, in small letters, without those that all descriptions have.
[[nodiscard]] std::set<std::string> words_of(std::string_view prose);
/// Common words as a share of all words, 0 to 1; 0 without words.
[[nodiscard]] double similarity(const std::set<std::string>& a, const std::set<std::string>& b);

/// An event with a unit mask, if it has any.
struct NamedEvent {
  std::string name; ///< "L1D:REPLACEMENT"
  preset::Native native;
  std::set<std::string> words; ///< of its description
};

/// Not thread-safe.
class EventIndex {
public:
  /// `source` must outlive this object; `source.core` is not null.
  EventIndex(const lint::EventSource& source, PapiVersion version);

  [[nodiscard]] preset::Natives& natives() { return natives_; }
  /// Of all events, alone and with each unit mask.
  [[nodiscard]] const std::set<std::string>& names() const { return names_; }
  /// Those that libpfm4 can encode. Encoded at the first call.
  [[nodiscard]] const std::vector<NamedEvent>& events();
  /// Indices into events().
  [[nodiscard]] const std::vector<std::size_t>& with_code_of(const preset::Native& native);

private:
  using Code = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>;
  preset::Natives natives_;
  std::set<std::string> names_;
  std::vector<NamedEvent> events_;
  std::map<Code, std::vector<std::size_t>> by_code_;
};

/// A term of a formula of one CPU, as an event of another.
struct Translation {
  std::string name;   ///< empty: it has no counterpart
  std::string remark; ///< what differs; empty: nothing
  double quality = 0; ///< 0 to 1
};
/// `term` is an event of `there`, and is translated to an event of `here`.
[[nodiscard]] Translation translate(const std::string& term, EventIndex& there, EventIndex& here);

} // namespace recount::propose
