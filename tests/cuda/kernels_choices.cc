/* kernels_choices.cc: the kernels of choices.cu for the host. */
#include "../../kernels/cuda/choices.cu"
