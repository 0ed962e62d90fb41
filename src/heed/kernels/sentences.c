/* Scaled dot-product attention of whole sentences, and its gradient, as training needs it.

   Scores have a row for each key and a column for each query: a vector holds as many queries as it has lanes, and
   nothing is ever summed up across it. Everything but the softmax is a product of two small matrices. */
#include <float.h>

#include "exponential.h"
#include "lanes.h"

enum { ROWS = 4 }; /* of a product, to be made at once, since a sum waits for itself */
typedef float vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

/* Numbers in rows and columns that are so far apart. */
typedef struct {
    float *at;
    long row, column;
} matrix;

static inline matrix transposed(matrix x) { return (matrix){x.at, x.column, x.row}; }
static inline long least(long a, long b) { return a < b ? a : b; }

/* ROWS rows of a b in some columns: `vectors` of them, which the compiler knows. */
static inline __attribute__((always_inline)) void block(
    int vectors, const float *const a[ROWS], long a_column, const float *b, long b_row, long begin, long end,
    float *const out[ROWS], long at) {
    vector sums[ROWS][2] = {0};
    for (long s = begin; s < end; s++)
        for (int v = 0; v < vectors; v++) {
            const vector x = *(const vector *)(b + s * b_row + at + v * LANES);
            for (int r = 0; r < ROWS; r++) sums[r][v] += a[r][s * a_column] * x;
        }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < vectors; v++) *(vector *)(out[r] + at + v * LANES) = sums[r][v];
}

/* out = a b, whose sums have n terms each; those of each ROWS rows are zero before `begins` and from `ends` on, if
   given. Where the last rows are fewer, the last of all is made several times: quicker than asking how many. */
