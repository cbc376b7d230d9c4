// The core events of many CPUs as data, made from the sources of libpfm4 by scripts/event-catalogue or from
// event files of vendors: for CPUs that the libpfm4 of this machine does not have.
#pragma once

#include "count/event/pfm.hpp"

#include <recount/preset.hpp>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace recount::preset {

/// A unit mask with its value.
struct CatalogueMask {
  event::pfm::Attribute attribute;
  std::uint64_t code = 0;
};

struct CatalogueEvent {
  event::pfm::Entry entry; ///< `index` is that in CatalogueEvents
  std::uint64_t code = 0;
  std::vector<CatalogueMask> masks;
};

/// The events of one PMU.
struct CatalogueEvents {
  std::vector<CatalogueEvent> events;
  std::vector<std::string> modifiers; ///< of all events: "u", "c"
};

/// Immutable.
class Catalogue {
public:
  /// The CPUs of event files, "NAME=FILE": NAME is a CPU of preset tables, FILE an event file or a folder of
  /// them. Throws Error (bad_input).
  [[nodiscard]] static Catalogue read(const std::vector<std::string>& event_files);
  /// Of the lines that scripts/event-catalogue describes, after a first one.
  [[nodiscard]] static Catalogue of(std::string text);
  /// That of a recent libpfm4, which is part of the program.
  [[nodiscard]] static const Catalogue& built_in();

  [[nodiscard]] const std::vector<event::pfm::Table>& pmus() const noexcept { return pmus_; }
  /// The PMU of that name, in any case of letters; null when there is none.
  [[nodiscard]] const event::pfm::Table* find(std::string_view name) const noexcept;
  /// `pmu`: one of pmus().
  [[nodiscard]] CatalogueEvents events(const event::pfm::Table& pmu) const;

private:
  std::string text_;
  std::vector<event::pfm::Table> pmus_;
  std::vector<std::size_t> begins_; ///< of the lines of each PMU in text_
};

/// Number of the PMUs of event files, whose codes of events and unit masks are bits of config.
inline constexpr int described_pmu = -1;

// The native events of one kind of CPU, found as PAPI finds them there, on any machine.

/// The native event behind a name of a table on that CPU.
struct Native {
  enum class Status {
    ok,
    unknown_event,
    unknown_mask, ///< the event is there, the part after a colon is not (or in another case of letters)
    refused,      ///< libpfm4 knows the parts and refuses the whole
    elsewhere     ///< a PMU or component that presets cannot reach from this CPU
  } status = Status::unknown_event;
  std::string pmu;     ///< of the table it was found in
  std::string event;   ///< its name there
  std::string part;    ///< the mask or PMU at fault
  std::string failure; ///< libpfm4's message, for refused
  std::string prose;   ///< what it counts, with its masks
  /// Of events that libpfm4 does not have, these are the kernel's only for x86; equal ones count the same.
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  [[nodiscard]] bool ok() const noexcept { return status == Status::ok; }
  /// The same counter setting, under whatever name.
  [[nodiscard]] bool same_as(const Native& other) const noexcept {
    return type == other.type && config == other.config && config1 == other.config1 &&
           config2 == other.config2;
  }
};

/// Not thread-safe: one object per thread.
class Natives {
public:
  /// `core`: libpfm4's table of the CPU's core PMU, or one of `catalogue`, which must outlive this object.
  Natives(const event::pfm::Table& core, PapiVersion version, const Catalogue* catalogue = nullptr);
  Natives(const Natives&) = delete;
  Natives& operator=(const Natives&) = delete;
  ~Natives();

  [[nodiscard]] const Native& of(const std::string& name);
  [[nodiscard]] NativeLookup lookup();
  /// The nearest names for one that is not ok, best first.
  [[nodiscard]] std::vector<std::string> suggest(const std::string& name);
  /// The names of all events of the core PMU, alone and with each unit mask.
  [[nodiscard]] std::set<std::string> core_names();
  [[nodiscard]] const event::pfm::Table& core() const noexcept { return core_; }

private:
  struct EventTable;
  Native find(const std::string& name);
  Native find_in(EventTable& table, const event::pfm::Entry& entry, const std::string& event,
                 const std::string& masks);
  event::pfm::Table core_;
  std::vector<std::unique_ptr<EventTable>> tables_; ///< the tables PAPI searches there, in its order
  std::size_t unprefixed_ = 0; ///< how many of them, from the first, an unprefixed name reaches
  std::unordered_map<std::string, Native> known_;
};

/// libpfm4's core PMUs in this build; ARM and POWER are not in that for x86.
[[nodiscard]] const std::vector<event::pfm::Table>& core_pmus();
/// The table of that name, in any case of letters; null when this build of libpfm4 does not have it.
[[nodiscard]] const event::pfm::Table* core_pmu(std::string_view name);
/// libpfm4's table of Intel's architectural events, the PMU of Intel CPUs that it does not know.
[[nodiscard]] const event::pfm::Table* architectural_pmu();
/// The core PMU of this machine as PAPI chooses it; null when libpfm4 does not know the CPU.
[[nodiscard]] const event::pfm::Table* default_pmu();

} // namespace recount::preset
