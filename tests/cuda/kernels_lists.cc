/* kernels_lists.cc: the kernels of lists.cu for the host. */
#include "../../kernels/cuda/lists.cu"
