/* One decoding step of the Transformer: all decoder layers in one call. Matrix products are those of PyTorch's own
   library, or of int8.c. `Transformer.step` (model/transformer.py) computes the same in PyTorch. Matrices are
   row-major; a weight is d_in x d_out. */
#include "exponential.h"
#include "int8.h"
#include "vector_width.h"
#include "relu.h"

typedef void Sgemm(
    const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *,
    const float *, const int *, const float *, float *, const int *);

typedef float Vector __attribute__((vector_size(VECTOR_WIDTH * sizeof(float))));

static inline Vector load(const float *x) {
    Vector loaded;
    memcpy(&loaded, x, sizeof loaded);
    return loaded;
}

typedef struct {
    const float *gain, *bias;
} Norm;

typedef struct { /* one or the other; float32 is null for 8-bit weights */
    const float *float32;
    Int8Weight int8;
} Weight;

typedef struct {
    Weight self_qkv, self_out, cross_q, cross_out, w_1, w_2;
    const float *b_1, *b_2;
    Norm self_norm, cross_norm, feed_forward_norm;
} Layer;

typedef struct {
    Sgemm *sgemm;
    const Layer *layers;
    Weight logits;
    Norm last_norm; /* of pre-norm layers only */
    long n_layers, d_model, d_ff, h, d_k, d_v, vocab_size, is_post_norm;
    float epsilon;
} Decoder;

typedef struct { /* keys and values of one layer, the heads of a position side by side */
    float *k, *v;
    const float *source_k, *source_v;
} LayerCache;

typedef struct { /* 0 where a slot is visible, else -inf; null if all are */
    const float *values;
    long sentence_stride, query_stride;
} Mask;

