/* Variable-length attention for training, forward and backward. The positions of all sentences are the rows of one
   matrix, end to end, without padding.

   Scores have a row for each key and a column for each query. A vector holds the scores of neighbouring queries, so no
   sum ever runs across a vector. Everything but the softmax is a product of two small matrices. */
#include "varlen.h"
#include "exponential.h"

enum { ROWS = 4 }; /* of a product, computed together: the additions of a single sum would wait for each other */
typedef float Vector __attribute__((vector_size(VECTOR_WIDTH * sizeof(float)), aligned(sizeof(float)), may_alias));

/* A view: its first element, and the strides of its rows and columns. */
typedef struct {
    float *at;
    long row, column;
} Matrix;

static inline Matrix transposed(Matrix x) { return (Matrix){x.at, x.column, x.row}; }

/* Compute ROWS rows of a · b in `vectors` vectors of columns from `at` on; `vectors` must be a constant. */
static inline __attribute__((always_inline)) void multiply_block(
    int vectors, const float *const a[ROWS], long a_column, const float *b, long b_row, long begin, long end,
    float *const out[ROWS], long at) {
    Vector sums[ROWS][2] = {0};
    for (long s = begin; s < end; s++)
        for (int v = 0; v < vectors; v++) {
            const Vector x = *(const Vector *)(b + s * b_row + at + v * VECTOR_WIDTH);
            for (int r = 0; r < ROWS; r++) sums[r][v] += a[r][s * a_column] * x;
        }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < vectors; v++) *(Vector *)(out[r] + at + v * VECTOR_WIDTH) = sums[r][v];
}

/* Which terms of a product's sums can be nonzero: with a causal mask, half of the weights are zero. */
typedef enum { ALL, UP_TO_ROW, FROM_ROW } Terms;

/* out = a · b, where each sum has n terms. If fewer than ROWS rows are left at the end, the last row is computed
   several times: faster than a loop over a variable number of rows. */
static void multiply(long rows, long n, long columns, Matrix a, Matrix b, Matrix out, Terms terms) {
    for (long i = 0; i < rows; i += ROWS, a.at += ROWS * a.row, out.at += ROWS * out.row) {
        const long begin = terms == FROM_ROW ? i : 0, end = terms == UP_TO_ROW && i + ROWS < n ? i + ROWS : n;
        const float *from[ROWS] = {a.at};
        float *to[ROWS] = {out.at};
        for (int r = 1; r < ROWS; r++) {
            from[r] = from[r - 1] + (i + r < rows ? a.row : 0);
            to[r] = to[r - 1] + (i + r < rows ? out.row : 0);
        }
        long c = 0;
        for (; c + 2 * VECTOR_WIDTH <= columns; c += 2 * VECTOR_WIDTH)
            multiply_block(2, from, a.column, b.at, b.row, begin, end, to, c);
        for (; c + VECTOR_WIDTH <= columns; c += VECTOR_WIDTH)
            multiply_block(1, from, a.column, b.at, b.row, begin, end, to, c);
        for (; c < columns; c++)
            for (int r = 0; r < ROWS; r++) {
                float sum = 0;
                for (long s = begin; s < end; s++) sum += from[r][s * a.column] * b.at[s * b.row + c];
                to[r][c] = sum;
            }
    }
}

/* Transpose n rows of d, padded with zeros to `width` columns; four rows at a time, so that writes are adjacent. */
static void transpose(Matrix x, long n, long d, float *restrict out, long width) {
    for (long i = 0; i < width; i += 4)
        for (long c = 0; c < d; c++)
            for (long r = 0; r < 4; r++) out[c * width + i + r] = i + r < n ? x.at[(i + r) * x.row + c] : 0;
}

/* Turn the scores of n keys into weights, in place, column by column. `highest` and `sum` are scratch for a row each. */
static void softmax(
    float *restrict scores, long n, long width, long causal, float scale, float *restrict highest,
    float *restrict sum) {
    width = width / VECTOR_WIDTH * VECTOR_WIDTH; /* no change, but tells the compiler that it is a multiple */
    for (long i = 0; i < width; i++) highest[i] = -INFINITY, sum[i] = 0;
    for (long j = 0; j < n; j++) {
        if (causal) /* earlier queries do not see this key */
            for (long i = 0; i < j && i < width; i++) scores[j * width + i] = -INFINITY;
        for (long i = 0; i < width; i++) {
            const float score = scores[j * width + i];
            highest[i] = score > highest[i] ? score : highest[i];
        }
    }
    for (long j = 0; j < n; j++)
        for (long i = 0; i < width; i++)
            sum[i] += scores[j * width + i] = exponential((scores[j * width + i] - highest[i]) * scale);
    for (long i = 0; i < width; i++) sum[i] = 1 / sum[i];
    for (long j = 0; j < n; j++)
        for (long i = 0; i < width; i++) scores[j * width + i] *= sum[i];
}

