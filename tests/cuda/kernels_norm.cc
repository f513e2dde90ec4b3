/* kernels_norm.cc: the kernels of norm.cu for the host. */
#include "../../kernels/cuda/norm.cu"
