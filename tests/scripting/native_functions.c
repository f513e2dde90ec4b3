/* A shared object for scripts to bind: functions of every type whose results expose a wrong call. */
#include <stdlib.h>
#include <string.h>

#include "rill/plugin.h"

/* --- widths: values come back unchanged through a register whose other bits are arbitrary ------------------------- */

#define ECHO(name, type)                      \
    RILL_API type echo_##name(type value);    \
    RILL_API type cut_##name(uint64_t value); \
    RILL_API type echo_##name(type value)     \
    {                                         \
        return value;                         \
    }                                         \
    RILL_API type cut_##name(uint64_t value)  \
    {                                         \
        return (type)value;                   \
    }

ECHO(i8, int8_t)
ECHO(i16, int16_t)
ECHO(i32, int32_t)
ECHO(i64, int64_t)
ECHO(u8, uint8_t)
ECHO(u16, uint16_t)
ECHO(u32, uint32_t)
ECHO(u64, uint64_t)
ECHO(float, float)
ECHO(double, double)
ECHO(bool, _Bool)

/* --- many arguments ----------------------------------------------------------------------------------------------- */

/* More integer and floating-point arguments than registers hold; the weight depends on the position. */
RILL_API double weigh(int8_t a, float b, double c, int64_t d, float e, uint16_t f, double g, _Bool h, float i, double j,
                      uint8_t k, double l, float m, int16_t n, double o, uint32_t p, double q, int32_t r, double s,
                      uint64_t t);
RILL_API double weigh(int8_t a, float b, double c, int64_t d, float e, uint16_t f, double g, _Bool h, float i, double j,
                      uint8_t k, double l, float m, int16_t n, double o, uint32_t p, double q, int32_t r, double s,
                      uint64_t t)
{
    return a + 2 * b + 3 * c + 4 * (double)d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l +
           13 * m + 14 * n + 15 * o + 16 * (double)p + 17 * q + 18 * (double)r + 19 * s + 20 * (double)t;
}

RILL_API int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l);
RILL_API int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

/* --- texts and pointers ------------------------------------------------------------------------------------------- */

RILL_API const char *longer(const char *a, const char *b);
RILL_API const char *longer(const char *a, const char *b)
{
    if (a == NULL || b == NULL) return NULL;
    return strlen(a) > strlen(b) ? a : b;
}

static double kept;

RILL_API void *keep(double value);
RILL_API void *keep(double value)
{
    kept = value;
    return value < 0 ? NULL : &kept;
}

RILL_API double look(const void *where);
RILL_API double look(const void *where)
{
    return where == NULL ? -1 : *(const double *)where;
}