/* Turn the gradient of the weights into that of the scores, in place. `mean` is scratch for a row. */
static void softmax_backward(
    const float *restrict weights, float *restrict grads, long n, long width, float scale, float *restrict mean) {
    width = width / VECTOR_WIDTH * VECTOR_WIDTH;
    for (long i = 0; i < width; i++) mean[i] = 0;
    for (long j = 0; j < n; j++)
        for (long i = 0; i < width; i++) mean[i] += weights[j * width + i] * grads[j * width + i];
    for (long j = 0; j < n; j++)
        for (long i = 0; i < width; i++)
            grads[j * width + i] = weights[j * width + i] * (grads[j * width + i] - mean[i]) * scale;
}

/* One head of a tensor, and moving it past a sentence. */
#define HEAD(x) ((Matrix){x + head * x##_head, x##_row, 1})
#define SKIP(x, rows) (x += (rows) * x##_row)

void heed_varlen(
    TENSOR(q), TENSOR(k), TENSOR(v), TENSOR(context), const Sentences *all, float *weights, long keep, float *scratch) {
    const float scale = 1 / sqrtf((float)all->d_k);
    for (long b = 0; b < all->n; b++) {
        const long n_queries = all->queries[b], n_keys = all->keys[b], width = width_of(n_queries);
        const Matrix q_T = {scratch + 2 * width, width, 1};
        for (long head = 0; head < all->h; head++) {
            const Matrix scores = {weights, width, 1};
            transpose(HEAD(q), n_queries, all->d_k, q_T.at, width);
            multiply(n_keys, all->d_k, width, HEAD(k), q_T, scores, ALL);
            softmax(weights, n_keys, width, all->causal, scale, scratch, scratch + width);
            const Terms terms = all->causal ? UP_TO_ROW : ALL;
            multiply(n_queries, n_keys, all->d_v, transposed(scores), HEAD(v), HEAD(context), terms);
            if (keep) weights += n_keys * width;
        }
        SKIP(q, n_queries), SKIP(context, n_queries), SKIP(k, n_keys), SKIP(v, n_keys);
    }
}

/* Given grad_context, write the gradients of q, k and v. `scratch` holds 1 + d_v + n_keys rows of the largest width. */
void heed_varlen_backward(
    TENSOR(q), TENSOR(k), TENSOR(v), TENSOR(grad_context), TENSOR(grad_q), TENSOR(grad_k), TENSOR(grad_v),
    const Sentences *all, const float *weights, float *scratch) {
    const float scale = 1 / sqrtf((float)all->d_k);
    const Terms up_to = all->causal ? UP_TO_ROW : ALL, from = all->causal ? FROM_ROW : ALL;
    for (long b = 0; b < all->n; b++) {
        const long n_queries = all->queries[b], n_keys = all->keys[b], width = width_of(n_queries);
        const Matrix grad_T = {scratch + width, width, 1}, grads = {grad_T.at + all->d_v * width, width, 1};
        for (long head = 0; head < all->h; head++, weights += n_keys * width) {
            transpose(HEAD(grad_context), n_queries, all->d_v, grad_T.at, width);
            multiply(n_keys, all->d_v, width, HEAD(v), grad_T, grads, ALL);
            softmax_backward(weights, grads.at, n_keys, width, scale, scratch);
            multiply(n_queries, n_keys, all->d_k, transposed(grads), HEAD(k), HEAD(grad_q), up_to);
            multiply(n_keys, n_queries, all->d_k, grads, HEAD(q), HEAD(grad_k), from);
            const Matrix forward_weights = {(float *)weights, width, 1};
            multiply(n_keys, n_queries, all->d_v, forward_weights, HEAD(grad_context), HEAD(grad_v), from);
        }
        SKIP(q, n_queries), SKIP(grad_context, n_queries), SKIP(grad_q, n_queries);
        SKIP(k, n_keys), SKIP(v, n_keys), SKIP(grad_k, n_keys), SKIP(grad_v, n_keys);
    }
}
