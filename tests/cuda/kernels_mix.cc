/* kernels_mix.cc: the kernels of mix.cu for the host. */
#include "../../kernels/cuda/mix.cu"