static void product(
    long rows, long n, long columns, matrix a, matrix b, matrix out, const long *begins, const long *ends) {
    for (long i = 0; i < rows; i += ROWS, a.at += ROWS * a.row, out.at += ROWS * out.row) {
        const long begin = begins ? *begins++ : 0, end = ends ? *ends++ : n;
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
static void turn(matrix x, long n, long d, float *restrict out, long width) {
    for (long i = 0; i < width; i += 4)
        for (long c = 0; c < d; c++)
            for (long r = 0; r < 4; r++) out[c * width + i + r] = i + r < n ? x.at[(i + r) * x.row + c] : 0;
}

/* What the queries of a sentence see. */
typedef struct {
    float *hidden; /* of each key and query: 0 if it is seen, else -inf */
    long *ends;    /* of each ROWS queries: they see only keys before this */
    long *begins;  /* of each ROWS keys: only queries from this on see them */
    long n;        /* no query sees a key from this on */
} sight;

static void look(const uint8_t *mask, long mask_query, long n_queries, long n_keys, long width, sight *sees) {
    sees->n = 0;
    for (long j = 0; j < n_keys; j += ROWS) sees->begins[j / ROWS] = n_queries;
    for (long i = 0; i < n_queries; i++) {
        long end = n_keys;
        while (mask && end && !mask[i * mask_query + end - 1]) end--;
        if (i % ROWS == 0 || end > sees->ends[i / ROWS]) sees->ends[i / ROWS] = end;
        for (long j = 0; j < end; j += ROWS) sees->begins[j / ROWS] = least(sees->begins[j / ROWS], i);
        sees->n = end > sees->n ? end : sees->n;
    }
    for (long j = 0; j < sees->n; j++) {
        float *row = sees->hidden + j * width;
        for (long i = 0; i < width; i++) row[i] = 0;
        if (mask && mask_query)
            for (long i = 0; i < n_queries; i++) row[i] = mask[i * mask_query + j] ? 0 : -INFINITY;
        else if (mask && !mask[j]) /* the same for all queries */
            for (long i = 0; i < width; i++) row[i] = -INFINITY;
    }
}

/* Scores of n keys become weights, in each of `width` columns. There is room for a row in `highest` and in `sum`. */
static void softmax(
    float *restrict scores, const float *restrict hidden, long n, long width, float scale, float *restrict highest,
    float *restrict sum) {
    width = width / LANES * LANES; /* as it is anyway; now the compiler knows */
    for (long i = 0; i < width; i++) highest[i] = -FLT_MAX, sum[i] = 0; /* finite: a query may see nothing */
    for (long j = 0; j < n; j++)
        for (long i = 0; i < width; i++) {
            const float score = scores[j * width + i] += hidden[j * width + i];
            highest[i] = score > highest[i] ? score : highest[i];
        }
    for (long j = 0; j < n; j++)
        for (long i = 0; i < width; i++)
            sum[i] += scores[j * width + i] = exponential((scores[j * width + i] - highest[i]) * scale);
    for (long i = 0; i < width; i++) sum[i] = sum[i] == 0 ? 0 : 1 / sum[i];
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

/* A tensor whose sentences, heads and rows are so far apart, and one head of it. */
#define TENSOR(x) float *x, long x##_sentence, long x##_head, long x##_row
#define HEAD(x) ((matrix){x + b * x##_sentence + head * x##_head, x##_row, 1})

/* q_BHLK, k_BHMK, v_BHMC, context_BHLC. The mask, if any, is not 0 where a key may be seen. The weights, with a row for
   each key and `width` columns (as many as queries, and filled up to whole vectors), are kept for the slope if those of
   heads are apart. `room` is for n_keys + d_k + 2 rows as wide, `numbers` for as many as there are queries and keys. */
void heed_sentences(
    TENSOR(q), TENSOR(k), TENSOR(v), TENSOR(context), const uint8_t *mask, long mask_sentence, long mask_query,
    float *weights, long weights_head, long width, float *room, long *numbers, long n_sentences, long h,
    long n_queries, long n_keys, long d_k, long d_v) {
    sight sees = {room + 2 * width, numbers, numbers + n_queries, 0};
    const matrix queries = {sees.hidden + n_keys * width, width, 1};
    const float scale = 1 / sqrtf((float)d_k);
    for (long b = 0; b < n_sentences; b++) {
        if (b == 0 || mask_sentence)
            look(mask ? mask + b * mask_sentence : 0, mask_query, n_queries, n_keys, width, &sees);
        for (long head = 0; head < h; head++, weights += weights_head) {
            const matrix scores = {weights, width, 1};
            turn(HEAD(q), n_queries, d_k, queries.at, width);
            product(sees.n, d_k, width, HEAD(k), queries, scores, 0, 0);
            softmax(weights, sees.hidden, sees.n, width, scale, room, room + width);
            product(n_queries, n_keys, d_v, transposed(scores), HEAD(v), HEAD(context), 0, sees.ends);
        }
    }
}

/* From the slope by the context, those by q, k and v. `room` is for 2 n_keys + d_v + 2 rows. */
void heed_sentences_slope(
    TENSOR(q), TENSOR(k), TENSOR(v), TENSOR(context), TENSOR(dq), TENSOR(dk), TENSOR(dv), const uint8_t *mask,
    long mask_sentence, long mask_query, float *weights, long weights_head, long width, float *room, long *numbers,
    long n_sentences, long h, long n_queries, long n_keys, long d_k, long d_v) {
    sight sees = {room + 2 * width, numbers, numbers + n_queries, 0};
    const matrix slopes = {sees.hidden + n_keys * width, width, 1}, turned = {slopes.at + n_keys * width, width, 1};
    const float scale = 1 / sqrtf((float)d_k);
    for (long b = 0; b < n_sentences; b++) {
        if (b == 0 || mask_sentence)
            look(mask ? mask + b * mask_sentence : 0, mask_query, n_queries, n_keys, width, &sees);
        for (long head = 0; head < h; head++, weights += weights_head) {
            turn(HEAD(context), n_queries, d_v, turned.at, width);
            product(sees.n, d_v, width, HEAD(v), turned, slopes, 0, 0);
            softmax_slope(weights, slopes.at, sees.n, width, scale, room);
            product(n_queries, n_keys, d_k, transposed(slopes), HEAD(k), HEAD(dq), 0, sees.ends);
            product(sees.n, n_queries, d_k, slopes, HEAD(q), HEAD(dk), sees.begins, 0);
            product(sees.n, n_queries, d_v, (matrix){weights, width, 1}, HEAD(context), HEAD(dv), sees.begins, 0);
            for (long j = sees.n; j < n_keys; j++) { /* what nobody sees changes nothing */
                for (long c = 0; c < d_k; c++) HEAD(dk).at[j * dk_row + c] = 0;
                for (long c = 0; c < d_v; c++) HEAD(dv).at[j * dv_row + c] = 0;
            }
        }
    }
}
