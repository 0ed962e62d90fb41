/* Variable-length attention: the positions of all sentences are the rows of one matrix, end to end, without padding. */
#pragma once
#include "vector_width.h"

/* The number of queries and keys of each sentence. If `causal`, a query sees no key at a later position. */
typedef struct {
    const long *queries, *keys;
    long n, causal, h, d_k, d_v;
} Sentences;

/* The number of columns of a sentence's weights: its queries, padded to full vectors. */
static inline long width_of(long n_queries) { return (n_queries + VECTOR_WIDTH - 1) / VECTOR_WIDTH * VECTOR_WIDTH; }

/* A tensor with the strides of its heads and rows. */
#define TENSOR(x) float *x, long x##_head, long x##_row

/* Attention of q_HNK over k_HMK and v_HMC, written to context_HNC. If `keep`, the weights of all sentences and heads
   are stored one after the other, a row for each key; otherwise they overwrite each other. `scratch` holds d_k + 2 rows
   of the largest width. */
void heed_varlen(
    TENSOR(q), TENSOR(k), TENSOR(v), TENSOR(context), const Sentences *all, float *weights, long keep, float *scratch);
