/* faults.h: access to the stand-in inside a device module, for tests of the whole module. */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "rill/version.h"
#include "stand_in.h"

typedef struct stand_in {
    void (*refuse)(cuda_host_call call, uint64_t n, uint64_t more);
    uint64_t (*count)(cuda_host_call call);
    size_t (*used)(void);
    void (*addresses)(size_t bytes);
    void (*overrun)(int overruns);
} stand_in;

/* Return the stand-in of the device module in RILL_MODULES; skip the test if there is none. */
static inline stand_in module_stand_in(void)
{
    const char *folder = getenv("RILL_MODULES");
    char path[4096];
    snprintf(path, sizeof path, "%s/rill-cuda-host-" RILL_VERSION_STRING ".so", folder != NULL ? folder : ".");
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (module == NULL) {
        puts(dlerror());
        exit(77); /* Meson's exit code for a skipped test */
    }
    stand_in s;
    *(void **)&s.refuse = dlsym(module, "cuda_host_fail");
    *(void **)&s.count = dlsym(module, "cuda_host_count");
    *(void **)&s.used = dlsym(module, "cuda_host_used");
    *(void **)&s.addresses = dlsym(module, "cuda_host_addresses");
    *(void **)&s.overrun = dlsym(module, "cuda_host_overrun");
    return s;
}