RILL_API void nothing(void);
RILL_API void nothing(void)
{
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */

RILL_API double sum_doubles(const double *x, size_t n);
RILL_API double sum_doubles(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

RILL_API void scale(double *x, size_t n, double by);
RILL_API void scale(double *x, size_t n, double by)
{
    for (size_t i = 0; i < n; i++) x[i] *= by;
}

/* All types at once, so that confusing two is noticed. */
RILL_API double sum_all(const float *f, const int32_t *i, const int64_t *l, const uint8_t *b);
RILL_API double sum_all(const float *f, const int32_t *i, const int64_t *l, const uint8_t *b)
{
    return f[0] + 10 * f[1] + 100 * i[0] + 1000 * i[1] + 1e4 * (double)l[0] + 1e5 * (double)l[1] + 1e6 * b[0] +
           1e7 * b[1];
}

/* --- structs ------------------------------------------------------------------------------------------------------ */

/* Prune as the built-in heuristic "absolute" does. */
RILL_API void keep_near(rill_candidates *b, double delta);
RILL_API void keep_near(rill_candidates *b, double delta)
{
    for (int32_t i = 0; i < b->n; i++)
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++)
            if (b->path_score[j] < b->best_path_score[i] - delta) b->keep[j] = 0;
}

RILL_API int32_t candidates(const rill_candidates *b);
RILL_API int32_t candidates(const rill_candidates *b)
{
    return b->offset[b->n];
}

RILL_API int64_t fail_with(rill_candidates *b, int64_t status);
RILL_API int64_t fail_with(rill_candidates *b, int64_t status)
{
    (void)b;
    return status;
}

RILL_API int fail_row(const rill_scorer_rows *rows, rill_modifiers *modifiers);
RILL_API int fail_row(const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    return rill_modifiers_reward(modifiers, rows->n, 1);
}

RILL_API int reward_all(const rill_scorer_rows *rows, rill_modifiers *modifiers, float value);
RILL_API int reward_all(const rill_scorer_rows *rows, rill_modifiers *modifiers, float value)
{
    for (int32_t i = 0; i < rows->n; i++) {
        rill_status status = rill_modifiers_reward(modifiers, i, value);
        if (status < 0) return status;
    }
    return RILL_OK;
}

RILL_API void backwards(const rill_sched_view *view, int32_t *order, int32_t *count);
RILL_API void backwards(const rill_sched_view *view, int32_t *order, int32_t *count)
{
    for (int32_t i = 0; i < view->n; i++) order[i] = view->n - 1 - i;
    *count = view->n;
}

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

typedef union address {
    void *pointer;
    double (*of_double)(double);
    int8_t (*of_i8)(int8_t);
    int16_t (*of_i16)(int16_t);
    int32_t (*of_i32)(int32_t);
    int64_t (*of_i64)(int64_t);
    uint8_t (*of_u8)(uint8_t);
    uint16_t (*of_u16)(uint16_t);
    uint32_t (*of_u32)(uint32_t);
    uint64_t (*of_u64)(uint64_t);
    float (*of_float)(float);
    _Bool (*of_bool)(_Bool);
    void (*of_nothing)(void);
    void *(*of_pointer)(void *);
    int (*of_string)(const char *);
    int (*of_elements)(const void *, const void *);
    int (*of_mixed)(int8_t, float, double, const char *, uint64_t, int16_t, double, _Bool, int32_t, uint8_t);
} address;

#define THROUGH(name, type)                                \
    RILL_API type through_##name(void *f, type value);     \
    RILL_API type through_##name(void *f, type value)      \
    {                                                      \
        return ((address){.pointer = f}).of_##name(value); \
    }

THROUGH(i8, int8_t)
THROUGH(i16, int16_t)
THROUGH(i32, int32_t)
THROUGH(i64, int64_t)
THROUGH(u8, uint8_t)
THROUGH(u16, uint16_t)
THROUGH(u32, uint32_t)
THROUGH(u64, uint64_t)
THROUGH(float, float)
THROUGH(double, double)
THROUGH(bool, _Bool)
THROUGH(pointer, void *)

RILL_API int through_string(void *f, const char *text);
RILL_API int through_string(void *f, const char *text)
{
    return ((address){.pointer = f}).of_string(text);
}

RILL_API int through_mixed(void *f);
RILL_API int through_mixed(void *f)
{
    return ((address){.pointer = f}).of_mixed(-1, 0.5f, 2.25, "three", 4, -5, 6.5, 1, -7, 255);
}

/* Return how often the callback was called: at most n times, until it returns something other than 1. */
RILL_API int count_calls(void *f, int n);
RILL_API int count_calls(void *f, int n)
{
    int i = 0;
    while (i < n && ((address){.pointer = f}).of_i32(i) == 1) i++;
    return i;
}

RILL_API void sort(double *x, size_t n, void *compare);
RILL_API void sort(double *x, size_t n, void *compare)
{
    qsort(x, n, sizeof *x, ((address){.pointer = compare}).of_elements);
}

static void *noted;

RILL_API void note(void *f);
RILL_API void note(void *f)
{
    noted = f;
}

/* A heuristic that calls a callback noted before. */
RILL_API void call_noted(rill_candidates *b);
RILL_API void call_noted(rill_candidates *b)
{
    if (b->n > 0) ((address){.pointer = noted}).of_nothing();
}
