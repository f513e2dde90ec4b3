/* Lua functions as C function pointers: rill.ffi.callback("double(double)", function(x) ... end).
 *
 * The pointer refers to a libffi closure. libffi handles systems on which memory cannot be both writable and
 * executable. Callbacks are never collected, because C may keep the pointer. They are freed after the script's Lua
 * state is closed, so scripts should create each callback once, at top level.
 *
 * A Lua error cannot cross native stack frames. So it is recorded in script_native. This callback and all later ones
 * return 0 until native_take_failure() has reported it.
 *
 * C passes array arguments (const double*) without a length. Scripts get them as arrays of one element, which is what
 * comparison functions need. They are valid until the callback returns. */
#include <pthread.h>
#include <stdio.h>

#include "native.h"

typedef struct native_callback {
    struct native_callback *prev;
    rill_script *script;
    int function; /* registry reference of the Lua function */
    int has_arrays;
    signature signature;
    ffi_closure *closure; /* NULL: libffi could not allocate it */
    ffi_cif cif;
    ffi_type *types[SIGNATURE_MAX_ARGUMENTS];
} callback;

typedef struct callback_call {
    const callback *c;
    void **arguments;
    native_value result;
} callback_call;

static void push_element(lua_State *L, signature_type type, int constant, void *element)
{
    if (element == NULL)
        lua_pushnil(L);
    else
        script_array_push(L, native_elements(type), element, 1, ARRAY_PLAIN, !constant);
}

static int run(lua_State *L)
{
    callback_call *call = lua_touserdata(L, 1);
    const callback *c = call->c;
    const signature *s = &c->signature;
    luaL_checkstack(L, SIGNATURE_MAX_ARGUMENTS + LUA_MINSTACK, "callback");
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->function);
    for (int i = 0; i < s->n; i++) {
        native_value value = native_load(s->argument[i], call->arguments[i]);
        if (s->argument[i] >= SIGNATURE_DOUBLES)
            push_element(L, s->argument[i], (int)(s->constant >> i & 1), (void *)(uintptr_t)value.pointer);
        else
            native_push(L, s->argument[i], &value);
    }
    lua_call(L, s->n, 1);
    native_read(L, -1, s->result, 0, "callback", 0, &call->result);
    return 0;
}

static void record_failure(rill_script *s, rill_status status)
{
    s->native->failed = status;
    snprintf(s->native->message, sizeof s->native->message, "%s", rill_error(s->ctx));
}

static void callback_entry(ffi_cif *cif, void *result, void **arguments, void *user)
{
    const callback *c = user;
    rill_script *s = c->script;
    callback_call call = {.c = c, .arguments = arguments};
    (void)cif;
    if (s->native->failed == RILL_OK) {
        script_frame frame;
        /* script_begin() makes the caller's views invalid, so only callbacks with array arguments call it. */
        if (c->has_arrays) frame = script_begin(s, NULL, 0);
        rill_status status = script_protect(s, run, &call);
        if (c->has_arrays) script_end(s, frame);
        if (status < 0) {
            record_failure(s, status);
            call.result = (native_value){0};
        }
    }
    native_store(c->signature.result, &call.result, result);
}

static void check_callback_signature(lua_State *L, callback *c)
{
    const signature *s = &c->signature;
    if (s->result == SIGNATURE_STRING)
        luaL_error(L, "rill.ffi.callback: a callback cannot return a string, since Lua may free it while C uses it");
    for (int i = 0; i < s->n; i++) {
        if (s->argument[i] >= SIGNATURE_CANDIDATES && s->argument[i] <= SIGNATURE_SCHED_VIEW)
            luaL_error(L,
                       "rill.ffi.callback: argument %d is %s: callbacks cannot take structs of the engine, only void*",
                       i + 1, signature_type_name(s->argument[i]));
        c->has_arrays |= s->argument[i] >= SIGNATURE_DOUBLES;
    }
}

/* libffi initialises its allocator at first use without a lock. pthread_once() prevents two threads from doing so at
 * once. */
static pthread_once_t allocator = PTHREAD_ONCE_INIT;

static void set_up_allocator(void)
{
    void *code, *closure = ffi_closure_alloc(sizeof(ffi_closure), &code);
    if (closure != NULL) ffi_closure_free(closure);
}

static rill_status make_closure(callback *c, void **code)
{
    const signature *s = &c->signature;
    pthread_once(&allocator, set_up_allocator);
    for (int i = 0; i < s->n; i++) c->types[i] = native_ffi_type(s->argument[i]);
    c->closure = ffi_closure_alloc(sizeof *c->closure, code);
    if (c->closure == NULL)
        return rill_fail(c->script->ctx, RILL_ERR_MEMORY, "script %s: libffi cannot allocate a closure",
                         c->script->path);
    if (ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, (unsigned)s->n, native_ffi_type(s->result), c->types) != FFI_OK ||
        ffi_prep_closure_loc(c->closure, &c->cif, callback_entry, c, *code) != FFI_OK)
        return rill_fail(c->script->ctx, RILL_ERR_PLUGIN,
                         "script %s: libffi cannot create a callback with this signature", c->script->path);
    return RILL_OK;
}

int native_callback(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    native_count_object(L, &s->native->callbacks, "callbacks");
    lua_settop(L, 2);
    callback *c = rill_calloc(s->ctx, 1, sizeof *c);
    if (c == NULL) return script_raise(L, rill_fail_memory(s->ctx, sizeof *c, "a closure"));
    c->prev = s->native->latest;
    s->native->latest = c; /* linked before anything can raise, so that native_callbacks_free() finds it */
    c->script = s;
    native_signature(L, 1, &c->signature);
    check_callback_signature(L, c);
    c->function = luaL_ref(L, LUA_REGISTRYINDEX);
    void *code;
    rill_status status = make_closure(c, &code);
    if (status < 0) return script_raise(L, status);
    lua_pushlightuserdata(L, code);
    return 1;
}

void native_callbacks_free(rill_script *s)
{
    while (s->native->latest != NULL) {
        callback *c = s->native->latest;
        s->native->latest = c->prev;
        if (c->closure != NULL) ffi_closure_free(c->closure);
        rill_free(s->ctx, c, sizeof *c);
    }
}
