/* The decoder a few positions at a time: all its layers in one call, with the matrix products of PyTorch's own
   library, or those of 8 bits. model/incremental.py is the same in PyTorch's terms, and says what is what. Matrices are
   row after row; a weight is d_in x d_out. */
#include "exponential.h"
#include "int8.h"
#include "lanes.h"
#include "relu.h"

typedef void Sgemm(
    const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *,
    const float *, const int *, const float *, float *, const int *);

typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));

static inline Vector vector(const float *x) {
    Vector found;
    memcpy(&found, x, sizeof found);
    return found;
}

typedef struct {
    const float *gain, *bias;
} Norm;

typedef struct { /* one or the other */
    const float *numbers;
    Int8Weight int8;
} Weight;

typedef struct {
    Weight own_qkv, own_out, cross_q, cross_out, w_1, w_2;
    const float *b_1, *b_2;
    Norm own_norm, cross_norm, feed_forward_norm;
} Layer;

typedef struct {
    Sgemm *sgemm;
    const Layer *layers;
    Weight logits;
    Norm last_norm; /* of a stack of layers with norms before */
    long n_layers, d_model, d_ff, h, d_k, d_v, vocab_size, post;
    float epsilon;
} Decoder;

typedef struct { /* keys and values of one layer, all heads of a position side by side */
    float *k, *v;
    const float *source_k, *source_v;
} Past;

typedef struct { /* 0 where a slot may be seen; so far apart are sentences, and the queries of one */
    const float *numbers;
    long sentence, query;
} Mask;

/* y = x · weight; `room` is what 8 bits want. */
static void product(
    const Decoder *decoder, const float *x, const Weight *weight, float *y, long rows, long in, long out, float *room) {
    if (!weight->numbers) {
        heed_int8_product(x, &weight->int8, 0, y, rows, in, out, room);
        return;
    }
    const int m = (int)out, n = (int)rows, k = (int)in;
    const float one = 1, zero = 0;
    decoder->sgemm("N", "N", &m, &n, &k, &one, weight->numbers, &m, x, &k, &zero, y, &m);
}

static void normalize(const float *x, float *y, Norm norm, long rows, long d, float epsilon) {
    for (long r = 0; r < rows; r++, x += d, y += d) {
        float sum = 0, squares = 0;
        for (long c = 0; c < d; c++) sum += x[c];
        const float mean = sum / d;
        for (long c = 0; c < d; c++) squares += (x[c] - mean) * (x[c] - mean);
        const float scale = 1 / sqrtf(squares / d + epsilon);
        for (long c = 0; c < d; c++) y[c] = (x[c] - mean) * scale * norm.gain[c] + norm.bias[c];
    }
}

/* What the sub-layer gets to see. */
static const float *before(const Decoder *decoder, const float *x, float *room, Norm norm, long rows) {
    if (decoder->post) return x;
    normalize(x, room, norm, rows, decoder->d_model, decoder->epsilon);
    return room;
}

/* The sub-layer's output y joined with its input x, in the place of x. */
static void after(const Decoder *decoder, float *x, const float *y, Norm norm, long rows) {
    for (long i = 0; i < rows * decoder->d_model; i++) x[i] += y[i];
    if (decoder->post) normalize(x, x, norm, rows, decoder->d_model, decoder->epsilon);
}

/* One head of one query: its slots' scores, their softmax, the weighted sum of values. */
static inline __attribute__((always_inline)) void one_head(
    const float *q, const float *k, long k_row, const float *v, long v_row, const int32_t *slots, long n, long d_k,
    long d_v, float *weights, float *out) {
    const float scale = 1 / sqrtf((float)d_k);
    float highest = -INFINITY, sum = 0;
    for (long j = 0; j < n; j++) {
        const float *key = k + slots[j] * k_row;
        Vector products = {0};
        long c = 0;
        for (; c + LANES <= d_k; c += LANES) products += vector(q + c) * vector(key + c);
        float score = 0;
        for (int i = 0; i < LANES; i++) score += products[i];
        for (; c < d_k; c++) score += q[c] * key[c];
        weights[j] = score * scale;
        highest = weights[j] > highest ? weights[j] : highest;
    }
    const long n_whole = (n + LANES - 1) / LANES * LANES;
    for (long j = n; j < n_whole; j++) weights[j] = -INFINITY;
    for (long j = 0; j < n_whole; j++) {
        weights[j] = exponential(weights[j] - highest);
        sum += weights[j];
    }
    long c = 0;
    for (; c + 2 * LANES <= d_v; c += 2 * LANES) { /* so many columns at a time stay in registers */
        Vector left = {0}, right = {0};
        for (long j = 0; j < n; j++) {
            const float *value = v + slots[j] * v_row + c;
            left += weights[j] * vector(value);
            right += weights[j] * vector(value + LANES);
        }
        left /= sum, right /= sum;
        memcpy(out + c, &left, sizeof left);
        memcpy(out + c + LANES, &right, sizeof right);
    }
    for (; c < d_v; c++) {
        out[c] = 0;
        for (long j = 0; j < n; j++) out[c] += weights[j] * v[slots[j] * v_row + c];
        out[c] /= sum;
    }
}