/* y = x · weight; `scratch` is for 8-bit weights, as in int8.h. */
static void linear(
    const Decoder *decoder, const float *x, const Weight *weight, float *y, long rows, long in, long out,
    float *scratch) {
    if (!weight->float32) {
        heed_int8_linear(x, &weight->int8, 0, y, rows, in, out, scratch);
        return;
    }
    const int m = (int)out, n = (int)rows, k = (int)in;
    const float one = 1, zero = 0;
    decoder->sgemm("N", "N", &m, &n, &k, &one, weight->float32, &m, x, &k, &zero, y, &m);
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

/* Return the input of a sub-layer: x, or with pre-norm LayerNorm(x), written to `normalized`. */
static const float *sublayer_input(const Decoder *decoder, const float *x, float *normalized, Norm norm, long rows) {
    if (decoder->is_post_norm) return x;
    normalize(x, normalized, norm, rows, decoder->d_model, decoder->epsilon);
    return normalized;
}

/* x = x + y, or with post-norm LayerNorm(x + y), where y is the output of a sub-layer. */
static void add_residual(const Decoder *decoder, float *x, const float *y, Norm norm, long rows) {
    for (long i = 0; i < rows * decoder->d_model; i++) x[i] += y[i];
    if (decoder->is_post_norm) normalize(x, x, norm, rows, decoder->d_model, decoder->epsilon);
}

/* Attention of one head of one query over `n` slots. `weights` holds n floats, rounded up to full vectors. */
static inline __attribute__((always_inline)) void attend_head(
    const float *q, const float *k, long k_row, const float *v, long v_row, const int32_t *slots, long n, long d_k,
    long d_v, float *weights, float *out) {
    const float scale = 1 / sqrtf((float)d_k);
    float highest = -INFINITY, sum = 0;
    for (long j = 0; j < n; j++) {
        const float *key = k + slots[j] * k_row;
        Vector products = {0};
        long c = 0;
        for (; c + VECTOR_WIDTH <= d_k; c += VECTOR_WIDTH) products += load(q + c) * load(key + c);
        float score = 0;
        for (int i = 0; i < VECTOR_WIDTH; i++) score += products[i];
        for (; c < d_k; c++) score += q[c] * key[c];
        weights[j] = score * scale;
        highest = weights[j] > highest ? weights[j] : highest;
    }
    const long n_padded = (n + VECTOR_WIDTH - 1) / VECTOR_WIDTH * VECTOR_WIDTH;
    for (long j = n; j < n_padded; j++) weights[j] = -INFINITY;
    for (long j = 0; j < n_padded; j++) {
        weights[j] = exponential(weights[j] - highest);
        sum += weights[j];
    }
    long c = 0;
    for (; c + 2 * VECTOR_WIDTH <= d_v; c += 2 * VECTOR_WIDTH) { /* few enough columns to stay in registers */
        Vector left = {0}, right = {0};
        for (long j = 0; j < n; j++) {
            const float *value = v + slots[j] * v_row + c;
            left += weights[j] * load(value);
            right += weights[j] * load(value + VECTOR_WIDTH);
        }
        left /= sum, right /= sum;
        memcpy(out + c, &left, sizeof left);
        memcpy(out + c + VECTOR_WIDTH, &right, sizeof right);
    }
    for (; c < d_v; c++) {
        out[c] = 0;
        for (long j = 0; j < n; j++) out[c] += weights[j] * v[slots[j] * v_row + c];
        out[c] /= sum;
    }
}

/* Scaled dot-linear attention of the queries of each sentence over the slots visible to them. `scratch` holds two
   floats per slot and VECTOR_WIDTH more. */
static void attend(
    const Decoder *decoder, const float *q, long q_row, const float *k, const float *v, long capacity, Mask mask,
    long n_sentences, long n_queries, long n_slots, float *scratch, float *out) {
    const long h = decoder->h, d_k = decoder->d_k, d_v = decoder->d_v;
    int32_t *slots = (int32_t *)scratch;
    float *weights = scratch + n_slots + 1;
    long n = n_slots;
    for (long m = 0; m < n_slots; m++) slots[m] = (int32_t)m;
    for (long b = 0; b < n_sentences; b++)
        for (long i = 0; i < n_queries; i++) {
            if (mask.values && (i == 0 || mask.query_stride)) {
                const float *row = mask.values + b * mask.sentence_stride + i * mask.query_stride;
                n = 0;
                for (long m = 0; m < n_slots; m++) {
                    slots[n] = (int32_t)m;
                    n += row[m] == 0;
                }
            }
            for (long head = 0; head < h; head++) {
                const float *query = q + (b * n_queries + i) * q_row + head * d_k;
                const float *keys = k + b * capacity * h * d_k + head * d_k;
                const float *values = v + b * capacity * h * d_v + head * d_v;
                float *context = out + ((b * n_queries + i) * h + head) * d_v;
                if (d_k == 32 && d_v == 32) /* constants for the usual sizes, for the optimizer */
                    attend_head(query, keys, h * 32, values, h * 32, slots, n, 32, 32, weights, context);
                else if (d_k == 64 && d_v == 64)
                    attend_head(query, keys, h * 64, values, h * 64, slots, n, 64, 64, weights, context);
                else
                    attend_head(query, keys, h * d_k, values, h * d_v, slots, n, d_k, d_v, weights, context);
            }
        }
}

/* Compute logits_RV from x_RD, the embedded newest token of each hypothesis, `n_hypotheses` per sentence; x is
   overwritten. Their keys and values are written to the slots after `n_slots`, of `capacity` per sentence; `self_mask`
   includes these slots. `scratch` holds, for each row, 2 d_model + h d_v + max(h (2 d_k + d_v), d_ff) floats, plus what
   `attend` or an 8-bit `linear` needs. */
void heed_decode(
    const Decoder *decoder, float *x, const LayerCache *cache, const Mask *self_mask, const Mask *cross_mask,
    long n_sentences, long n_hypotheses, long n_slots, long capacity, long n_source, float *scratch, float *logits) {
    const long rows = n_sentences * n_hypotheses, d = decoder->d_model, d_ff = decoder->d_ff;
    const long keys = decoder->h * decoder->d_k, values = decoder->h * decoder->d_v, qkv_row = 2 * keys + values;
    float *normalized = scratch, *y = normalized + rows * d, *context = y + rows * d, *wide = context + rows * values;
    float *rest = wide + rows * (qkv_row > d_ff ? qkv_row : d_ff);
    for (const Layer *layer = decoder->layers; layer < decoder->layers + decoder->n_layers; layer++, cache++) {
        const float *input = sublayer_input(decoder, x, normalized, layer->self_norm, rows);
        linear(decoder, input, &layer->self_qkv, wide, rows, d, qkv_row, rest);
        for (long b = 0; b < n_sentences; b++)
            for (long i = 0; i < n_hypotheses; i++) {
                const float *qkv = wide + (b * n_hypotheses + i) * qkv_row;
                memcpy(cache->k + (b * capacity + n_slots + i) * keys, qkv + keys, keys * sizeof *qkv);
                memcpy(cache->v + (b * capacity + n_slots + i) * values, qkv + 2 * keys, values * sizeof *qkv);
            }
        attend(
            decoder, wide, qkv_row, cache->k, cache->v, capacity, *self_mask, n_sentences, n_hypotheses,
            n_slots + n_hypotheses, rest, context);
        linear(decoder, context, &layer->self_out, y, rows, values, d, rest);
        add_residual(decoder, x, y, layer->self_norm, rows);

        input = sublayer_input(decoder, x, normalized, layer->cross_norm, rows);
        linear(decoder, input, &layer->cross_q, wide, rows, d, keys, rest);
        attend(
            decoder, wide, keys, cache->source_k, cache->source_v, n_source, *cross_mask, n_sentences, n_hypotheses,
            n_source, rest, context);
        linear(decoder, context, &layer->cross_out, y, rows, values, d, rest);
        add_residual(decoder, x, y, layer->cross_norm, rows);

        input = sublayer_input(decoder, x, normalized, layer->feed_forward_norm, rows);
        linear(decoder, input, &layer->w_1, wide, rows, d, d_ff, rest);
        heed_relu(wide, layer->b_1, rows, d_ff);
        linear(decoder, wide, &layer->w_2, y, rows, d_ff, d, rest);
        for (long r = 0; r < rows; r++)
            for (long c = 0; c < d; c++) y[r * d + c] += layer->b_2[c];
        add_residual(decoder, x, y, layer->feed_forward_norm, rows);
    }
    const float *last = sublayer_input(decoder, x, normalized, decoder->last_norm, rows);
    linear(decoder, last, &decoder->logits, logits, rows, d, decoder->vocab_size, rest);
}
