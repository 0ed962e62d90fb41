/* The best continuations of hypotheses, in one go over the scores of all symbols. */
#include "exponential.h"
#include "highest.h"

enum { GROUPS = 256 };

static int is_among(long one, const long *several, long n) {
    for (long i = 0; i < n; i++)
        if (several[i] == one) return 1;
    return 0;
}

/* Of each of `n_sentences` sentences with `width` hypotheses: the n best sums of what a hypothesis has (`live`) and a
   symbol's log-probability, best first. `never`: symbols that are not offered. What cannot be filled is -inf. */
void heed_best_continuations(
    const float *live, const float *logits, long n_sentences, long width, long vocab_size, const long *never,
    long n_never, long n, float *totals, int64_t *parents, int64_t *symbols) {
    for (long b = 0; b < n_sentences; b++, totals += n, parents += n, symbols += n) {
        for (long i = 0; i < n; i++) totals[i] = -INFINITY, parents[i] = symbols[i] = 0;
        for (long w = 0; w < width; w++) {
            const float *x = logits + (b * width + w) * vocab_size;
            float highest_of[GROUPS], sum = 0;
            const float highest = highest_in_groups(x, vocab_size, highest_of, GROUPS);
            for (long v = 0; v < vocab_size; v++) sum += exponential(x[v] - highest);
            const float start = live[b * width + w] - (highest + logf(sum));

            for (long g = 0; g < GROUPS; g++) {
                if (!(highest_of[g] + start > totals[n - 1])) continue;
                for (long v = g; v < vocab_size; v += GROUPS) {
                    const float total = x[v] + start;
                    if (!(total > totals[n - 1]) || is_among(v, never, n_never)) continue;
                    long place = n - 1;
                    for (; place > 0 && total > totals[place - 1]; place--) {
                        totals[place] = totals[place - 1];
                        parents[place] = parents[place - 1];
                        symbols[place] = symbols[place - 1];
                    }
                    totals[place] = total, parents[place] = w, symbols[place] = v;
                }
            }
        }
    }
}