/* Scaled dot-product attention of the queries of each sentence over the slots they see. `room` is for twice the slots
   and `LANES` more. */
static void attend(
    const Decoder *decoder, const float *q, long q_row, const float *k, const float *v, long capacity, Mask mask,
    long n_sentences, long n_queries, long n_slots, float *room, float *out) {
    const long h = decoder->h, d_k = decoder->d_k, d_v = decoder->d_v;
    int32_t *slots = (int32_t *)room;
    float *weights = room + n_slots + 1;
    long n = n_slots;
    for (long m = 0; m < n_slots; m++) slots[m] = (int32_t)m;
    for (long b = 0; b < n_sentences; b++)
        for (long i = 0; i < n_queries; i++) {
            if (mask.numbers && (i == 0 || mask.query)) {
                const float *seen = mask.numbers + b * mask.sentence + i * mask.query;
                n = 0;
                for (long m = 0; m < n_slots; m++) {
                    slots[n] = (int32_t)m;
                    n += seen[m] == 0;
                }
            }
            for (long head = 0; head < h; head++) {
                const float *query = q + (b * n_queries + i) * q_row + head * d_k;
                const float *keys = k + b * capacity * h * d_k + head * d_k;
                const float *values = v + b * capacity * h * d_v + head * d_v;
                float *context = out + ((b * n_queries + i) * h + head) * d_v;
                if (d_k == 32 && d_v == 32) /* the usual widths, known to the compiler */
                    one_head(query, keys, h * 32, values, h * 32, slots, n, 32, 32, weights, context);
                else if (d_k == 64 && d_v == 64)
                    one_head(query, keys, h * 64, values, h * 64, slots, n, 64, 64, weights, context);
                else
                    one_head(query, keys, h * d_k, values, h * d_v, slots, n, d_k, d_v, weights, context);
            }
        }
}

/* From x_RD, the embedded newest symbols of n_queries nodes of each sentence, to logits_RV; x is used up. The nodes'
   own keys and values go into the slots after `n_slots`, of `capacity` for each sentence; `sees` includes them. `room`
   is for a row's numbers of its input seen, output, context and the widest inner product each, and what `attend` or a
   product of 8 bits wants. */
void heed_decode(
    const Decoder *decoder, float *x, const Past *pasts, const Mask *sees, const Mask *source_sees, long n_sentences,
    long n_queries, long n_slots, long capacity, long n_source, float *room, float *logits) {
    const long rows = n_sentences * n_queries, d = decoder->d_model, d_ff = decoder->d_ff;
    const long keys = decoder->h * decoder->d_k, values = decoder->h * decoder->d_v, qkv_row = 2 * keys + values;
    float *seen = room, *y = seen + rows * d, *context = y + rows * d, *wide = context + rows * values;
    float *spare = wide + rows * (qkv_row > d_ff ? qkv_row : d_ff);
    for (const Layer *layer = decoder->layers; layer < decoder->layers + decoder->n_layers; layer++, pasts++) {
        const float *x_seen = before(decoder, x, seen, layer->own_norm, rows);
        product(decoder, x_seen, &layer->own_qkv, wide, rows, d, qkv_row, spare);
        for (long b = 0; b < n_sentences; b++)
            for (long i = 0; i < n_queries; i++) {
                const float *own = wide + (b * n_queries + i) * qkv_row;
                memcpy(pasts->k + (b * capacity + n_slots + i) * keys, own + keys, keys * sizeof *own);
                memcpy(pasts->v + (b * capacity + n_slots + i) * values, own + 2 * keys, values * sizeof *own);
            }
        attend(
            decoder, wide, qkv_row, pasts->k, pasts->v, capacity, *sees, n_sentences, n_queries, n_slots + n_queries,
            spare, context);
        product(decoder, context, &layer->own_out, y, rows, values, d, spare);
        after(decoder, x, y, layer->own_norm, rows);

        x_seen = before(decoder, x, seen, layer->cross_norm, rows);
        product(decoder, x_seen, &layer->cross_q, wide, rows, d, keys, spare);
        attend(
            decoder, wide, keys, pasts->source_k, pasts->source_v, n_source, *source_sees, n_sentences, n_queries,
            n_source, spare, context);
        product(decoder, context, &layer->cross_out, y, rows, values, d, spare);
        after(decoder, x, y, layer->cross_norm, rows);

        x_seen = before(decoder, x, seen, layer->feed_forward_norm, rows);
        product(decoder, x_seen, &layer->w_1, wide, rows, d, d_ff, spare);
        heed_relu(wide, layer->b_1, rows, d_ff);
        product(decoder, wide, &layer->w_2, y, rows, d_ff, d, spare);
        for (long r = 0; r < rows; r++)
            for (long c = 0; c < d; c++) y[r * d + c] += layer->b_2[c];
        after(decoder, x, y, layer->feed_forward_norm, rows);
    }
    const float *last = before(decoder, x, seen, decoder->last_norm, rows);
    product(decoder, last, &decoder->logits, logits, rows, d, decoder->vocab_size, spare);
}
