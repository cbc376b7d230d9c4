// Formulas over measured counts of events that reproduce the expected counts of a preset. Pure.
#pragma once

#include "statistics/statistics.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace recount::propose {

/// The counts of one event at all points (a kernel at a point), in one order for all events.
struct MeasuredEvent {
  std::string name;
  std::vector<std::vector<double>> counts; ///< by point, the repetitions; empty: not counted there
};

enum class Usability {
  usable,
  dead,          ///< 0 at all points
  constant,      ///< the same count at all points
  irreproducible ///< repetitions differ by more than 5 % at most points where it counts
};
[[nodiscard]] std::string_view name_of(Usability usability) noexcept;
[[nodiscard]] Usability usability(const MeasuredEvent& event);

/// What a preset may count at a point.
struct Expected {
  std::size_t point = 0;
  statistics::Band accepted;
};

/// A sum of multiples of events, over a divisor.
struct Fit {
  std::map<std::string, int> terms;
  int divisor = 1;
  /// The largest distance from the accepted counts, as a share of what noise allows: at most 1.
  double residual = 0;
  [[nodiscard]] std::size_t weight() const; ///< terms, and factors other than 1
  friend bool operator==(const Fit& a, const Fit& b) { return a.terms == b.terms && a.divisor == b.divisor; }
};
/// "2*A + B", "(A) / 2"
[[nodiscard]] std::string text_of(const Fit& fit);
/// "PRESET,NAME,TYPE,..." as PAPI reads it.
[[nodiscard]] std::string row_of(const std::string& preset, const Fit& fit);

/// The formulas that reproduce every expected count within the noise of their events, fewest terms first.
struct Fits {
  std::vector<Fit> found;
  std::size_t points = 0;   ///< expected counts that were compared
  std::size_t positive = 0; ///< those that are certainly larger than 0
  bool complete = true;     ///< false: the search ended early
};

/// The usable events, each set of events with the same counts at all points once.
class Measured {
public:
  explicit Measured(const std::vector<MeasuredEvent>& events);

  /// `suggested`: formulas to try first, of any number of terms.
  [[nodiscard]] Fits fits(const std::vector<Expected>& expected, const std::vector<Fit>& suggested) const;
  /// The other events with the same counts as that one.
  [[nodiscard]] std::vector<std::string> same_as(const std::string& event) const;
  [[nodiscard]] std::size_t size() const { return columns_.size(); }

private:
  struct Column {
    std::vector<std::string> names; ///< of events with the same counts
    std::vector<double> counts, noise;
    std::vector<bool> counted;
  };
  class Search;
  friend class Search;
  std::vector<Column> columns_;
};

} // namespace recount::propose
