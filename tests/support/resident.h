/* Resident memory of this process, for tests that measure it. */
#pragma once

#include <stdio.h>
#include <unistd.h>

/* Resident set size in megabytes; negative if the system does not report it. */
static inline double resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (file == NULL) return -1;
    const int read = fscanf(file, "%*d %ld", &pages);
    fclose(file);
    return read == 1 ? (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6 : -1;
}
