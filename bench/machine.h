/* Shared by the benchmarks in C: a clock, an order of samples, and a line about the machine. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Return the monotonic clock's seconds. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Order doubles for qsort(). */
static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct machine {
    char model[200];
    long processors;
    double load; /* load average of the last minute; -1 if unknown */
} machine;

static inline machine describe_machine(void)
{
    machine m = {"unknown", sysconf(_SC_NPROCESSORS_ONLN), -1};
    char line[256];
    double load[3];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %199[^\n]", m.model) == 1) break;
    if (f) fclose(f);
    if (getloadavg(load, 3) >= 1) m.load = load[0];
    return m;
}

/* Print the command line, as the first line of the program's output. */
static inline void print_command(const char *program, int argc, char **argv)
{
    printf("command: %s", program);
    for (int i = 1; i < argc; i++) printf(" %s", argv[i]);
    putchar('\n');
}

#endif
