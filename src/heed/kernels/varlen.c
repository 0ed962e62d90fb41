/* Scaled dot-product attention of whole sentences, and its gradient, as training needs it. The positions of all
   sentences are rows of a matrix, end to end, without padding.

   Scores have a row for each key and a column for each query: a vector holds as many queries as it has lanes, and
   nothing is ever summed up across it. Everything but the softmax is a product of two small matrices. */
#include "exponential.h"
#include "lanes.h"

enum { ROWS = 4 }; /* of a product, to be made at once, since a sum waits for itself */
typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

/* Numbers in rows and columns that are so far apart. */
typedef struct {
    float *at;
    long row, column;
} Matrix;

static inline Matrix transposed(Matrix x) { return (Matrix){x.at, x.column, x.row}; }

/* ROWS rows of a b in some columns: `vectors` of them, which the compiler knows. */
static inline __attribute__((always_inline)) void block(
    int vectors, const float *const a[ROWS], long a_column, const float *b, long b_row, long begin, long end,
    float *const out[ROWS], long at) {
    Vector sums[ROWS][2] = {0};
    for (long s = begin; s < end; s++)
        for (int v = 0; v < vectors; v++) {
            const Vector x = *(const Vector *)(b + s * b_row + at + v * LANES);
            for (int r = 0; r < ROWS; r++) sums[r][v] += a[r][s * a_column] * x;
        }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < vectors; v++) *(Vector *)(out[r] + at + v * LANES) = sums[r][v];
}

/* Which terms of a product's sums are not zero, if the weights are those of a causal mask. */
typedef enum { ALL, UP_TO_ROW, FROM_ROW } Terms;

/* out = a b, whose sums have n terms each. Where the last rows are fewer than ROWS, the last of all is made several
   times: quicker than asking how many. */
static void product(long rows, long n, long columns, Matrix a, Matrix b, Matrix out, Terms terms) {
    for (long i = 0; i < rows; i += ROWS, a.at += ROWS * a.row, out.at += ROWS * out.row) {
        const long begin = terms == FROM_ROW ? i : 0, end = terms == UP_TO_ROW && i + ROWS < n ? i + ROWS : n;
        const float *from[ROWS] = {a.at};
        float *to[ROWS] = {out.at};
        for (int r = 1; r < ROWS; r++) {
            from[r] = from[r - 1] + (i + r < rows ? a.row : 0);
            to[r] = to[r - 1] + (i + r < rows ? out.row : 0);
        }
        long c = 0;
        for (; c + 2 * LANES <= columns; c += 2 * LANES) block(2, from, a.column, b.at, b.row, begin, end, to, c);
        for (; c + LANES <= columns; c += LANES) block(1, from, a.column, b.at, b.row, begin, end, to, c);
        for (; c < columns; c++)
            for (int r = 0; r < ROWS; r++) {
                float sum = 0;
                for (long s = begin; s < end; s++) sum += from[r][s * a.column] * b.at[s * b.row + c];
                to[r][c] = sum;
            }
    }
}

/* n rows become columns, with zeros up to `width` columns. A few at once, so that they are written side by side. */
static void turn(Matrix x, long n, long d, float *restrict out, long width) {
    for (long i = 0; i < width; i += 4)
        for (long c = 0; c < d; c++)
            for (long r = 0; r < 4; r++) out[c * width + i + r] = i + r < n ? x.at[(i + r) * x.row + c] : 0;
}

