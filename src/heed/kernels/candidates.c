/* The best continuations of hypotheses: softmax and top-n fused. */
#include "exponential.h"
#include "highest.h"

enum { GROUPS = 256 };

static int contains(const long *tokens, long n, long token) {
    for (long i = 0; i < n; i++)
        if (tokens[i] == token) return 1;
    return 0;
}

/* For each of `n_sentences` sentences with `width` hypotheses, find the n highest totals, best first. A total is the
   log-probability of a hypothesis (`live`) plus that of a token. Tokens in `never` are skipped. With fewer than n
   continuations, the remaining totals are -inf. */
void heed_best_continuations(
    const float *live, const float *logits, long n_sentences, long width, long vocab_size, const long *never,
    long n_never, long n, float *totals, int64_t *parents, int64_t *tokens) {
    for (long b = 0; b < n_sentences; b++, totals += n, parents += n, tokens += n) {
        for (long i = 0; i < n; i++) totals[i] = -INFINITY, parents[i] = tokens[i] = 0;
        for (long w = 0; w < width; w++) {
            const float *x = logits + (b * width + w) * vocab_size;
            float highest_of[GROUPS], sum = 0;
            const float highest = highest_in_groups(x, vocab_size, highest_of, GROUPS);
            for (long v = 0; v < vocab_size; v++) sum += exponential(x[v] - highest);
            /* x[v] + start is the total of token v. */
            const float start = live[b * width + w] - (highest + logf(sum));

            for (long g = 0; g < GROUPS; g++) {
                if (!(highest_of[g] + start > totals[n - 1])) continue;
                for (long v = g; v < vocab_size; v += GROUPS) {
                    const float total = x[v] + start;
                    if (!(total > totals[n - 1]) || contains(never, n_never, v)) continue;
                    long rank = n - 1;
                    for (; rank > 0 && total > totals[rank - 1]; rank--) {
                        totals[rank] = totals[rank - 1];
                        parents[rank] = parents[rank - 1];
                        tokens[rank] = tokens[rank - 1];
                    }
                    totals[rank] = total, parents[rank] = w, tokens[rank] = v;
                }
            }
        }
    }
}
