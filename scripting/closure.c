/* C function pointers made at run time, by libffi, which also knows how where memory cannot be both written and run.
 *
 * Closures are freed behind the script's Lua state and before its tables: what could still call one is gone by then. */
#include <pthread.h>

#include "internal.h"

struct script_closure {
    script_closure *next;
    ffi_closure *closure;
    ffi_cif cif;
    unsigned n;
    ffi_type *types[]; /* [n] */
};

/* libffi's allocator sets itself up at its first use, and looks whether it has without a lock: two scripts in two threads must
 * not both be the first. */
static pthread_once_t allocator = PTHREAD_ONCE_INIT;

static void set_up_allocator(void)
{
    void *code, *closure = ffi_closure_alloc(sizeof(ffi_closure), &code);
    if (closure != NULL) ffi_closure_free(closure);
}

rill_status script_closure_make(rill_script *s, ffi_type *result, unsigned n, ffi_type **types,
                                void (*handler)(ffi_cif *, void *, void **, void *), void *user, void **code)
{
    size_t size = sizeof(script_closure) + n * sizeof *types;
    script_closure *c = rill_calloc(s->ctx, 1, size);
    if (c == NULL) return rill_fail_memory(s->ctx, size, "a closure");
    pthread_once(&allocator, set_up_allocator);
    c->n = n;
    for (unsigned i = 0; i < n; i++) c->types[i] = types[i];
    c->closure = ffi_closure_alloc(sizeof *c->closure, code);
    rill_status status = RILL_OK;
    if (c->closure == NULL)
        status = rill_fail(s->ctx, RILL_ERR_MEMORY, "script %s: libffi has no memory for a closure", s->path);
    else if (ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, n, result, c->types) != FFI_OK ||
             ffi_prep_closure_loc(c->closure, &c->cif, handler, user, *code) != FFI_OK)
        status = rill_fail(s->ctx, RILL_ERR_PLUGIN, "script %s: libffi cannot make a function of this type", s->path);
    if (status < 0) {
        if (c->closure != NULL) ffi_closure_free(c->closure);
        rill_free(s->ctx, c, size);
        return status;
    }
    c->next = s->closures;
    s->closures = c;
    return RILL_OK;
}

void script_closures_free(rill_script *s)
{
    while (s->closures != NULL) {
        script_closure *c = s->closures;
        s->closures = c->next;
        ffi_closure_free(c->closure);
        rill_free(s->ctx, c, sizeof *c + c->n * sizeof *c->types);
    }
}
