/* The choice of kernels; backend.h says which. */
#include "backend.h"

#include <dlfcn.h>
#include <string.h>

typedef int (*use_fn)(rill_kernels *kernels, int row_by_row);

/* The file stays loaded: a library that may have made threads is not unloaded under them. */
static rill_status use_onednn(rill_context *ctx, const char *domain, int row_by_row, rill_kernels *out)
{
    use_fn use = NULL;
    void *module = dlopen(BACKEND_MODULE, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
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
