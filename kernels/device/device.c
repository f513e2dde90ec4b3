/* Devices: the CPU, and GPUs by modules.
 *
 * A module is a shared object beside the library, loaded on demand: the library does not depend on CUDA.
 *
 * Invariant: an open device is const; a module stays loaded. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "device_abi.h"

/* --- loading device modules --------------------------------------------------------------------------------------- */

/* Set *path to a module's file: in $RILL_MODULES, else beside this library, else left to the dynamic loader. */
static rill_status module_path(rill_text *path, const char *name)
{
    static const char anchor = 0;
    Dl_info info;
    const char *folder = getenv("RILL_MODULES");
    if (folder != NULL && folder[0] != '\0')
        return rill_text_printf(path, "%s/rill-%s-" MODULE_VERSION ".so", folder, name);
    const char *file = dladdr(&anchor, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "";
    const char *slash = strrchr(file, '/');
    return rill_text_printf(path, "%.*srill-%s-" MODULE_VERSION ".so", slash != NULL ? (int)(slash + 1 - file) : 0,
                            file, name);
}

/* Look up `symbol` in a module. *out: NULL if missing, see dlerror(). Modules stay loaded, because they may have threads. */
static rill_status find_module(rill_context *ctx, const char *name, const char *symbol, void **out)
{
    rill_text path = {.ctx = ctx};
    *out = NULL;
    rill_status found = module_path(&path, name);
    if (found != RILL_OK) return found;
    void *module = dlopen(path.data, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    rill_text_clear(&path);
    if (module == NULL) return RILL_OK;
    *out = dlsym(module, symbol);
    if (*out != NULL) dlclose(module);
    return RILL_OK;
}

/* --- opening the CPU ---------------------------------------------------------------------------------------------- */

static rill_status choose_kernels(rill_context *ctx, const char *name, rill_kernels *out)
{
    rill_isa_mask mask = RILL_ISA_ALL;
    if (name != NULL && rill_isa_by_name(name, &mask) != 0) {
        char names[128] = "";
        for (size_t i = 0, used = 0; rill_isa_name(i) != NULL && used < sizeof names; i++)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", rill_isa_name(i));
        return rill_fail(ctx, RILL_ERR_OPTION, "kernels: expected one of %s; found \"%s\"", names, name);
    }
    rill_kernels_init(out, mask);
    return RILL_OK;
}

static rill_status open_processor(rill_device *device, const rill_device_options *o)
{
    if (o->fast) rill_log(device->ctx, RILL_LOG_WARNING, "fast: it has no effect on the processor: leave it out");
    device->backend = &dev_cpu;
    return dev_cpu.open(device, "cpu");
}

/* --- other devices ------------------------------------------------------------------------------------------------ */

/* Open a device that a module implements. The module's name precedes the colon: "cuda:1" is a device of the module cuda. */
static rill_status open_module(rill_device *device, const rill_device_options *o)
{
    rill_context *ctx = device->ctx;
    char module[sizeof device->name];
    dev_module_fn table;
    snprintf(module, sizeof module, "%.*s", (int)strcspn(o->name, ":"), o->name);
    if (o->int8)
        return rill_fail(ctx, RILL_ERR_OPTION, "device: %s multiplies weights in f32, bf16 and f16, not in int8",
                         o->name);
    rill_status status = find_module(ctx, module, DEV_MODULE_NAME, (void **)&table);
    if (status != RILL_OK) return status;
    if (table == NULL)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "device: rill was built without %s, or its libraries are missing "
                         "(%s)",
                         module, dlerror());
    if (table()->abi != DEV_ABI)
        return rill_fail(ctx, RILL_ERR_ABI, "device: the module for %s belongs to another build of rill", module);
    status = table()->open(device, o->name);
    if (status != RILL_OK) return status;
    const size_t used = strlen(device->name);
    if (o->fast) snprintf(device->name + used, sizeof device->name - used, ", fast");
    device->fast = o->fast;
    device->backend = table();
    return RILL_OK;
}

/* Open the first GPU that supports the options, else the CPU. */
static rill_status open_auto(rill_device *device, const rill_device_options *o)
{
    rill_device_options wanted = *o;
    wanted.name = "cuda";
    if (open_module(device, &wanted) == RILL_OK) return RILL_OK;
    rill_log(device->ctx, RILL_LOG_INFO, "the processor, not a GPU: %s", rill_error(device->ctx));
    rill_error_clear(device->ctx);
    return open_processor(device, o);
}

static rill_status open_named(rill_device *device, const rill_device_options *o)
{
    const char *name = o->name != NULL ? o->name : "cpu";
    const size_t word = strcspn(name, ":");
    rill_status status = choose_kernels(device->ctx, o->kernels, &device->kernels);
    if (status != RILL_OK) return status;
    if (strcmp(name, "cpu") == 0) return open_processor(device, o);
    if (strcmp(name, "auto") == 0) return open_auto(device, o);
    if ((word == 4 && memcmp(name, "cuda", 4) == 0) || (word == 9 && memcmp(name, "cuda-host", 9) == 0))
        return open_module(device, o);
    return rill_fail(device->ctx, RILL_ERR_OPTION, "device: expected cpu, cuda, cuda:NUMBER or auto, found \"%s\"%s",
                     name,
                     strchr(name, ',') != NULL ? ": one model runs on one device; several devices need workers" : "");
}

/* --- opening a device --------------------------------------------------------------------------------------------- */

rill_status rill_device_open(rill_device **out, rill_context *ctx, const rill_device_options *options)
{
    rill_device_options own = {0};
    *out = NULL;
    if (options != NULL) {
        const rill_status status = rill_copy_struct(ctx, "rill_device_options", &own, sizeof own, options,
                                                    sizeof own.struct_size + sizeof own.name);
        if (status < 0) return status;
    }
    rill_device *device = *out = rill_calloc(ctx, 1, sizeof *device);
    if (device == NULL) return rill_fail_memory(ctx, sizeof *device, "a device");
    device->ctx = ctx;
    return RILL_OPENED(open_named(device, &own), out, rill_device_close);
}

void rill_device_close(rill_device *device)
{
    if (device == NULL) return;
    if (device->backend != NULL) device->backend->close(device);
    rill_free(device->ctx, device, sizeof *device);
}

int32_t rill_device_group_rows(const rill_device *device)
{
    return device->backend->group_rows != NULL ? device->backend->group_rows(device) : 0;
}

int64_t rill_device_free_bytes(const rill_device *device)
{
    return device->backend->free_bytes != NULL ? (int64_t)(device->backend->free_bytes(device) / 10 * 9) : 0;
}

const char *rill_device_name(const rill_device *device)
{
    return device->name;
}
