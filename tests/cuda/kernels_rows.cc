/* kernels_rows.cc: the kernels of rows.cu for the host. */
#include "../../kernels/cuda/rows.cu"
