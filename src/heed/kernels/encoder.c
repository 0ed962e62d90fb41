/* The encoder of the Transformer: all layers in one call, for sentences without padding. `Transformer.encode`
   (model/transformer.py) computes the same in PyTorch. */
#include "sublayers.h"
#include "varlen.h"
#include <string.h>

typedef struct {
    Weight self_qkv, self_out;
    FeedForward feed_forward;
    Norm self_norm, feed_forward_norm;
} Layer;

typedef struct {
    Stack stack;
    const Layer *layers;
    const Weight *cross_kv; /* of each decoder layer: the keys and values of its cross-attention */
    long n_cross;
} Encoder;

/* Write the weights of each head with a row for each query; return the end of what is written. */
static float *write_transposed(const float *weights, long h, long n, float *out) {
    const long width = width_of(n);
    for (long head = 0; head < h; head++, weights += n * width)
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++) *out++ = weights[j * width + i];
    return out;
}

/* Encode x_ND, the embedded positions of all sentences, end to end; x is overwritten. The keys and values that each
   decoder layer attends to are written to `outputs`, in `longest` slots for each sentence; those after its end are left
   as they are. `captured` is null; or, for a single sentence, it gets the attention weights of each layer and head, a
   row for each query. `weights` holds, of the longest sentence, its length times its width (varlen.h); with `captured`, that for
   each head. `scratch` holds, for each row, 2 d_model + h d_v + max(h (2 d_k + d_v), d_ff) floats, plus what
   `heed_varlen` or `linear` needs. Up to `n_threads` threads share the products. */
void heed_encode(
    const Encoder *encoder, float *x, const long *lengths, long n_sentences, long longest, const KeysValues *outputs,
    float *weights, float *captured, float *scratch, long n_threads) {
    const Stack *stack = &encoder->stack;
    Team *team = heed_team_take(n_threads);
    const long d = stack->d_model, keys = stack->h * stack->d_k, values = stack->h * stack->d_v;
    const long qkv_row = 2 * keys + values, kv_row = keys + values;
    long rows = 0;
    for (long b = 0; b < n_sentences; b++) rows += lengths[b];
    float *normalized = scratch, *y = normalized + rows * d, *context = y + rows * d, *wide = context + rows * values;
    float *rest = wide + rows * (qkv_row > stack->d_ff ? qkv_row : stack->d_ff);
    const Sentences sentences = {lengths, lengths, n_sentences, 0, stack->h, stack->d_k, stack->d_v};
    for (const Layer *layer = encoder->layers; layer < encoder->layers + stack->n_layers; layer++) {
        const float *input = sublayer_input(stack, x, normalized, layer->self_norm, rows);
        linear(stack, team, input, &layer->self_qkv, wide, rows, d, qkv_row, rest);
        heed_varlen(
            wide, stack->d_k, qkv_row, wide + keys, stack->d_k, qkv_row, wide + 2 * keys, stack->d_v, qkv_row, context,
            stack->d_v, values, &sentences, weights, captured != 0, rest);
        if (captured) captured = write_transposed(weights, stack->h, longest, captured);
        linear(stack, team, context, &layer->self_out, y, rows, values, d, rest);
        add_residual(stack, x, y, layer->self_norm, rows);
        feed_forward(stack, team, x, &layer->feed_forward, layer->feed_forward_norm, rows, normalized, y, wide, rest);
    }
    const float *last = sublayer_input(stack, x, normalized, stack->last_norm, rows);
    for (long layer = 0; layer < encoder->n_cross; layer++) {
        linear(stack, team, last, encoder->cross_kv + layer, wide, rows, d, kv_row, rest);
        const float *row = wide;
        for (long b = 0; b < n_sentences; b++)
            for (long i = 0; i < lengths[b]; i++, row += kv_row) {
                const long at = b * longest + i;
                memcpy(outputs[layer].k + at * keys, row, keys * sizeof *row);
                memcpy(outputs[layer].v + at * values, row + keys, values * sizeof *row);
            }
    }
    heed_team_return();
}
