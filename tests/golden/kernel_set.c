/* Prints the name of the kernels in use. Results must equal the golden files to the bit if the same kernels made these
 * files. */
#include <stdio.h>

#include "kernels.h"

int main(void)
{
    rill_kernels kernels;
    rill_kernels_init(&kernels, RILL_ISA_ALL);
    puts(kernels.name);
    return 0;
}
