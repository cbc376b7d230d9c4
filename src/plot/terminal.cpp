#include "plot/layout.hpp"

#include "plot/style.hpp"

#include <cmath>

namespace recount::plot {

Canvas canvas_of(Format format, double inches, TextSize text) {
  if (format != Format::dumb) return {inches * 72, 0, false, is_tex(format)};
  return {4.0 * static_cast<double>(text.columns), 8.0 * static_cast<double>(text.rows), true, false};
}

GnuplotCode terminal(Format format, const Layout& layout, bool colour) {
  const double w = layout.width / 72, h = layout.height / 72;
  // Factors found by laying the formats over one another: lines of 0.75 pt, markers of 3 pt in all of them.
  // The cairo terminals take a point of text as 1/96 in and everything else as 1/72 in: hence 3/4.
  switch (format) {
  case Format::pdf:
    return code("pdfcairo noenhanced size {:.3f}in,{:.3f}in font '{},{}' fontscale 0.75", w, h, font,
                text_size);
  case Format::png:
    return code("pngcairo noenhanced size {:.0f},{:.0f} font '{},{}' fontscale {:.4f} linewidth {:.4f} "
                "pointscale {:.4f}",
                w * 300, h * 300, font, text_size, 0.75 * 300 / 72, 0.6 * 300 / 72, 0.85 * 300 / 72);
  case Format::svg:
    return code("svg noenhanced size {:.0f},{:.0f} fixed font '{},{}' fontscale {:.4f} linewidth {:.4f}",
                w * 96, h * 96, font, text_size, 96 / 72.0, 0.6 * 96 / 72);
  case Format::tikz: return code("tikz size {:.3f}in,{:.3f}in font ',{}'", w, h, text_size);
  case Format::cairolatex:
    return code("cairolatex pdf colortext size {:.3f}in,{:.3f}in "
                "header '\\fontsize{{{}}}{{8.4}}\\selectfont'",
                w, h, text_size);
  case Format::dumb: break;
  }
  return code("dumb noenhanced size {:.0f},{:.0f} {}", layout.width / 4, layout.height / 8,
              colour ? Literal("ansi256") : Literal("mono"));
}

double marker_scale(Format format) {
  if (format == Format::svg) return 1.9;
  return format == Format::tikz ? 2.0 : 1.0;
}

} // namespace recount::plot
