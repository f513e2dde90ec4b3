/* Canonical logical forms: equivalent forms become equal bytes, and nothing else changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "semparse.h"

/* Included after helpers.h, since it uses names from there. */
#include "context_fixture.h"

static void expect(const char *form, const char *canonical)
{
    rill_text out = {.ctx = ctx};
    assert_int_equal(rill_logic_canonical(ctx, form, strlen(form), &out), RILL_OK);
    assert_string_equal(out.data ? out.data : "", canonical);
    rill_text_clear(&out);
}

static void children_of_and_and_or_are_sorted(void **state)
{
    (void)state;
    expect("( lambda $0 e ( and ( river:t $0 ) ( loc:t $0 s0 ) ) )",
           "( lambda $0 e ( and ( loc:t $0 s0 ) ( river:t $0 ) ) )");
    expect("( or c a b )", "( or a b c )");
    expect("( and b ( c ) a )", "( and ( c ) a b )");
    expect("( and ab a abc )", "( and a ab abc )");
    expect("( and ( a b ) ( a ) )", "( and ( a ) ( a b ) )"); /* ')' sorts before letters */
}

static void inner_children_are_sorted_before_outer_ones(void **state)
{
    (void)state;
    expect("( and ( or d c ) ( or b a ) )", "( and ( or a b ) ( or c d ) )");
    expect("( and ( f ( and z y ) ) ( f ( and x w ) ) )", "( and ( f ( and w x ) ) ( f ( and y z ) ) )");
    expect("( or a ( and c b ) ) ( or e d )", "( or ( and b c ) a ) ( or d e )");
}

static void other_orders_are_kept(void **state)
{
    (void)state;
    expect("( > ( size:i b ) ( size:i a ) )", "( > ( size:i b ) ( size:i a ) )");
    expect("( android b a )", "( android b a )");
    expect("and b a", "and b a");
    expect("( f and b a )", "( f and b a )");
    expect("job ( ANS ) , \\+ area ( ANS , b ) ; ( c )", "job ( ANS ) , \\+ area ( ANS , b ) ; ( c )");
}

static void spaces_and_brackets_are_normalised(void **state)
{
    (void)state;
    expect("(and b\ta)", "( and a b )");
    expect("  f(x)  g ", "f ( x ) g");
    expect("", "");
    expect(" \n", "");
    expect("()", "( )");
}

static void broken_brackets_keep_their_order(void **state)
{
    (void)state;
    expect("( and b a", "( and b a");
    expect("( and b a ) )", "( and b a ) )");
    expect(") ( and b a ) (", ") ( and b a ) (");
    expect("( or ( and b a ) c", "( or ( and b a ) c");
}

/* `depth` brackets around `core`, malloc()ed. */
static char *nest(size_t depth, const char *head, const char *core)
{
    char *form = malloc(depth * (strlen(head) + 4) + strlen(core) + 1), *pos = form;
    assert_non_null(form);
    for (size_t i = 0; i < depth; i++) pos += sprintf(pos, "( %s", head);
    pos += sprintf(pos, "%s", core);
    for (size_t i = 0; i < depth; i++) pos += sprintf(pos, " )");
    return form;
}

static void depth_is_limited_and_costs_no_stack(void **state)
{
    (void)state;
    char *form = nest(999, "f ", "( and b a )"), *sorted = nest(999, "f ", "( and a b )");
    expect(form, sorted);
    free(form);
    free(sorted);
    form = nest(1000, "f ", "( and b a )");
    expect(form, form);
    free(form);
    form = nest(200000, "and ", "b a");
    expect(form, form);
    free(form);
}

static void wide_forms_are_sorted(void **state)
{
    (void)state;
    enum { WIDE = 20000 };
    char *form = malloc(WIDE * 12 + 16), *pos = form;
    assert_non_null(form);
    pos += sprintf(pos, "( and");
    for (int i = 0; i < WIDE; i++) pos += sprintf(pos, " ( x %05d )", (i * 7919 + 13) % WIDE);
    sprintf(pos, " )");
    rill_text out = {.ctx = ctx};
    assert_int_equal(rill_logic_canonical(ctx, form, strlen(form), &out), RILL_OK);
    assert_int_equal(out.length, strlen(form));
    for (int i = 0; i < WIDE; i++) assert_int_equal(atoi(out.data + 5 + i * 12 + 5), i);
    rill_text_clear(&out);
    free(form);
}

static void a_canonical_form_is_its_own_and_is_appended(void **state)
{
    (void)state;
    rill_text out = {.ctx = ctx};
    assert_int_equal(rill_text_append(&out, "x ", 2), RILL_OK);
    assert_int_equal(rill_logic_canonical(ctx, "(or b (and d c))", 16, &out), RILL_OK);
    assert_string_equal(out.data, "x ( or ( and c d ) b )");
    expect(out.data + 2, out.data + 2);
    rill_text_clear(&out);
}

static void every_refused_allocation_is_an_error_and_leaves_the_text(void **state)
{
    (void)state;
    static const char form[] = "( and ( or c b ) ( f a ) )";
    rill_status status = RILL_ERR_MEMORY;
    for (long allowed = 0; status == RILL_ERR_MEMORY; allowed++) {
        rill_text out = {.ctx = ctx};
        assert_in_range(allowed, 0, 100);
        assert_int_equal(rill_text_append(&out, "x", 1), RILL_OK);
        memory.allowed = allowed;
        status = rill_logic_canonical(ctx, form, sizeof form - 1, &out);
        memory.allowed = -1;
        if (status != RILL_OK) assert_string_equal(out.data, "x");
        rill_text_clear(&out);
        assert_int_equal(rill_memory_used(ctx), 0);
    }
    assert_int_equal(status, RILL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(children_of_and_and_or_are_sorted),
        CASE(inner_children_are_sorted_before_outer_ones),
        CASE(other_orders_are_kept),
        CASE(spaces_and_brackets_are_normalised),
        CASE(broken_brackets_keep_their_order),
        CASE(depth_is_limited_and_costs_no_stack),
        CASE(wide_forms_are_sorted),
        CASE(a_canonical_form_is_its_own_and_is_appended),
        CASE(every_refused_allocation_is_an_error_and_leaves_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
