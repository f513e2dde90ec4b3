/* What this process holds of memory, for tests that watch it. */
#ifndef TEST_RESIDENT_H
#define TEST_RESIDENT_H

#include <stdio.h>
#include <unistd.h>

/* Megabytes of this process's memory that are in use; negative where the system does not say. */
static inline double resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (file == NULL) return -1;
    const int read = fscanf(file, "%*d %ld", &pages);
    fclose(file);
    return read == 1 ? (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6 : -1;
}

#endif
