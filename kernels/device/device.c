/* Devices: the one there is, the processor, and what computes its products.
 *
 * Invariant: a device is plain data that is not written after it was opened; a back end's file stays loaded.
 * Divisions: back ends · opening. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "plan.h"

/* --- back ends ---------------------------------------------------------------------------------------------------- */

typedef int (*use_fn)(rill_kernels *kernels, int row_by_row);

/* Next to the file that this code is in; the loader's own search where that has no folder. */
static rill_status module_path(rill_text *path)
{
    static const char here = 0;
    Dl_info info;
    const char *file = dladdr(&here, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "";
    const char *slash = strrchr(file, '/');
    return rill_text_printf(path, "%.*s%s", slash != NULL ? (int)(slash + 1 - file) : 0, file, BACKEND_MODULE);
}

/* The file stays loaded: a library that may have made threads is not unloaded under them. */
static rill_status use_onednn(rill_context *ctx, int row_by_row, rill_kernels *out)
{
    use_fn use = NULL;
    rill_text path = {.ctx = ctx};
    rill_status found = module_path(&path);
    if (found != RILL_OK) return found;
    void *module = dlopen(path.data, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    rill_text_clear(&path);
    if (module == NULL)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "backend: this rill was built without oneDNN, or its library is gone (%s): build it where "
                         "oneDNN 2.x is installed (package libdnnl-dev), or use the backend rill",
                         dlerror());
    *(void **)&use = dlsym(module, "rill_kernels_use_onednn");
    const int status = use != NULL ? use(out, row_by_row) : -1;
    dlclose(module);
    if (status == 0) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_OPTION, "backend: oneDNN does not run here; use the backend rill");
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static rill_status choose_kernels(rill_context *ctx, const char *name, rill_kernels *out)
{
    static const struct {
        const char *name;
        rill_isa_mask mask;
    } sets[] = {
        {"ref", RILL_ISA_REF},
        {"avx2", RILL_ISA_AVX2},
        {"avx512", RILL_ISA_AVX2 | RILL_ISA_AVX512},
        {"avx512vnni", RILL_ISA_AVX2 | RILL_ISA_AVX512 | RILL_ISA_AVX512_VNNI},
    };
    rill_kernels_init(out, RILL_ISA_ALL);
    if (name == NULL) return RILL_OK;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (strcmp(sets[i].name, name) != 0) continue;
        rill_kernels_init(out, sets[i].mask);
        return RILL_OK;
    }
    return rill_fail(ctx, RILL_ERR_OPTION, "kernels: expected ref, avx2, avx512 or avx512vnni, found \"%s\"", name);
}

static rill_status open_backend(rill_device *device, const rill_device_options *o)
{
    rill_context *ctx = device->ctx;
    rill_status status = choose_kernels(ctx, o->kernels, &device->kernels);
    snprintf(device->name, sizeof device->name, "cpu");
    if (status != RILL_OK || o->backend == NULL || strcmp(o->backend, "rill") == 0) return status;
    if (strcmp(o->backend, "onednn") != 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "backend: expected rill or onednn, found \"%s\"", o->backend);
    status = use_onednn(ctx, o->row_by_row, &device->kernels);
    if (status == RILL_OK) snprintf(device->name, sizeof device->name, "cpu, products by %s", device->kernels.name);
    return status;
}

rill_status rill_device_open(rill_device **out, rill_context *ctx, const rill_device_options *options)
{
    static const rill_device_options none = {.struct_size = sizeof none};
    const rill_device_options *o = options != NULL ? options : &none;
    *out = NULL;
    if (o->struct_size != sizeof *o)
        return rill_fail(ctx, RILL_ERR_ABI, "a device's options have %zu bytes, expected %zu", o->struct_size,
                         sizeof *o);
    if (o->name != NULL && strcmp(o->name, "cpu") != 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "device: there is only cpu, found \"%s\"", o->name);
    rill_device *device = rill_calloc(ctx, 1, sizeof *device);
    if (device == NULL) return rill_fail_memory(ctx, sizeof *device, "a device");
    device->ctx = ctx;
    const rill_status status = open_backend(device, o);
    if (status != RILL_OK)
        rill_device_close(device);
    else
        *out = device;
    return status;
}

void rill_device_close(rill_device *device)
{
    if (device != NULL) rill_free(device->ctx, device, sizeof *device);
}

const char *rill_device_name(const rill_device *device)
{
    return device->name;
}
