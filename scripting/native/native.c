/* rill.ffi: functions of shared objects, bound by a signature and called through libffi.
 *
 *   rill.ffi.open(file)                  a library
 *   library:bind(symbol, signature)      a function
 *   function(arguments...)               calls it
 *   function:with(arguments...)          the function with its last arguments fixed
 *   rill.ffi.array(type, values)         an array of a type that rill.array does not make
 *   rill.ffi.callback(signature, f)      a Lua function for C to call
 *
 * Only trusted scripts get rill.ffi: the sandbox cannot limit native code. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "native.h"
#include "rill/file.h"

/* --- libraries ---------------------------------------------------------------------------------------------------- */

/* Push and return a library's path. Relative names are searched in the script's directory, then, without a slash, by the system. */
static const char *find_library(lua_State *L, const char *name)
{
    const char *script = script_from_lua(L)->path, *slash = strrchr(script, '/');
    if (name[0] == '/') return lua_pushstring(L, name);
    lua_pushlstring(L, script, slash != NULL ? (size_t)(slash - script) + 1 : 0);
    /* "./" keeps dlopen() from searching the system's directories */
    const char *path = lua_pushfstring(L, "%s%s%s", slash != NULL ? "" : "./", lua_tostring(L, -1), name);
    return strchr(name, '/') != NULL || access(path, F_OK) == 0 ? path : lua_pushstring(L, name);
}

/* Raise if the file is not a regular file: dlopen() would block on a pipe. */
static void check_regular(lua_State *L, rill_context *ctx, const char *path)
{
    rill_file file;
    if (strchr(path, '/') == NULL) return;
    rill_status status = rill_file_open(&file, ctx, path, RILL_FILE_REGULAR);
    if (status < 0) script_check(L, rill_fail(ctx, status, "rill.ffi.open: %s", rill_error(ctx)));
    rill_file_close(&file);
}

static int open_library(lua_State *L)
{
    size_t length;
    rill_script *s = script_from_lua(L);
    const char *name = luaL_checklstring(L, 1, &length);
    luaL_argcheck(L, length > 0 && memchr(name, '\0', length) == NULL, 1, "the name of a shared object expected");
    const char *path = find_library(L, name);
    check_regular(L, s->ctx, path);
    native_library **handle = lua_newuserdatauv(L, sizeof *handle, 0);
    native_library *library = rill_alloc(s->ctx, sizeof *library + length + 1);
    if (library == NULL) return luaL_error(L, "rill.ffi.open: not enough memory");
    library->size = sizeof *library + length + 1;
    memcpy(library->path, name, length + 1);
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) {
        rill_free(s->ctx, library, library->size);
        return luaL_error(L, "rill.ffi.open: %s%s", dlerror(),
                          strchr(path, '/') == NULL ? " (and not found in the script's directory)" : "");
    }
    library->next = s->native->libraries;
    s->native->libraries = library;
    *handle = library;
    luaL_setmetatable(L, NATIVE_LIBRARY); /* set last, so that no method finds *handle uninitialised */
    return 1;
}

static const native_library *check_library(lua_State *L, int index)
{
    return *(native_library **)luaL_checkudata(L, index, NATIVE_LIBRARY);
}

static int library_name(lua_State *L)
{
    lua_pushfstring(L, "library %s", check_library(L, 1)->path);
    return 1;
}

/* --- binding C functions ------------------------------------------------------------------------------------------ */

/* Parse the signature string at `index`. Raises with the column of a mistake. */
static void read_signature(lua_State *L, int index, signature *out)
{
    size_t length;
    signature_error error;
    const char *text = luaL_checklstring(L, index, &length);
    if (signature_parse(text, length, out, &error) != 0)
        luaL_error(L, "signature \"%s\", column %d: %s", text, (int)error.column, error.message);
}

/* Prepare libffi's call interface. It points to the types inside the native_function, so each copy must prepare its own. */
static void prepare_call(lua_State *L, native_function *f)
{
    for (int i = 0; i < f->signature.n; i++) f->types[i] = native_ffi_type(f->signature.argument[i]);
    if (ffi_prep_cif(&f->cif, FFI_DEFAULT_ABI, (unsigned)f->signature.n, native_ffi_type(f->signature.result),
                     f->types) != FFI_OK)
        luaL_error(L, "%s: libffi cannot call functions of this signature on this machine", f->name);
}

