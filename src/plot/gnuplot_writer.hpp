// The one way by which anything reaches gnuplot or a script for it.
#pragma once

#include "plot/gnuplot_code.hpp"

#include <cstdio>
#include <memory>
#include <tuple>
#include <vector>

namespace gnuplotio {
class Gnuplot;
}

namespace recount::plot {

/// Writes code and numbers. Other text does not compile: see GnuplotCode. The numbers are exact (17 digits)
/// whatever the global locale.
class GnuplotWriter {
public:
  explicit GnuplotWriter(std::FILE* file); ///< which is closed at the end
  GnuplotWriter(const GnuplotWriter&) = delete;
  GnuplotWriter& operator=(const GnuplotWriter&) = delete;
  ~GnuplotWriter();

  GnuplotWriter& operator<<(const GnuplotCode& code);
  GnuplotWriter& operator<<(Literal literal) { return *this << GnuplotCode(literal); }
  /// A data block: `name` is that of a block, "$curve1". Rows are tuples of numbers.
  template <class Row>
  void data(const GnuplotCode& name, const std::vector<Row>& rows);
  [[nodiscard]] bool flush(); ///< whether everything could be written

private:
  std::unique_ptr<gnuplotio::Gnuplot> gnuplot_;
};

using Row4 = std::tuple<double, double, double, double>;
using Row5 = std::tuple<double, double, double, double, double>;
extern template void GnuplotWriter::data(const GnuplotCode&, const std::vector<Row4>&);
extern template void GnuplotWriter::data(const GnuplotCode&, const std::vector<Row5>&);

} // namespace recount::plot
