/* Runtime dispatch by instruction set: the table starts as plain C; each supported set, which requires the one before, overrides parts. */
#include <assert.h>
#include <string.h>

#include "internal.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

#if defined(RILL_KERNELS_ARM) && defined(__linux__)
#include <sys/auxv.h>

/* Bits of the hwcaps, for C libraries whose headers lack the names. */
#if !defined(HWCAP_ASIMDDP)
#define HWCAP_ASIMDDP (1ul << 20)
#endif
#if !defined(HWCAP2_I8MM)
#define HWCAP2_I8MM (1ul << 13)
#endif
#endif

#if defined(RILL_KERNELS_X86)
#define X86(set) rill_kernels_init_##set
#else
#define X86(set) NULL
#endif
#if defined(RILL_KERNELS_ARM)
#define ARM(set) rill_kernels_init_##set
#else
#define ARM(set) NULL
#endif

/* For each instruction set: its name, the sets that a processor must have, and the function that puts its kernels in the function table;
 * NULL: not compiled. */
static const struct {
    const char *name;
    rill_isa_mask mask;
    void (*init)(rill_kernels *k);
} sets[] = {
    {"ref", RILL_ISA_REF, rill_kernels_init_ref},
    {"avx2", RILL_ISA_AVX2, X86(avx2)},
    {"avx512", RILL_ISA_AVX2 | RILL_ISA_AVX512, X86(avx512)},
    {"avx512vnni", RILL_ISA_AVX2 | RILL_ISA_AVX512 | RILL_ISA_AVX512_VNNI, X86(avx512vnni)},
    {"avx512bf16", RILL_ISA_AVX2 | RILL_ISA_AVX512 | RILL_ISA_AVX512_VNNI | RILL_ISA_AVX512_BF16, X86(avx512bf16)},
    {"amx", RILL_ISA_AVX2 | RILL_ISA_AVX512 | RILL_ISA_AVX512_VNNI | RILL_ISA_AVX512_BF16 | RILL_ISA_AMX, X86(amx)},
    {"neon", RILL_ISA_NEON, ARM(neon)},
    {"neon-dotprod", RILL_ISA_NEON | RILL_ISA_NEON_DOTPROD, ARM(neon_dotprod)},
    {"neon-i8mm", RILL_ISA_NEON | RILL_ISA_NEON_DOTPROD | RILL_ISA_NEON_I8MM, ARM(neon_i8mm)},
};

const char *rill_isa_name(size_t i)
{
    return i < sizeof sets / sizeof *sets ? sets[i].name : NULL;
}

int rill_isa_by_name(const char *name, rill_isa_mask *mask)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (strcmp(sets[i].name, name) != 0) continue;
        *mask = sets[i].mask;
        return 0;
    }
    return -1;
}

#if defined(__x86_64__)
/* Has the processor AMX for int8 and bf16, and does Linux let this process use it? Linux saves AMX's registers (8 KB a thread) only for
 * processes that ask, and refuses while a thread has an alternate signal stack too small for them. */
static int amx_is_usable(void)
{
#if defined(__linux__)
    enum { LEAF = 7, BF16 = 1 << 22, TILE = 1 << 24, INT8 = 1 << 25, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    unsigned a, b, c, features = 0;
    const unsigned wanted = BF16 | TILE | INT8;
    return __get_cpuid_count(LEAF, 0, &a, &b, &c, &features) && (features & wanted) == wanted &&
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return 0;
#endif
}
#endif

rill_isa_mask rill_cpu_isa(void)
{
    rill_isa_mask have = RILL_ISA_REF;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        have |= RILL_ISA_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        have |= RILL_ISA_AVX512;
    if (__builtin_cpu_supports("avx512vnni")) have |= RILL_ISA_AVX512_VNNI;
    if (amx_is_usable()) have |= RILL_ISA_AMX;
    /* not on Intel without AMX: bf16 products are no faster than fp32 there (docs/kernels.md) */
    if (__builtin_cpu_supports("avx512bf16") && (__builtin_cpu_is("amd") || have & RILL_ISA_AMX))
        have |= RILL_ISA_AVX512_BF16;
#elif defined(RILL_KERNELS_ARM)
    have |= RILL_ISA_NEON;
#if defined(__linux__)
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) have |= RILL_ISA_NEON_DOTPROD;
    if (getauxval(AT_HWCAP2) & HWCAP2_I8MM) have |= RILL_ISA_NEON_I8MM;
#endif
#endif
    return have;
}

void rill_kernels_init(rill_kernels *k, rill_isa_mask mask)
{
    const rill_isa_mask use = mask & rill_cpu_isa();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (sets[i].init != NULL && (use & sets[i].mask) == sets[i].mask) sets[i].init(k);
}

void rill_run_rows(const rill_kernels *k, rill_op_kind kind, const rill_row_call *call, rill_pool *pool)
{
    const rill_row_kernel *kernel = &k->rows[kind];
    assert(call->rows == 0 || (kernel->run && call->width >= 1));
    assert(!call->packed || (call->packed->dtype == RILL_DTYPE_F32 && call->packed->k == call->width));
    rill_parallel_for(pool, kernel->run, call, call->rows, (double)call->width * kernel->ns);
}
