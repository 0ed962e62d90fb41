/* The unnormalised softmax of the loss, in place. */
#include "exponential.h"
#include "highest.h"

enum { CHUNK = 1024, GROUPS = 64 };

/* Overwrite each row of logits_nV with exp(logit - highest of the row), and subtract `share` times the row's sum at the
   gold token: the gradient of the loss, times that sum. Also write each row's sum, the logarithm of its softmax
   denominator, and its gold logit. */
void heed_softmax_less_gold(
    float *x, const int64_t *gold, float *sums, float *normalizers, float *gold_logits, long rows, long vocab_size,
    float share) {
    for (long r = 0; r < rows; r++, x += vocab_size) {
        float highest_of[GROUPS], sum = 0;
        const float highest = highest_in_groups(x, vocab_size, highest_of, GROUPS);
        gold_logits[r] = x[gold[r]];
        for (long begin = 0; begin < vocab_size; begin += CHUNK) {
            const long end = begin + CHUNK < vocab_size ? begin + CHUNK : vocab_size;
            float chunk = 0; /* one long sum of similar numbers would lose digits; a sum of sums does not */
            for (long v = begin; v < end; v++) {
                x[v] = exponential(x[v] - highest);
                chunk += x[v];
            }
            sum += chunk;
        }
        sums[r] = sum;
        normalizers[r] = highest + logf(sum);
        x[gold[r]] -= share * sum;
    }
}
