/* What the layers of encoder and decoder have in common: linear layers, norms, residual connections, feed-forward.
   Matrices are row-major; a weight is d_in x d_out. */
#pragma once
#include "bf16.h"
#include "float32.h"
#include "int8.h"
#include "relu.h"
#include "team.h"
#include <math.h>

typedef void Sgemm(
    const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *,
    const float *, const int *, const float *, float *, const int *);

typedef struct {
    const float *gain, *bias;
} Norm;

typedef struct { /* one of the three; the other pointers are null */
    const float *float32;
    const Pair *bf16; /* packed by heed_bf16_pack */
    Int8Weight int8;
} Weight;

typedef struct {
    Weight w_1, w_2;
    const float *b_1, *b_2;
} FeedForward;

typedef struct {
    Sgemm *sgemm; /* for weights in float32; null: they are packed, as in float32.h */
    long n_layers, d_model, d_ff, h, d_k, d_v, is_post_norm;
    float epsilon;
    Norm last_norm; /* of pre-norm layers only */
} Stack;

typedef struct { /* of a decoder layer: for each sentence as many rows as there are slots, the heads side by side */
    float *k, *v;
} KeysValues;

/* y = x · weight, shared by `team`, which may be null; `scratch` is for weights in bfloat16 and in 8 bits, as in bf16.h
   and int8.h. */
static inline void linear(
    const Stack *stack, Team *team, const float *x, const Weight *weight, float *y, long rows, long in, long out,
    float *scratch) {
    if (weight->bf16) {
        heed_bf16_multiply(x, 0, weight->bf16, y, rows, in, out, 0, (Pair *)scratch);
        return;
    }
    if (!weight->float32) {
        heed_int8_linear(team, x, &weight->int8, 0, y, rows, in, out, scratch);
        return;
    }
    if (!stack->sgemm) {
        heed_float32_linear(team, x, weight->float32, y, rows, in, out);
        return;
    }
    const int m = (int)out, n = (int)rows, k = (int)in;
    const float one = 1, zero = 0;
    stack->sgemm("N", "N", &m, &n, &k, &one, weight->float32, &m, x, &k, &zero, y, &m);
}

static inline void normalize(const float *x, float *y, Norm norm, long rows, long d, float epsilon) {
    for (long r = 0; r < rows; r++, x += d, y += d) {
        float sum = 0, squares = 0;
        for (long c = 0; c < d; c++) sum += x[c];
        const float mean = sum / d;
        for (long c = 0; c < d; c++) squares += (x[c] - mean) * (x[c] - mean);
        const float scale = 1 / sqrtf(squares / d + epsilon);
        for (long c = 0; c < d; c++) y[c] = (x[c] - mean) * scale * norm.gain[c] + norm.bias[c];
    }
}

/* Return the input of a sub-layer: x, or with pre-norm LayerNorm(x), written to `normalized`. */
static inline const float *sublayer_input(const Stack *stack, const float *x, float *normalized, Norm norm, long rows) {
    if (stack->is_post_norm) return x;
    normalize(x, normalized, norm, rows, stack->d_model, stack->epsilon);
    return normalized;
}

/* x = x + y, or with post-norm LayerNorm(x + y), where y is the output of a sub-layer. */
static inline void add_residual(const Stack *stack, float *x, const float *y, Norm norm, long rows) {
    for (long i = 0; i < rows * stack->d_model; i++) x[i] += y[i];
    if (stack->is_post_norm) normalize(x, x, norm, rows, stack->d_model, stack->epsilon);
}

/* The feed-forward sub-layer with its residual connection, in place. `normalized` and `y` are scratch for x, `wide` for
   rows of d_ff, `rest` for `linear`. */
static inline void feed_forward(
    const Stack *stack, Team *team, float *x, const FeedForward *weights, Norm norm, long rows, float *normalized,
    float *y, float *wide, float *rest) {
    const long d = stack->d_model, d_ff = stack->d_ff;
    const float *input = sublayer_input(stack, x, normalized, norm, rows);
    linear(stack, team, input, &weights->w_1, wide, rows, d, d_ff, rest);
    heed_relu(wide, weights->b_1, rows, d_ff);
    linear(stack, team, wide, &weights->w_2, y, rows, d_ff, d, rest);
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < d; c++) y[r * d + c] += weights->b_2[c];
    add_residual(stack, x, y, norm, rows);
}
