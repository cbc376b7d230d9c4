// The core events of many CPUs as data, made from the sources of libpfm4 by scripts/event-catalogue: for CPUs
// that the libpfm4 of this machine does not have.
#pragma once

#include "event/pfm.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recount::preset {

/// The value of a unit mask.
struct CatalogueMask {
  event::pfm::Attribute attribute;
  std::uint64_t code = 0;
};

/// The events of one PMU. `entries[i].index` is i.
struct CatalogueEvents {
  std::vector<event::pfm::Entry> entries;
  std::vector<std::uint64_t> codes;              ///< of each entry
  std::vector<std::vector<CatalogueMask>> masks; ///< of each entry
  std::vector<std::string> modifiers;            ///< of all entries: "u", "c"
};

/// Immutable.
class Catalogue {
public:
  /// Plain or compressed by gzip. Throws Error (bad_input) when the file cannot be read or is no catalogue.
  [[nodiscard]] static Catalogue read(const std::string& path);
  /// `name`: for messages. Throws Error (bad_input) naming the line at fault.
  [[nodiscard]] static Catalogue of(std::string text, const std::string& name);
  /// That of Debian's libpfm4, which is part of the program.
  [[nodiscard]] static const Catalogue& built_in();

  /// "libpfm4 4.13"
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  [[nodiscard]] const std::vector<event::pfm::Table>& pmus() const noexcept { return pmus_; }
  /// The PMU of that name, in any case of letters; null when there is none.
  [[nodiscard]] const event::pfm::Table* find(std::string_view name) const noexcept;
  /// `pmu`: one of pmus().
  [[nodiscard]] CatalogueEvents events(const event::pfm::Table& pmu) const;

private:
  std::string text_, source_;
  std::vector<event::pfm::Table> pmus_;
  std::vector<std::size_t> begins_; ///< of the lines of each PMU in text_
};

/// The encoding of an event with these unit masks and modifiers. Equal encodings count the same; as numbers
/// they are those of the kernel only for x86.
struct CatalogueCode {
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0;
};
[[nodiscard]] CatalogueCode encode(const event::pfm::Table& pmu, std::uint64_t event,
                                   const std::vector<std::uint64_t>& masks,
                                   std::vector<std::string> modifiers);

} // namespace recount::preset