static native_function *new_function(lua_State *L)
{
    native_function *f = lua_newuserdatauv(L, sizeof *f, 1);
    *f = (native_function){0};
    luaL_setmetatable(L, NATIVE_FUNCTION);
    return f;
}

static int bind(lua_State *L)
{
    size_t length;
    const native_library *library = check_library(L, 1);
    const char *symbol = luaL_checklstring(L, 2, &length);
    luaL_argcheck(L, length > 0 && length < NATIVE_NAME_MAX && memchr(symbol, '\0', length) == NULL, 2,
                  "the name of a function expected");
    native_function *f = new_function(L);
    read_signature(L, 3, &f->signature);
    memcpy(f->name, symbol, length + 1);
    f->library = library;
    f->n_open = f->signature.n;
    prepare_call(L, f);
    /* dlsym() returns a pointer to an object; ISO C allows copying its bytes to a function pointer, but no cast */
    void *address = dlsym(library->handle, symbol);
    if (address == NULL)
        return luaL_error(L, "%s has no function \"%s\": it must be exported, with C linkage", library->path, symbol);
    memcpy(&f->code, &address, sizeof f->code);
    return 1;
}

native_function *native_check_function(lua_State *L, int index)
{
    return luaL_checkudata(L, index, NATIVE_FUNCTION);
}

static int function_name(lua_State *L)
{
    char text[SIGNATURE_TEXT];
    const native_function *f = native_check_function(L, 1);
    signature_write(&f->signature, text, sizeof text);
    lua_pushfstring(L, "function %s of %s: %s", f->name, f->library->path, text);
    return 1;
}

/* --- calling C functions ------------------------------------------------------------------------------------------ */

void native_count_object(lua_State *L, int *n, const char *what)
{
    if (*n >= NATIVE_MAX_OBJECTS)
        luaL_error(L, "a script may have at most %d %s: is this call in a loop?", NATIVE_MAX_OBJECTS, what);
    ++*n;
}

static int call(lua_State *L)
{
    native_function *f = native_check_function(L, 1);
    const signature *types = &f->signature;
    rill_script *s = script_from_lua(L);
    native_value values[SIGNATURE_MAX_ARGUMENTS], result = {0};
    void *arguments[SIGNATURE_MAX_ARGUMENTS];
    int n_given = lua_gettop(L) - 1;
    if (n_given != f->n_open) {
        char text[SIGNATURE_TEXT];
        signature_write(types, text, sizeof text);
        return luaL_error(L, "%s: %d arguments given, %d expected by %s%s", f->name, n_given, f->n_open, text,
                          f->n_open < types->n ? ", whose last arguments are fixed" : "");
    }
    luaL_checkstack(L, LUA_MINSTACK, f->name);
    for (int i = 0; i < types->n; i++) {
        arguments[i] = i < f->n_open ? &values[i] : &f->fixed[i];
        if (i < f->n_open)
            native_read(L, i + 2, types->argument[i], (int)(types->constant >> i & 1), f->name, i + 1, &values[i]);
    }
    ffi_call(&f->cif, f->code, &result, arguments);
    script_check(L, script_late_take(&s->native->failed, s->ctx));
    return native_push(L, types->result, &result);
}

/* --- fixing arguments --------------------------------------------------------------------------------------------- */

/* Raise if the argument is valid only during one engine call, because it then cannot be fixed for later calls. */
static void refuse_call_bound(lua_State *L, const native_function *f, int argument, int index)
{
    signature_type type = f->signature.argument[argument];
    const array *a = array_test(L, script_from_lua(L), index);
    if ((type >= SIGNATURE_CANDIDATES && type <= SIGNATURE_SCHED_VIEW) || (a != NULL && a->stamp != 0))
        luaL_error(
            L, "%s:with: argument %d is valid during one call of the engine only: pass it when calling the function",
            f->name, argument + 1);
}

/* function:with(arguments...): make a function with its last arguments fixed. It keeps strings and arrays alive, since it stores
 * pointers to them. */
