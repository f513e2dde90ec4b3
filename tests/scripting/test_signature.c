/* Signatures of native functions: their meaning, and the positions of errors. */
#include "native/signature.h"

#include <stdio.h>
#include <string.h>

#include "support/harness.h"

static const struct {
    const char *text, *meaning;
} good[] = {
    {"void()", "void()"},
    {"void(void)", "void()"},
    {" \t\nvoid ( void ) ", "void()"},
    {"void(candidates*, double)", "void(candidates*, double)"},
    {"void(view*,double)", "void(candidates*, double)"},
    {"rill_status(rill_candidates *, const double *, int32_t)", "int32(candidates*, const double*, int32)"},
    {"int(rows*, modifiers*)", "int32(rows*, modifiers*)"},
    {"int(const rill_scorer_rows *, rill_modifiers *)", "int32(rows*, modifiers*)"},
    {"int(const sched_view*, int*, int32 *)", "int32(sched_view*, int32*, int32*)"},
    {"void(rill_sched_view const *const, int *const)", "void(sched_view*, int32*)"},
    {"bool(_Bool)", "bool(bool)"},
    {"int8(int8_t, signed char)", "int8(int8, int8)"},
    {"uint8(uint8_t, unsigned char)", "uint8(uint8, uint8)"},
    {"short(short int, int short, signed short, short signed int)", "int16(int16, int16, int16, int16)"},
    {"uint16(unsigned short, short unsigned int)", "uint16(uint16, uint16)"},
    {"int(signed, signed int, int signed)", "int32(int32, int32, int32)"},
    {"unsigned(unsigned int, int unsigned)", "uint32(uint32, uint32)"},
    {"int64(int64_t, long long, long long int, long int long)", "int64(int64, int64, int64, int64)"},
    {"uint64(uint64_t, unsigned long long)", "uint64(uint64, uint64)"},
    {"float(const float, double const)", "float(float, double)"},
    {"string(string, const char*, char const *)", "string(string, string, string)"},
    {"void*(void*, const void *)", "void*(void*, void*)"},
    {"void(double*, const float*, int32_t*, long long*, const unsigned char*)",
     "void(double*, const float*, int32*, int64*, const uint8*)"},
};

static void good_signatures(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        signature s;
        signature_error error = {0};
        char text[SIGNATURE_TEXT];
        if (signature_parse(good[i].text, strlen(good[i].text), &s, &error) != 0)
            fail_msg("\"%s\", column %zu: %s", good[i].text, error.column, error.message);
        signature_write(&s, text, sizeof text);
        assert_string_equal(text, good[i].meaning);
    }
}

/* Types whose width depends on the platform. */
static void c_types(void **state)
{
    (void)state;
    signature s;
    signature_error error;
    static const char text[] = "size_t(char, short, int, long, unsigned long, long long, long*)";
    static const size_t bytes[] = {1, sizeof(short), sizeof(int), sizeof(long), sizeof(long), sizeof(long long)};
    assert_int_equal(signature_parse(text, strlen(text), &s, &error), 0);
    assert_int_equal(s.n, 7);
    for (int i = 0; i < 6; i++) {
        signature_type narrowest = i == 4 || (i == 0 && (char)-1 > 0) ? SIGNATURE_U8 : SIGNATURE_I8;
        assert_int_equal((size_t)1 << (s.argument[i] - narrowest), bytes[i]);
    }
    assert_int_equal((size_t)1 << (s.result - SIGNATURE_U8), sizeof(size_t));
    assert_int_equal(s.argument[6], sizeof(long) == 8 ? SIGNATURE_INT64S : SIGNATURE_INT32S);
}

