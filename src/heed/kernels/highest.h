/* The maximum of many numbers, vectorised over groups: group g is numbers g, g + n_groups, g + 2 n_groups, ... */
#pragma once
#include <math.h>

/* Write the maximum of each group to `highest_of`; return the maximum of all. `n_groups` should be a constant. */
static inline __attribute__((always_inline)) float highest_in_groups(
    const float *x, long n, float *highest_of, long n_groups) {
    float highest = -INFINITY;
    for (long g = 0; g < n_groups; g++) highest_of[g] = -INFINITY;
    long begin = 0;
    for (; begin + n_groups <= n; begin += n_groups)
        for (long g = 0; g < n_groups; g++)
            highest_of[g] = x[begin + g] > highest_of[g] ? x[begin + g] : highest_of[g];
    for (long g = 0; g < n - begin; g++) highest_of[g] = x[begin + g] > highest_of[g] ? x[begin + g] : highest_of[g];
    for (long g = 0; g < n_groups; g++) highest = highest_of[g] > highest ? highest_of[g] : highest;
    return highest;
}
