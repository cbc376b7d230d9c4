# The look of every figure of recount. Linetypes 1 to 7 are the colours of Okabe and Ito ("Color Universal
# Design", 2008), told apart by marker as well; yellow is left out, it does not carry text on white.
set encoding utf8
set linetype 1 lc rgb '#0072B2' pt 7
set linetype 2 lc rgb '#D55E00' pt 5
set linetype 3 lc rgb '#009E73' pt 9
set linetype 4 lc rgb '#CC79A7' pt 13
set linetype 5 lc rgb '#E69F00' pt 11
set linetype 6 lc rgb '#56B4E9' pt 15
set linetype 7 lc rgb '#000000' pt 3
# Linetypes 21 to 32 are steps of viridis (van der Walt and Smith, 2015), cut before its pale end: for many
# curves that follow one another, such as sizes.
set linetype 21 lc rgb '#440154' pt 7
set linetype 22 lc rgb '#482173' pt 5
set linetype 23 lc rgb '#433E85' pt 9
set linetype 24 lc rgb '#38598C' pt 13
set linetype 25 lc rgb '#2D708E' pt 11
set linetype 26 lc rgb '#25858E' pt 15
set linetype 27 lc rgb '#1E9B8A' pt 6
set linetype 28 lc rgb '#2BB07F' pt 4
set linetype 29 lc rgb '#51C56A' pt 8
set linetype 30 lc rgb '#6CBF3F' pt 12
set linetype 31 lc rgb '#93B52A' pt 10
set linetype 32 lc rgb '#B5A21B' pt 14
# The same again, 100 higher, for what is modelled and not measured: dashed, the other marker.
set linetype 101 lc rgb '#0072B2' pt 6 dt (6,3)
set linetype 102 lc rgb '#D55E00' pt 4 dt (6,3)
set linetype 103 lc rgb '#009E73' pt 8 dt (6,3)
set linetype 104 lc rgb '#CC79A7' pt 12 dt (6,3)
set linetype 105 lc rgb '#E69F00' pt 10 dt (6,3)
set linetype 106 lc rgb '#56B4E9' pt 14 dt (6,3)
set linetype 107 lc rgb '#000000' pt 2 dt (6,3)
set linetype 121 lc rgb '#440154' pt 6 dt (6,3)
set linetype 122 lc rgb '#482173' pt 4 dt (6,3)
set linetype 123 lc rgb '#433E85' pt 8 dt (6,3)
set linetype 124 lc rgb '#38598C' pt 12 dt (6,3)
set linetype 125 lc rgb '#2D708E' pt 10 dt (6,3)
set linetype 126 lc rgb '#25858E' pt 14 dt (6,3)
set linetype 127 lc rgb '#1E9B8A' pt 7 dt (6,3)
set linetype 128 lc rgb '#2BB07F' pt 5 dt (6,3)
set linetype 129 lc rgb '#51C56A' pt 9 dt (6,3)
set linetype 130 lc rgb '#6CBF3F' pt 13 dt (6,3)
set linetype 131 lc rgb '#93B52A' pt 11 dt (6,3)
set linetype 132 lc rgb '#B5A21B' pt 15 dt (6,3)
# Axes left and bottom, grey; a pale grid for y only; what is said about the figure is grey as well.
set linetype 41 lc rgb '#666666' lw 0.7
set linetype 42 lc rgb '#E4E4E4' lw 0.6
set linetype 43 lc rgb '#777777' lw 0.9 dt (1.5,2.5)
set linetype 44 lc rgb '#333333'
set linetype 45 lc rgb '#F3F3F3'
set linetype 46 lc rgb '#E6E6E6'
set border 3 lt 41
set tics nomirror out scale 0.45,0.25
set xtics textcolor lt 44
set ytics textcolor lt 44
set grid ytics lt 42, lt 42
set grid noxtics back
set style fill transparent solid 0.18 noborder
unset key
