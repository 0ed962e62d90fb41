/* The softmax of the loss, without its division, in the place of the logits. */
#include "exponential.h"

enum { PIECE = 1024, GROUPS = 64 }; /* the highest of symbols g, g + 64, g + 128, ... are found side by side */

/* Each row of logits_nV becomes exp(logit - highest of the row), with the sum of the row; the gold symbol's logit and
   the logarithm of the softmax's denominator are kept. Then `share` of the sum is taken off at the gold symbol: the
   row is then the gradient of the loss times that sum. */
void heed_softmax_less_gold(
    float *x, const int64_t *gold, float *sums, float *normalizers, float *gold_logits, long rows, long vocab_size,
    float share) {
    for (long r = 0; r < rows; r++, x += vocab_size) {
        float highest_of[GROUPS], highest = -INFINITY, sum = 0;
        for (long g = 0; g < GROUPS; g++) highest_of[g] = -INFINITY;
        long begin = 0;
        for (; begin + GROUPS <= vocab_size; begin += GROUPS)
            for (long g = 0; g < GROUPS; g++)
                highest_of[g] = x[begin + g] > highest_of[g] ? x[begin + g] : highest_of[g];
        for (long g = 0; g < vocab_size - begin; g++)
            highest_of[g] = x[begin + g] > highest_of[g] ? x[begin + g] : highest_of[g];
        for (long g = 0; g < GROUPS; g++) highest = highest_of[g] > highest ? highest_of[g] : highest;
        gold_logits[r] = x[gold[r]];
        for (begin = 0; begin < vocab_size; begin += PIECE) {
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