/* Scores of n keys become weights, in each of `width` columns. There is room for a row in `highest` and in `sum`. */
static void softmax(
    float *restrict scores, long n, long width, long causal, float scale, float *restrict highest,
    float *restrict sum) {
    width = width / LANES * LANES; /* as it is anyway; now the compiler knows */
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

/* The slope by weights becomes that by scores. There is room for a row in `mean`. */
static void softmax_slope(
    const float *restrict weights, float *restrict slopes, long n, long width, float scale, float *restrict mean) {
    width = width / LANES * LANES;
    for (long i = 0; i < width; i++) mean[i] = 0;
    for (long j = 0; j < n; j++)
        for (long i = 0; i < width; i++) mean[i] += weights[j * width + i] * slopes[j * width + i];
    for (long j = 0; j < n; j++)
        for (long i = 0; i < width; i++)
            slopes[j * width + i] = weights[j * width + i] * (slopes[j * width + i] - mean[i]) * scale;
}

/* Sentences: how many rows of queries and of keys each has, and whether a query sees no key after its own place. */
typedef struct {
    const long *queries, *keys;
    long n, causal, h, d_k, d_v;
} Sentences;

/* Columns of a sentence's weights: as many as queries, and filled up to whole vectors. */
static inline long width_of(long n_queries) { return (n_queries + LANES - 1) / LANES * LANES; }

/* A tensor whose heads and rows are so far apart, and one head of it from this sentence on. */
#define TENSOR(x) float *x, long x##_head, long x##_row
#define HEAD(x) ((Matrix){x + head * x##_head, x##_row, 1})
#define SKIP(x, rows) (x += (rows) * x##_row)

/* q_HNK, k_HMK, v_HMC, context_HNC. The weights, with a row for each key, of one head after the other, are kept for the
   slope if `keep`. `room` is for d_k + 2 rows as wide as the widest. */
void heed_varlen(
    TENSOR(q), TENSOR(k), TENSOR(v), TENSOR(context), const Sentences *all, float *weights, long keep, float *room) {
    const float scale = 1 / sqrtf((float)all->d_k);
    for (long b = 0; b < all->n; b++) {
        const long n_queries = all->queries[b], n_keys = all->keys[b], width = width_of(n_queries);
        const Matrix turned = {room + 2 * width, width, 1};
        for (long head = 0; head < all->h; head++) {
            const Matrix scores = {weights, width, 1};
            turn(HEAD(q), n_queries, all->d_k, turned.at, width);
            product(n_keys, all->d_k, width, HEAD(k), turned, scores, ALL);
            softmax(weights, n_keys, width, all->causal, scale, room, room + width);
            const Terms terms = all->causal ? UP_TO_ROW : ALL;
            product(n_queries, n_keys, all->d_v, transposed(scores), HEAD(v), HEAD(context), terms);
            if (keep) weights += n_keys * width;
        }
        SKIP(q, n_queries), SKIP(context, n_queries), SKIP(k, n_keys), SKIP(v, n_keys);
    }
}

/* From the slope by the context, those by q, k and v. `room` is for 1 + d_v + n_keys rows. */
void heed_varlen_backward(
    TENSOR(q), TENSOR(k), TENSOR(v), TENSOR(context), TENSOR(dq), TENSOR(dk), TENSOR(dv), const Sentences *all,
    const float *weights, float *room) {
    const float scale = 1 / sqrtf((float)all->d_k);
    const Terms up_to = all->causal ? UP_TO_ROW : ALL, from = all->causal ? FROM_ROW : ALL;
    for (long b = 0; b < all->n; b++) {
        const long n_queries = all->queries[b], n_keys = all->keys[b], width = width_of(n_queries);
        const Matrix turned = {room + width, width, 1}, slopes = {turned.at + all->d_v * width, width, 1};
        for (long head = 0; head < all->h; head++, weights += n_keys * width) {
            turn(HEAD(context), n_queries, all->d_v, turned.at, width);
            product(n_keys, all->d_v, width, HEAD(v), turned, slopes, ALL);
            softmax_slope(weights, slopes.at, n_keys, width, scale, room);
            product(n_queries, n_keys, all->d_k, transposed(slopes), HEAD(k), HEAD(dq), up_to);
            product(n_keys, n_queries, all->d_k, slopes, HEAD(q), HEAD(dk), from);
            product(n_keys, n_queries, all->d_v, (Matrix){(float *)weights, width, 1}, HEAD(context), HEAD(dv), from);
        }
        SKIP(q, n_queries), SKIP(context, n_queries), SKIP(dq, n_queries);
        SKIP(k, n_keys), SKIP(v, n_keys), SKIP(dk, n_keys), SKIP(dv, n_keys);
    }
}
