/* kernels_cells.cc: the kernels of cells.cu for the host. */
#include "../../kernels/cuda/cells.cu"