static int fix_arguments(lua_State *L)
{
    const native_function *from = native_check_function(L, 1);
    int n_given = lua_gettop(L) - 1, first = from->n_open - n_given;
    if (first < 0)
        return luaL_error(L, "%s:with: %d arguments given, but only %d are not fixed yet", from->name, n_given,
                          from->n_open);
    native_function *f = new_function(L);
    *f = *from;
    f->n_open = first;
    f->table = NULL;
    prepare_call(L, f);
    lua_createtable(L, n_given, 1);
    lua_getiuservalue(L, 1, 1);
    lua_setfield(L, -2, "before");
    for (int i = 0; i < n_given; i++) {
        refuse_call_bound(L, f, first + i, i + 2);
        native_read(L, i + 2, f->signature.argument[first + i], (int)(f->signature.constant >> (first + i) & 1),
                    f->name, first + i + 1, &f->fixed[first + i]);
        lua_pushvalue(L, i + 2);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setiuservalue(L, -2, 1);
    return 1;
}

/* --- callbacks ----------------------------------------------------------------------------------------------------- */

/* rill.ffi.callback("double(double)", function(x) ... end): a C function pointer (libffi closure), freed after the Lua state is closed.
 * A Lua error cannot cross native frames: it is stored in script_native, and callbacks return 0 until script_late_take(). Arrays come
 * without length, so scripts get arrays of one element, valid until the callback returns. */
typedef struct native_callback {
    struct native_callback *prev;
    rill_script *script;
    int function; /* registry reference of the Lua function that is called */
    int has_arrays;
    signature signature;
    ffi_closure *closure; /* the closure that C calls; NULL: libffi could not allocate it */
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

static int run_callback(lua_State *L)
{
    callback_call *call = lua_touserdata(L, 1);
    const callback *c = call->c;
    const signature *s = &c->signature;
    luaL_checkstack(L, SIGNATURE_MAX_ARGUMENTS + LUA_MINSTACK, "callback");
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->function);
    for (int i = 0; i < s->n; i++) {
        native_value value = {0};
        memcpy(&value, call->arguments[i], native_ffi_type(s->argument[i])->size);
        if (s->argument[i] >= SIGNATURE_DOUBLES)
            push_element(L, s->argument[i], (int)(s->constant >> i & 1), (void *)(uintptr_t)value.pointer);
        else
            native_push(L, s->argument[i], &value);
    }
    lua_call(L, s->n, 1);
    native_read(L, -1, s->result, 0, "callback", 0, &call->result);
    return 0;
}

static void callback_entry(ffi_cif *cif, void *result, void **arguments, void *user)
{
    const callback *c = user;
    rill_script *s = c->script;
    callback_call call = {.c = c, .arguments = arguments};
    (void)cif;
    if (s->native->failed.status == RILL_OK) {
        script_frame frame;
        /* only with array arguments: script_begin() makes the caller's views invalid */
        if (c->has_arrays) frame = script_begin(s, NULL, 0);
        rill_status status = script_protect(s, run_callback, &call);
        if (c->has_arrays) script_end(s, frame);
        if (status < 0) {
            script_late_keep(&s->native->failed, s->ctx, status);
            call.result = (native_value){0};
        }
    }
    const signature_type type = c->signature.result;
    size_t size = native_ffi_type(type)->size;
    /* libffi reads the result as a whole register */
    if (type < SIGNATURE_FLOAT && size < sizeof(ffi_arg)) size = sizeof(ffi_arg);
    if (type != SIGNATURE_VOID) memcpy(result, &call.result, size);
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

/* libffi initialises its allocator at its first use, without a lock. pthread_once() keeps threads apart. */
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

static int make_callback(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    native_count_object(L, &s->native->callbacks, "callbacks");
    lua_settop(L, 2);
    callback *c = rill_calloc(s->ctx, 1, sizeof *c);
    if (c == NULL) return script_check(L, rill_fail_memory(s->ctx, sizeof *c, "a closure"));
    c->prev = s->native->latest;
    /* linked into the list before anything can raise, so that free_callbacks() frees it in any case */
    s->native->latest = c;
    c->script = s;
    read_signature(L, 1, &c->signature);
    check_callback_signature(L, c);
    c->function = luaL_ref(L, LUA_REGISTRYINDEX);
    void *code;
    script_check(L, make_closure(c, &code));
    lua_pushlightuserdata(L, code);
    return 1;
}

static void free_callbacks(rill_script *s)
{
    while (s->native->latest != NULL) {
        callback *c = s->native->latest;
        s->native->latest = c->prev;
        if (c->closure != NULL) ffi_closure_free(c->closure);
        rill_free(s->ctx, c, sizeof *c);
    }
}

void script_native_free(rill_script *s)
{
    if (s->native == NULL) return;
    free_callbacks(s);
    while (s->native->libraries != NULL) {
        native_library *library = s->native->libraries;
        s->native->libraries = library->next;
        dlclose(library->handle);
        rill_free(s->ctx, library, library->size);
    }
    rill_free(s->ctx, s->native, sizeof *s->native);
    s->native = NULL;
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */

/* rill.ffi.array("int32", 10): zeros; rill.ffi.array("int32", values): from a table or array, whose values must fit the type. */
static int make_array(lua_State *L)
{
    static const char *const names[] = {"double", "float", "int32", "int64", "uint8", NULL};
    static const signature_type elements[] = {SIGNATURE_DOUBLE, SIGNATURE_FLOAT, SIGNATURE_I32, SIGNATURE_I64,
                                              SIGNATURE_U8};
    static const array_type types[] = {ARRAY_F64, ARRAY_F32, ARRAY_I32, ARRAY_I64, ARRAY_U8};
    int which = luaL_checkoption(L, 1, NULL, names);
    int empty = lua_isnumber(L, 2);
    lua_Integer n = empty ? luaL_checkinteger(L, 2) : luaL_len(L, 2);
    luaL_argcheck(L, n >= 0 && n <= INT32_MAX, 2, "a length of at least 0, or values, expected");
    char *data = script_array_make(L, types[which], (int32_t)n, ARRAY_PLAIN);
    size_t size = native_ffi_type(elements[which])->size;
    for (lua_Integer i = 0; i < n && !empty; i++) {
        native_value value;
        lua_geti(L, 2, i + 1);
        native_read(L, -1, elements[which], 0, "rill.ffi.array", (int)i + 1, &value);
        memcpy(data + (size_t)i * size, &value, size);
        lua_pop(L, 1);
    }
    return 1;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void metatable(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction to_text)
{
    luaL_newmetatable(L, name);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, to_text);
    lua_setfield(L, -2, "__tostring");
    lua_pushliteral(L, "a part of rill.ffi");
    lua_setfield(L, -2, "__metatable");
}

static int refuse_sandboxed(lua_State *L)
{
    return luaL_error(
        L,
        "rill.ffi calls native code, which the sandbox cannot limit: --unsafe-scripts enables it for scripts you trust");
}

/* Set rill.ffi in a sandboxed script: a table that raises an error with an explanation when the script uses it. */
static void open_refusal(lua_State *L)
{
    static const luaL_Reg events[] = {{"__index", refuse_sandboxed}, {"__newindex", refuse_sandboxed},
                                      {"__call", refuse_sandboxed},  {"__pairs", refuse_sandboxed},
                                      {"__len", refuse_sandboxed},   {NULL, NULL}};
    lua_newtable(L);
    script_set_metatable(L, events);
    lua_setfield(L, -2, "ffi");
}

static void add_names(lua_State *L, const char *kind, const luaL_Reg *functions)
{
    for (; functions->name != NULL; functions++) script_name_add(L, kind, functions->name);
}

void script_open_ffi(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"open", open_library}, {"array", make_array}, {"callback", make_callback}, {NULL, NULL}};
    static const luaL_Reg library_methods[] = {{"bind", bind}, {NULL, NULL}};
    static const luaL_Reg function_methods[] = {{"with", fix_arguments}, {NULL, NULL}};
    rill_script *s = script_from_lua(L);
    for (size_t i = 0; signature_word(i) != NULL; i++) script_name_add(L, "ffi_types", signature_word(i));
    add_names(L, "ffi", functions);
    add_names(L, "library", library_methods);
    add_names(L, "function", function_methods);
    if (!s->options.unsafe) {
        open_refusal(L);
        return;
    }
    s->native = rill_calloc(s->ctx, 1, sizeof *s->native);
    if (s->native == NULL) luaL_error(L, "not enough memory for rill.ffi");
    metatable(L, NATIVE_LIBRARY, library_methods, library_name);
    lua_pop(L, 1);
    metatable(L, NATIVE_FUNCTION, function_methods, function_name);
    lua_pushcfunction(L, call);
    lua_setfield(L, -2, "__call");
    lua_pop(L, 1);
    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    lua_setfield(L, -2, "ffi");
}
