// Samples, added up by the place that they name.
#pragma once

#include "symbol/spaces.hpp"

#include <recount/sampling.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace recount::profile {

/// Somewhere that code runs.
struct Place {
  enum class Kind : std::uint8_t {
    file,    ///< `offset` in a mapped file
    memory,  ///< an address in anonymous memory: generated code
    kernel,  ///< the address in the kernel
    unknown, ///< no known mapping, or a guest's or hypervisor's mode
    many     ///< all places beyond the limit
  };
  Kind kind = Kind::unknown;
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint32_t object = 0; ///< number of the data that it accesses, plus 1; 0: not recorded
  bool operator==(const Place&) const = default;
};

/// Counts of one place, one for each event.
struct Tally {
  std::uint64_t samples = 0;
  std::uint64_t weight = 0; ///< the occurrences that they represent
};

/// Adds up samples. Memory is bounded: a million places and as many nodes of call chains; the rest counts as
/// Place::Kind::many. Not thread-safe.
class Places {
public:
  /// `after[e]`: samples of the event name the instruction after (see reports_next_instruction()).
  Places(std::vector<bool> after, bool chains);

  /// Any record of a Sampling; mappings are followed.
  void add(const Record& record);

  /// So many samples of an event, which represent `weight` occurrences, at an instruction in user mode; no
  /// call chain is known. `object`: see Place.
  void count(std::uint32_t pid, std::uint64_t address, std::size_t event, std::uint64_t samples,
             std::uint64_t weight, std::uint32_t object = 0);
  /// The place of an instruction in user mode, which need not have any occurrence.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t pid, std::uint64_t address) {
    return place(pid, Mode::user, address);
  }

  [[nodiscard]] std::size_t events() const noexcept { return after_.size(); }
  [[nodiscard]] const std::vector<Place>& places() const noexcept { return places_; }
  [[nodiscard]] std::span<const Tally> tally(std::size_t place) const {
    return std::span(tallies_).subspan(place * events(), events());
  }
  [[nodiscard]] Tally total(std::size_t event) const { return totals_[event]; }
  /// Effective sample size of this event (Kish, Survey Sampling, 1965):
  /// their number where the period was fixed.
  [[nodiscard]] double effective(std::size_t event) const;
  [[nodiscard]] const symbol::Spaces& spaces() const noexcept { return spaces_; }

  /// A call chain: the place of its innermost frame, and the chain of its caller. The last of all is 0, which
  /// has no place.
  struct Chain {
    std::uint32_t caller = 0, place = 0;
  };
  [[nodiscard]] const std::vector<Chain>& chains() const noexcept { return chains_; } ///< [0] is the root
  [[nodiscard]] std::span<const Tally> chain_tally(std::size_t chain) const {
    return std::span(chain_tallies_).subspan(chain * events(), events());
  }
  [[nodiscard]] std::uint64_t cut_chains() const noexcept {
    return cut_;
  } ///< samples whose chain did not fit

private:
  struct Hash {
    std::size_t operator()(const Place& p) const noexcept;
  };
  void add_sample(const Sample& sample);
  void add_chain(const Sample& sample, std::uint32_t innermost);
  std::uint32_t place(std::uint32_t pid, Mode mode, std::uint64_t address, std::uint32_t object = 0);
  std::uint32_t intern(const Place& place);
  [[nodiscard]] std::uint32_t child(std::uint32_t caller, std::uint32_t place);

  std::vector<bool> after_;
  bool with_chains_;
  symbol::Spaces spaces_;
  std::unordered_map<Place, std::uint32_t, Hash> known_;
  std::vector<Place> places_;
  std::vector<Tally> tallies_, chain_tallies_, totals_;
  std::vector<double> squares_; ///< of the periods, summed by event
  std::unordered_map<std::uint64_t, std::uint32_t> known_chains_;
  std::vector<Chain> chains_;
  std::vector<std::uint32_t> frames_; ///< of the current sample
  std::uint64_t cut_ = 0;
};

} // namespace recount::profile
