/* Lua functions as C function pointers: rill.ffi.callback("double(double)", function(x) ... end).
 *
 * The pointer is good for as long as the script lives, which is why callbacks are never collected: C may keep it, and
 * nobody can know. Scripts make them once, at the top.
 *
 * A Lua error cannot cross the native frames between the callback and whoever called them. It is recorded in
 * script_native, the callback answers 0, and so do all that follow until native_outcome() is asked.
 *
 * Arguments that are arrays (const double*) come without a length: they are views of one element, since that is what
 * comparison functions get. They end with the callback. */
#include <stdio.h>
#include <string.h>

#include "native.h"

/* A userdata that the registry keeps. */
typedef struct callback {
    rill_script *script;
    int function; /* reference */
    int has_arrays;
    signature signature;
    ffi_type *types[SIGNATURE_MOST];
} callback;

typedef struct callback_call {
    const callback *c;
    void **arguments;
    native_value result;
} callback_call;

static void push_element(lua_State *L, signature_type type, int constant, void *element)
{
    static const array_type types[] = {ARRAY_F64, ARRAY_F32, ARRAY_I32, ARRAY_I64, ARRAY_U8};
    if (element == NULL)
        lua_pushnil(L);
    else
        script_array_push(L, types[type - SIGNATURE_DOUBLES], element, 1, ARRAY_PLAIN, !constant);
}

static int run(lua_State *L)
{
    callback_call *call = lua_touserdata(L, 1);
    const callback *c = call->c;
    const signature *s = &c->signature;
    luaL_checkstack(L, SIGNATURE_MOST + LUA_MINSTACK, "callback");
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

static void record(rill_script *s, rill_status status)
{
    s->native->failed = status;
    snprintf(s->native->message, sizeof s->native->message, "%s", rill_error(s->ctx));
}

static void enter(ffi_cif *cif, void *result, void **arguments, void *user)
{
    const callback *c = user;
    rill_script *s = c->script;
    callback_call call = {.c = c, .arguments = arguments};
    (void)cif;
    if (s->native->failed == RILL_OK) {
        script_frame frame;
        /* A frame of its own would end the views of whoever called, so there is one only when elements need it. */
        if (c->has_arrays) frame = script_begin(s, NULL, 0);
        rill_status status = script_protect(s, run, &call);
        if (c->has_arrays) script_end(s, frame);
        if (status < 0) {
            record(s, status);
            call.result = (native_value){0};
        }
    }
    native_store(c->signature.result, &call.result, result);
}

static void check(lua_State *L, callback *c)
{
    const signature *s = &c->signature;
    if (s->result == SIGNATURE_STRING)
        luaL_error(L, "rill.ffi.callback: a callback cannot return a string, since nobody would keep it for C");
    for (int i = 0; i < s->n; i++) {
        if (s->argument[i] >= SIGNATURE_BEAMS && s->argument[i] <= SIGNATURE_FLIGHT)
            luaL_error(
                L,
                "rill.ffi.callback: argument %d is %s: structs of the engine are not passed to callbacks, take void*",
                i + 1, signature_type_name(s->argument[i]));
        c->has_arrays |= s->argument[i] >= SIGNATURE_DOUBLES;
    }
}

int native_callback(lua_State *L)
{
    rill_script *s = script_of(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    native_count(L, &s->native->callbacks, "callbacks");
    lua_settop(L, 2);
    callback *c = lua_newuserdatauv(L, sizeof *c, 0);
    *c = (callback){.script = s};
    native_signature(L, 1, &c->signature);
    check(L, c);
    for (int i = 0; i < c->signature.n; i++) c->types[i] = native_ffi_type(c->signature.argument[i]);
    luaL_ref(L, LUA_REGISTRYINDEX); /* c stays */
    c->function = luaL_ref(L, LUA_REGISTRYINDEX);
    void *code;
    rill_status status = script_closure_make(s, native_ffi_type(c->signature.result), (unsigned)c->signature.n,
                                             c->types, enter, c, &code);
    if (status < 0) return script_raise(L, status);
    lua_pushlightuserdata(L, code);
    return 1;
}
