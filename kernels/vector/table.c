/* table.c (vector): the operations that this instruction set overrides. Gather stays plain C, since it is memcpy. */
#include "vector.h"

void RILL_FN(rill_kernels_init)(rill_kernels *k)
{
    k->isa |= RILL_SET;
    k->name = RILL_SET_NAME;
    k->gemm = RILL_FN(rill_gemm);
    k->lstm = RILL_FN(rill_lstm_f32);
    k->attention = RILL_FN(rill_attention_f32);
    k->best = RILL_FN(rill_best_f32);
    k->embed = RILL_FN(rill_embed_f32);
    k->layer_norm = RILL_FN(rill_layer_norm_f32);
    k->tanh = RILL_FN(rill_tanh_f32);
    k->sigmoid = RILL_FN(rill_sigmoid_f32);
    k->exp = RILL_FN(rill_exp_f32);
    k->swish = RILL_FN(rill_swish_f32);
    k->gelu = RILL_FN(rill_gelu_f32);
    k->gelu_tanh = RILL_FN(rill_gelu_tanh_f32);
    k->gelu_sigmoid = RILL_FN(rill_gelu_sigmoid_f32);
    k->gru = RILL_FN(rill_gru_f32);
}
