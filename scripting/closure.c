/* C function pointers made at run time, by libffi. */
#include <pthread.h>
#include <string.h>

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
    memcpy(c->types, types, n * sizeof *types);
    c->closure = ffi_closure_alloc(sizeof *c->closure, code);
    if (c->closure == NULL || ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, n, result, c->types) != FFI_OK ||
        ffi_prep_closure_loc(c->closure, &c->cif, handler, user, *code) != FFI_OK) {
        if (c->closure != NULL) ffi_closure_free(c->closure);
        rill_free(s->ctx, c, size);
        return rill_fail(s->ctx, RILL_ERR_MEMORY, "script %s: libffi could not make a closure", s->path);
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
