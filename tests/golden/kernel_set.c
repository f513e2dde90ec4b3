/* Prints the name of the kernels in use here: golden files compare to the bit where they are those that made them. */
#include <stdio.h>

#include "kernels.h"

int main(void)
{
    rill_kernels kernels;
    rill_kernels_init(&kernels, RILL_ISA_ALL);
    puts(kernels.name);
    return 0;
}
