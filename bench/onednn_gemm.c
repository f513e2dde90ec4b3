/* oneDNN's matrix products; see onednn_gemm.h.
 *
 * Sections: plain sgemm, packed matmul. */
#include "onednn_gemm.h"

#include <dnnl.h>
#include <stdlib.h>

/* a function of libgomp; NULL if oneDNN was not built with it */
void omp_set_num_threads(int threads) __attribute__((weak));

void rill_onednn_single_thread(void)
{
    if (omp_set_num_threads) omp_set_num_threads(1);
}

/* ---- plain sgemm ----------------------------------------------------------------------------------------- */

int rill_onednn_sgemm(size_t m, size_t n, size_t k, const float *a, const float *w, float *c)
{
    const dnnl_dim_t dm = (dnnl_dim_t)m, dn = (dnnl_dim_t)n, dk = (dnnl_dim_t)k;
    return dnnl_sgemm('N', 'T', dm, dn, dk, 1.0f, a, dk, w, dk, 0.0f, c, dn) == dnnl_success ? 0 : -1;
}

/* ---- packed matmul --------------------------------------------------------------------------------------- */

struct rill_onednn_matmul {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t matmul;
    dnnl_memory_t a, c;
    size_t copies;
    dnnl_memory_t w[]; /* the packed weights */
};

/* Make the descriptors of A, W (any layout) and C, then the primitive. */
static int make_primitive(rill_onednn_matmul *o, const dnnl_dims_t as, const dnnl_dims_t ws, const dnnl_dims_t cs,
                          rill_dtype dtype)
{
    const int int8 = dtype == RILL_DTYPE_U8S8;
    const dnnl_data_type_t floats = dtype == RILL_DTYPE_BF16 ? dnnl_bf16 : dnnl_f32;
    dnnl_memory_desc_t a, w, c;
    dnnl_matmul_desc_t d;
    return dnnl_memory_desc_init_by_tag(&a, 2, as, int8 ? dnnl_u8 : floats, dnnl_ab) == dnnl_success &&
           dnnl_memory_desc_init_by_tag(&w, 2, ws, int8 ? dnnl_s8 : floats, dnnl_format_tag_any) == dnnl_success &&
           dnnl_memory_desc_init_by_tag(&c, 2, cs, int8 ? dnnl_s32 : dnnl_f32, dnnl_ab) == dnnl_success &&
           dnnl_matmul_desc_init(&d, &a, &w, NULL, &c) == dnnl_success &&
           dnnl_primitive_desc_create(&o->desc, &d, NULL, o->engine, NULL) == dnnl_success &&
           dnnl_primitive_create(&o->matmul, o->desc) == dnnl_success &&
           dnnl_memory_create(&o->a, &a, o->engine, DNNL_MEMORY_NONE) == dnnl_success &&
           dnnl_memory_create(&o->c, &c, o->engine, DNNL_MEMORY_NONE) == dnnl_success;
}

/* Reorder one [N, K] matrix (that is, K x N transposed) into the primitive's layout. */
static int pack(rill_onednn_matmul *o, size_t copy, const dnnl_dims_t ws, const float *from)
{
    dnnl_memory_desc_t plain;
    dnnl_memory_t source = NULL;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t reorder = NULL;
    const dnnl_memory_desc_t *packed = dnnl_primitive_desc_query_md(o->desc, dnnl_query_weights_md, 0);
    int well = dnnl_memory_desc_init_by_tag(&plain, 2, ws, dnnl_f32, dnnl_ba) == dnnl_success &&
               dnnl_memory_create(&source, &plain, o->engine, (void *)(uintptr_t)from) == dnnl_success &&
               dnnl_memory_create(&o->w[copy], packed, o->engine, DNNL_MEMORY_ALLOCATE) == dnnl_success &&
               dnnl_reorder_primitive_desc_create(&desc, &plain, o->engine, packed, o->engine, NULL) == dnnl_success &&
               dnnl_primitive_create(&reorder, desc) == dnnl_success;
    if (well) {
        const dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, o->w[copy]}};
        well = dnnl_primitive_execute(reorder, o->stream, 2, args) == dnnl_success &&
               dnnl_stream_wait(o->stream) == dnnl_success;
    }
    if (reorder) dnnl_primitive_destroy(reorder);
    if (desc) dnnl_primitive_desc_destroy(desc);
    if (source) dnnl_memory_destroy(source);
    return well;
}

rill_onednn_matmul *rill_onednn_matmul_create(size_t m, size_t n, size_t k, rill_dtype dtype, const float *const *w,
                                              size_t copies)
{
    const dnnl_dims_t as = {(dnnl_dim_t)m, (dnnl_dim_t)k}, ws = {(dnnl_dim_t)k, (dnnl_dim_t)n};
    const dnnl_dims_t cs = {(dnnl_dim_t)m, (dnnl_dim_t)n};
    rill_onednn_matmul *o = calloc(1, sizeof *o + copies * sizeof o->w[0]);
    if (!o) return NULL;
    o->copies = copies;
    int well = dnnl_engine_create(&o->engine, dnnl_cpu, 0) == dnnl_success &&
               dnnl_stream_create(&o->stream, o->engine, dnnl_stream_default_flags) == dnnl_success &&
               make_primitive(o, as, ws, cs, dtype);
    for (size_t i = 0; well && i < copies; i++) well = pack(o, i, ws, w[i]);
    if (well) return o;
    rill_onednn_matmul_destroy(o);
    return NULL;
}

int rill_onednn_matmul_run(rill_onednn_matmul *o, size_t copy, const void *a, void *c)
{
    const dnnl_exec_arg_t args[3] = {{DNNL_ARG_SRC, o->a}, {DNNL_ARG_WEIGHTS, o->w[copy]}, {DNNL_ARG_DST, o->c}};
    if (dnnl_memory_set_data_handle(o->a, (void *)(uintptr_t)a) != dnnl_success) return -1;
    if (dnnl_memory_set_data_handle(o->c, c) != dnnl_success) return -1;
    if (dnnl_primitive_execute(o->matmul, o->stream, 3, args) != dnnl_success) return -1;
    return dnnl_stream_wait(o->stream) == dnnl_success ? 0 : -1;
}

void rill_onednn_matmul_destroy(rill_onednn_matmul *o)
{
    if (!o) return;
    for (size_t i = 0; i < o->copies; i++)
        if (o->w[i]) dnnl_memory_destroy(o->w[i]);
    if (o->a) dnnl_memory_destroy(o->a);
    if (o->c) dnnl_memory_destroy(o->c);
    if (o->matmul) dnnl_primitive_destroy(o->matmul);
    if (o->desc) dnnl_primitive_desc_destroy(o->desc);
    if (o->stream) dnnl_stream_destroy(o->stream);
    if (o->engine) dnnl_engine_destroy(o->engine);
    free(o);
}
