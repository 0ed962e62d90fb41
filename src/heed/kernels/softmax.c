/* The softmax of the loss, without its division, in the place of the logits. */
#include "exponential.h"
#include "highest.h"

enum { PIECE = 1024, GROUPS = 64 };

/* Each row of logits_nV becomes exp(logit - highest of the row), with the sum of the row; the gold symbol's logit and
   the logarithm of the softmax's denominator are kept. Then `share` of the sum is taken off at the gold symbol: the
   row is then the gradient of the loss times that sum. */
void heed_softmax_less_gold(
    float *x, const int64_t *gold, float *sums, float *normalizers, float *gold_logits, long rows, long vocab_size,
    float share) {
    for (long r = 0; r < rows; r++, x += vocab_size) {
        float highest_of[GROUPS], sum = 0;
        const float highest = highest_in_groups(x, vocab_size, highest_of, GROUPS);
        gold_logits[r] = x[gold[r]];
        for (long begin = 0; begin < vocab_size; begin += PIECE) {
            const long end = begin + PIECE < vocab_size ? begin + PIECE : vocab_size;
            float piece = 0; /* long sums of alike numbers lose digits, sums of sums do not */
            for (long v = begin; v < end; v++) {
                x[v] = exponential(x[v] - highest);
                piece += x[v];
            }
            sum += piece;
        }
        sums[r] = sum;
        normalizers[r] = highest + logf(sum);
        x[gold[r]] -= share * sum;
    }
}
