#include "plot/gnuplot_writer.hpp"

#include <gnuplot-iostream.h>

#include <iomanip>
#include <locale>

namespace recount::plot {

GnuplotWriter::GnuplotWriter(std::FILE* file) : gnuplot_(std::make_unique<gnuplotio::Gnuplot>(file)) {
  gnuplot_->imbue(std::locale::classic());
  *gnuplot_ << std::defaultfloat << std::setprecision(17);
}

GnuplotWriter::~GnuplotWriter() = default;

GnuplotWriter& GnuplotWriter::operator<<(const GnuplotCode& code) {
  *gnuplot_ << code.text();
  return *this;
}

template <class Row>
void GnuplotWriter::data(const GnuplotCode& name, const std::vector<Row>& rows) {
  *gnuplot_ << name.text() << " << e\n";
  gnuplot_->send1d(rows); // ends with a line "e"
}

template void GnuplotWriter::data(const GnuplotCode&, const std::vector<Row4>&);
template void GnuplotWriter::data(const GnuplotCode&, const std::vector<Row5>&);

bool GnuplotWriter::flush() {
  gnuplot_->flush();
  return gnuplot_->good();
}

} // namespace recount::plot
