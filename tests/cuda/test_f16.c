/* test_f16.c: conversions of 16-bit floats against the definition of their bits. */
#include "half.h"

#include <math.h>

#include "support/harness.h"

/* Return the value of an fp16 number from its bits, without the sign. */
static double meaning(uint32_t half)
{
    const uint32_t exponent = half >> 10, rest = half & 1023;
    return exponent == 0 ? ldexp(rest, -24) : ldexp(1024 + rest, (int)exponent - 25);
}

static void check(float x, uint32_t half)
{
    assert_int_equal(gpu_float_to_f16(x), half);
    assert_int_equal(gpu_float_to_f16(-x), half | 0x8000);
}

/* Each fp16 number converts to itself. A number between two fp16 numbers converts to the nearer one, ties to even. */
static void every_number_of_f16(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x7bff; half++) {
        const float exact = (float)meaning(half), next = (float)meaning(half + 1), between = exact + (next - exact) / 2;
        assert_true(gpu_f16_to_float((uint16_t)half) == exact && gpu_f16_to_float((uint16_t)(half | 0x8000)) == -exact);
        check(exact, half);
        check(between, half + (half & 1));
        check(nextafterf(between, 0.0f), half);
        check(nextafterf(between, INFINITY), half + 1);
    }
}

static void what_f16_does_not_hold(void **state)
{
    (void)state;
    check(GPU_F16_MAX, 0x7bff);
    check(65520.0f, 0x7bff);
    check(3e38f, 0x7bff);
    check(INFINITY, 0x7c00);
    check(1e-30f, 0);
    assert_true(isnan(gpu_f16_to_float(gpu_float_to_f16(NAN))) && isinf(gpu_f16_to_float(0x7c00)));
}

static void bf16_is_half_of_a_float(void **state)
{
    (void)state;
    assert_int_equal(gpu_float_to_bf16(1.0f), 0x3f80);
    assert_int_equal(gpu_float_to_bf16(gpu_bits_to_float(0x3f808000)), 0x3f80);
    assert_int_equal(gpu_float_to_bf16(gpu_bits_to_float(0x3f818000)), 0x3f82);
    assert_true(isnan(gpu_rounded_to_float(gpu_float_to_bf16(gpu_bits_to_float(0x7f800001)), GPU_BF16)));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_number_of_f16),
    cmocka_unit_test(what_f16_does_not_hold),
    cmocka_unit_test(bf16_is_half_of_a_float),
};

HARNESS_MAIN(tests)
