// The gnuplot commands of a panel of rows.
#pragma once

#include "plot/script.hpp"

#include <string>

namespace recount::plot {

/// The name of the third mark of the key: the reference for the witnesses.
inline constexpr const char* name_of_stated = "modelled, with its tolerance";

/// The data blocks that the panel draws from: those of pictures, those of text.
void write_rows_data(GnuplotWriter& gnuplot, const Panel& panel, const RowsLook& look, Literal name,
                     bool pictures, bool text);
/// Everything of the panel, and the caption.
void write_rows(GnuplotWriter& gnuplot, const Panel& panel, const PanelLook& look, const Drawing& drawing,
                Literal data);

} // namespace recount::plot
