/* The softmax of the consistency loss: of two views of the same tokens, in place. */
#include "exponential.h"
#include "highest.h"

enum { CHUNK = 1024, GROUPS = 64 }; /* one long sum of similar numbers would lose digits; a sum of sums does not */

/* Subtract a row's highest logit from it. Return the logarithm of the softmax denominator that it has then, and write
   its sum. Unlike logits far from 0, their differences keep the digits that the divergence needs. */
static float normalizer_of(float *x, long vocab_size, float *sum_of_logits) {
    float highest_of[GROUPS], sum = 0, all = 0;
    const float highest = highest_in_groups(x, vocab_size, highest_of, GROUPS);
    for (long begin = 0; begin < vocab_size; begin += CHUNK) {
        const long end = begin + CHUNK < vocab_size ? begin + CHUNK : vocab_size;
        float chunk = 0, chunk_of_logits = 0;
        for (long v = begin; v < end; v++) {
            x[v] -= highest;
            chunk += exponential(x[v]);
            chunk_of_logits += x[v];
        }
        sum += chunk;
        all += chunk_of_logits;
    }
    *sum_of_logits = all;
    return logf(sum);
}

/* Overwrite the logits a_nV and b_nV of two views with twice the gradient of the loss, for predictions p and r:

     a: (1 + c (log p - log r - KL(p|r))) p + c (p - r) - q        b: the same with p and r exchanged

   where q is `rest` for each token, and `share` more for the gold one. Also write each row's log p and log r of the gold
   token, the sum of log p + log r over all tokens, and KL(p|r) + KL(r|p). `ratio` is scratch of one row. */
void heed_two_views(
    float *a, float *b, const int64_t *gold, float *ratio, float *gold_p, float *gold_r, float *all, float *divergence,
    long rows, long vocab_size, float share, float rest, float c) {
    for (long n = 0; n < rows; n++, a += vocab_size, b += vocab_size) {
        float sum_a, sum_b, kl_pr = 0, kl_rp = 0;
        const float log_a = normalizer_of(a, vocab_size, &sum_a), log_b = normalizer_of(b, vocab_size, &sum_b);
        gold_p[n] = a[gold[n]] - log_a;
        gold_r[n] = b[gold[n]] - log_b;
        all[n] = sum_a - vocab_size * log_a + (sum_b - vocab_size * log_b);
        for (long begin = 0; begin < vocab_size; begin += CHUNK) {
            const long end = begin + CHUNK < vocab_size ? begin + CHUNK : vocab_size;
            float chunk_pr = 0, chunk_rp = 0;
            for (long v = begin; v < end; v++) {
                const float log_p = a[v] - log_a, log_r = b[v] - log_b;
                ratio[v] = log_p - log_r;
                a[v] = exponential(log_p);
                b[v] = exponential(log_r);
                chunk_pr += a[v] * ratio[v];
                chunk_rp -= b[v] * ratio[v];
            }
            kl_pr += chunk_pr;
            kl_rp += chunk_rp;
        }
        divergence[n] = kl_pr + kl_rp;
        for (long v = 0; v < vocab_size; v++) {
            const float p = a[v], r = b[v], difference = c * (p - r);
            a[v] = (1 + c * (ratio[v] - kl_pr)) * p + difference - rest;
            b[v] = (1 - c * (ratio[v] + kl_rp)) * r - difference - rest;
        }
        a[gold[n]] -= share;
        b[gold[n]] -= share;
    }
}