static const struct {
    const char *text;
    size_t column;
    const char *message;
} bad[] = {
    {"", 1, "a type expected, but the signature ends here"},
    {"(int)", 1, "a type expected, not \"(\""},
    {"flaot(int)", 1, "\"flaot\" is not a type: expected void bool char int8..int64"},
    {"void(int, flaot)", 11, "double* float* int32* int64* uint8*"},
    {"void", 5, "\"(\" and the types of the arguments expected, but the signature ends here"},
    {"void prune(int)", 6, "not \"prune\": a signature has types only, no names"},
    {"void(int x)", 10, "\",\" or \")\" expected, not \"x\": a signature has types only"},
    {"void(int,)", 10, "a type expected, not \")\""},
    {"void(,int)", 6, "a type expected, not \",\""},
    {"void(int", 9, "\",\" or \")\" expected, but the signature ends here"},
    {"void(int) const", 11, "the signature must end after the closing parenthesis, not with \"const\""},
    {"void(int)void(int)", 10, "must end after the closing parenthesis"},
    {"int(string, ...)", 13, "functions with \"...\" cannot be bound"},
    {"int(string ...)", 12, "functions with \"...\" cannot be bound"},
    {"void(candidates, double)", 6, "candidates must be passed as a pointer: candidates*"},
    {"void(rill_sched_view)", 6, "rill_sched_view must be passed as a pointer: rill_sched_view*"},
    {"void(rill_rows*)", 6, "\"rill_rows\" is not a type"},
    {"void(candidates**)", 17, "pointers to pointers are not supported: use void*"},
    {"void(void* const*)", 17, "pointers to pointers are not supported"},
    {"void(const char**)", 17, "pointers to pointers are not supported"},
    {"void(char*)", 6, "char* is not supported: write const char*"},
    {"void(int8*)", 6, "arrays of int8 are not supported: expected double*"},
    {"void(const unsigned int*)", 12, "arrays of unsigned int are not supported"},
    {"void(bool*)", 6, "arrays of bool are not supported"},
    {"void(string*)", 6, "arrays of string are not supported"},
    {"void(int, void)", 11, "an argument cannot be void"},
    {"void(void, int)", 6, "an argument cannot be void"},
    {"candidates*(int)", 1, "a result cannot be candidates*: expected void, bool"},
    {"const double*(int)", 7, "a result cannot be double*"},
    {"void(long double)", 6, "\"long double\" is not a type"},
    {"void(short long)", 6, "\"short long\" is not a type"},
    {"void(long long long)", 6, "\"long long long\" is not a type"},
    {"void(signed unsigned)", 6, "\"signed unsigned\" is not a type"},
    {"void(unsigned double)", 6, "\"unsigned double\" is not a type"},
    {"void(short char)", 6, "\"short char\" is not a type"},
    {"void(int int)", 6, "\"int int\" is not a type"},
    {"void(unsigned int8)", 15, "not \"int8\""},
    {"void(const)", 11, "a type expected, not \")\""},
    {"void(const *)", 12, "a type expected, not \"*\""},
    {"void(int&)", 9, "expected, not \"&\""},
    {"void(struct rill_candidates*)", 6, "\"struct\" is not a type"},
    {"void(int[])", 9, "expected, not \"[\""},
    {"void(\x01)", 6, "a type expected, not \"?\""},
    {"int(int (*)(int))", 9, "expected, not \"(\""},
    {"void(3)", 6, "a type expected, not \"3\""},
    {"void(int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,"
     "int,int,int,int,int, int)",
     135, "more than 32 arguments"},
};

static void bad_signatures(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        signature s;
        signature_error error = {0};
        if (signature_parse(bad[i].text, strlen(bad[i].text), &s, &error) == 0)
            fail_msg("\"%s\" was taken", bad[i].text);
        if (error.column != bad[i].column || strstr(error.message, bad[i].message) == NULL)
            fail_msg("\"%s\", column %zu: %s", bad[i].text, error.column, error.message);
    }
}

/* A NUL does not end a signature but is an error in it; only the length counts. */
static void lengths(void **state)
{
    (void)state;
    signature s;
    signature_error error;
    assert_int_equal(signature_parse("void()\0", 7, &s, &error), -1);
    assert_int_equal(error.column, 7);
    assert_int_equal(signature_parse("void()x", 6, &s, &error), 0);
    assert_int_equal(signature_parse("void()", 5, &s, &error), -1);
    assert_int_equal(error.column, 6);
}

/* The longest possible text fits, and a small buffer is not overrun. */
static void writing(void **state)
{
    (void)state;
    signature s = {.result = SIGNATURE_STRING, .n = SIGNATURE_MAX_ARGUMENTS, .constant = UINT32_MAX}, again;
    signature_error error;
    char text[SIGNATURE_TEXT], small[16];
    for (int i = 0; i < s.n; i++) s.argument[i] = SIGNATURE_DOUBLES;
    signature_write(&s, text, sizeof text);
    assert_int_equal(signature_parse(text, strlen(text), &again, &error), 0);
    assert_memory_equal(&s, &again, sizeof s);
    signature_write(&s, small, sizeof small);
    assert_string_equal(small, "string(const do");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_signatures), cmocka_unit_test(c_types), cmocka_unit_test(bad_signatures),
        cmocka_unit_test(lengths),         cmocka_unit_test(writing),
    };
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
