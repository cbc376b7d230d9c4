#include "plot/pen.hpp"

#include "plot/style.hpp"

namespace recount::plot {

Pen::Pen(GnuplotWriter& gnuplot, const Drawing& drawing)
    : gnuplot_(gnuplot),
      drawing_(drawing),
      tex_(is_tex(drawing.format)),
      cells_(drawing.format == Format::dumb) {}

GnuplotCode Pen::screen(Vec at) const {
  return code("screen {:.5f}, screen {:.5f}", at.x / drawing_.layout.width, at.y / drawing_.layout.height);
}

void Pen::label(const std::string& text, Vec at, const GnuplotCode& how) {
  gnuplot_ << "set label " << plot::quoted(text, tex_) << " at " << screen(at) << " " << how << "\n";
}

void Pen::tics(Literal axis, const Axis& of) {
  gnuplot_ << "set " << axis << "tics (";
  for (std::size_t i = 0; i < of.tics.size(); ++i)
    gnuplot_ << code("{}{} {}", i > 0 ? Literal(", ") : Literal(""), quoted_tic(of.tics[i].text, tex_),
                     of.tics[i].at);
  gnuplot_ << ")\n";
}

void Pen::margins(const Box& plot) {
  const double w = drawing_.layout.width, h = drawing_.layout.height;
  gnuplot_ << code("set lmargin at screen {:.5f}; set rmargin at screen {:.5f}\n", plot.left / w,
                   plot.right / w)
           << code("set bmargin at screen {:.5f}; set tmargin at screen {:.5f}\n", plot.bottom / h,
                   plot.top / h);
}

void Pen::caption() {
  double y = drawing_.layout.caption_top - (cells_ ? 4 : 4.25);
  for (const auto& line : drawing_.layout.caption) {
    label(line, {cells_ ? 0.0 : 4.0, y}, code("left tc lt {}", line_of_capacity));
    y -= cells_ ? 8 : 8.5;
  }
}

} // namespace recount::plot
