/* kernels_attention.cc: the kernels of attention.cu for the host. */
#include "../../kernels/cuda/attention.cu"
