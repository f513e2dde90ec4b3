/* The choice of kernels; backend.h says which. */
#include "backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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
static rill_status use_onednn(rill_context *ctx, const char *domain, int row_by_row, rill_kernels *out)
{
    use_fn use = NULL;
    rill_text path = {.ctx = ctx};
    rill_status found = module_path(&path);
    if (found != RILL_OK) return found;
    void *module = dlopen(path.data, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    rill_text_clear(&path);
    if (module == NULL)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "%s: backend: this rill was built without oneDNN, or its library is gone (%s): build it where "
                         "oneDNN 2.x is installed (package libdnnl-dev), or use the backend rill",
                         domain, dlerror());
    *(void **)&use = dlsym(module, "rill_kernels_use_onednn");
    int status = use != NULL ? use(out, row_by_row) : -1;
    dlclose(module);
    if (status == 0) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_OPTION, "%s: backend: oneDNN does not run here; use the backend rill", domain);
}

rill_status rill_backend_kernels(rill_context *ctx, const char *domain, const rill_open_options *options,
                                 rill_kernels *out)
{
    rill_kernels_init(out, RILL_ISA_ALL);
    if (options->backend == NULL || strcmp(options->backend, "rill") == 0) return RILL_OK;
    if (strcmp(options->backend, "onednn") != 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: backend: expected rill or onednn, found \"%s\"", domain,
                         options->backend);
    if (options->weights != NULL && strcmp(options->weights, "f32") != 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: backend: onednn multiplies weights in f32 only, found \"%s\"",
                         domain, options->weights);
    return use_onednn(ctx, domain, options->deterministic, out);
}

void rill_backend_describe(const rill_kernels *kernels, char *description, size_t size)
{
    const size_t used = strlen(description);
    if (kernels->f32 != RILL_DTYPE_F32) snprintf(description + used, size - used, ", products by %s", kernels->name);
}
