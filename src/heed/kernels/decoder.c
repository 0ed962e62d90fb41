/* One decoding step of the Transformer: all decoder layers in one call. `Transformer.step` (model/transformer.py)
   computes the same in PyTorch. */
#include "exponential.h"
#include "sublayers.h"
#include "vector_width.h"

typedef float Vector __attribute__((vector_size(VECTOR_WIDTH * sizeof(float))));

static inline Vector load(const float *x) {
    Vector loaded;
    memcpy(&loaded, x, sizeof loaded);
    return loaded;
}

typedef struct {
    Weight self_qkv, self_out, cross_q, cross_out;
    FeedForward feed_forward;
    Norm self_norm, cross_norm, feed_forward_norm;
} Layer;

typedef struct {
    Stack stack;
    const Layer *layers;
    Weight logits;
    long vocab_size;
} Decoder;

typedef struct { /* 0 where a slot is visible, else -inf; null if all are */
    const float *values;
    long sentence_stride, query_stride;
} Mask;

/* Attention of one head of one query over `n` slots. `weights` holds n floats, rounded up to full vectors; `captured`,
   if it is not null, gets the weights. */
static inline __attribute__((always_inline)) void attend_head(
    const float *q, const float *k, long k_row, const float *v, long v_row, const int32_t *slots, long n, long d_k,
    long d_v, float *weights, float *captured, float *out) {
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
    if (captured)
        for (long j = 0; j < n; j++) captured[j] = weights[j] / sum;
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

/* Scaled dot-product attention of the queries of each sentence over the slots visible to them. `scratch` holds two
   floats per slot and VECTOR_WIDTH more. `captured` is null, or gets the weights of each head of a single query. */
static void attend(
    const Stack *stack, const float *q, long q_row, const float *k, const float *v, long capacity, Mask mask,
    long n_sentences, long n_queries, long n_slots, float *scratch, float *captured, float *out) {
    const long h = stack->h, d_k = stack->d_k, d_v = stack->d_v;
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
                float *kept = captured ? captured + head * n_slots : 0;
                if (d_k == 32 && d_v == 32) /* constants for the usual sizes, for the optimizer */
                    attend_head(query, keys, h * 32, values, h * 32, slots, n, 32, 32, weights, kept, context);
                else if (d_k == 64 && d_v == 64)
                    attend_head(query, keys, h * 64, values, h * 64, slots, n, 64, 64, weights, kept, context);
                else
                    attend_head(query, keys, h * d_k, values, h * d_v, slots, n, d_k, d_v, weights, kept, context);
            }
        }
}

/* Compute logits_RV from x_RD, the embedded newest token of each hypothesis, `n_hypotheses` per sentence; x is
   overwritten. Their keys and values are written to the slots after `n_slots`, of `capacity` per sentence; `self_mask`
   includes these slots. `scratch` holds, for each row, 2 d_model + h d_v + max(h (2 d_k + d_v), d_ff) floats, plus what
   `attend` or `linear` needs. `self_weights` and `cross_weights` are null; or, for a single hypothesis of a single
   sentence without masks, they get the attention weights of each layer and head over all slots. Up to `n_threads`
   threads share the products. */
void heed_decode(
    const Decoder *decoder, float *x, const KeysValues *cache, const KeysValues *source, const Mask *self_mask,
    const Mask *cross_mask, long n_sentences, long n_hypotheses, long n_slots, long capacity, long n_source,
    float *scratch, float *logits, float *self_weights, float *cross_weights, long n_threads) {
    const Stack *stack = &decoder->stack;
    Team *team = heed_team_take(n_threads);
    const long rows = n_sentences * n_hypotheses, d = stack->d_model, n_visible = n_slots + n_hypotheses;
    const long keys = stack->h * stack->d_k, values = stack->h * stack->d_v, qkv_row = 2 * keys + values;
    float *normalized = scratch, *y = normalized + rows * d, *context = y + rows * d, *wide = context + rows * values;
    float *rest = wide + rows * (qkv_row > stack->d_ff ? qkv_row : stack->d_ff);
    for (const Layer *layer = decoder->layers; layer < decoder->layers + stack->n_layers; layer++, cache++, source++) {
        const float *input = sublayer_input(stack, x, normalized, layer->self_norm, rows);
        linear(stack, team, input, &layer->self_qkv, wide, rows, d, qkv_row, rest);
        for (long b = 0; b < n_sentences; b++)
            for (long i = 0; i < n_hypotheses; i++) {
                const float *qkv = wide + (b * n_hypotheses + i) * qkv_row;
                memcpy(cache->k + (b * capacity + n_slots + i) * keys, qkv + keys, keys * sizeof *qkv);
                memcpy(cache->v + (b * capacity + n_slots + i) * values, qkv + 2 * keys, values * sizeof *qkv);
            }
        attend(
            stack, wide, qkv_row, cache->k, cache->v, capacity, *self_mask, n_sentences, n_hypotheses, n_visible, rest,
            self_weights, context);
        linear(stack, team, context, &layer->self_out, y, rows, values, d, rest);
        add_residual(stack, x, y, layer->self_norm, rows);

        input = sublayer_input(stack, x, normalized, layer->cross_norm, rows);
        linear(stack, team, input, &layer->cross_q, wide, rows, d, keys, rest);
        attend(
            stack, wide, keys, source->k, source->v, n_source, *cross_mask, n_sentences, n_hypotheses,
            n_source, rest, cross_weights, context);
        linear(stack, team, context, &layer->cross_out, y, rows, values, d, rest);
        add_residual(stack, x, y, layer->cross_norm, rows);

        feed_forward(stack, team, x, &layer->feed_forward, layer->feed_forward_norm, rows, normalized, y, wide, rest);
        if (self_weights) self_weights += stack->h * n_visible;
        if (cross_weights) cross_weights += stack->h * n_source;
    }
    const float *last = sublayer_input(stack, x, normalized, stack->last_norm, rows);
    linear(stack, team, last, &decoder->logits, logits, rows, d, decoder->vocab_size, rest);
    heed_team_return();
}
