/* Share many jobs, of all sizes, from several threads that ask for the team at once. Print what went wrong. */
#include "team.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CALLERS = 3, CALLS = 60, JOBS = 60, PARTS = 41 };

typedef struct {
    int times[PARTS];
    const int *before; /* what the caller wrote between two jobs */
} Job;

static void part(const void *job, long i) { ((Job *)job)->times[i] += *((const Job *)job)->before; }

static void *call(void *wrong) {
    int one = 0;
    for (int c = 0; c < CALLS; c++) {
        Team *team = heed_team_take(2 + c % 3);
        for (long n = 1; n <= JOBS; n++) {
            Job job = {{0}, &one};
            one = (int)n;
            heed_team_share(team, n % (PARTS + 1), part, &job);
            for (long i = 0; i < PARTS; i++) *(int *)wrong += job.times[i] != (i < n % (PARTS + 1) ? one : 0);
        }
        heed_team_return();
    }
    return 0;
}

int main(void) {
    pthread_t callers[CALLERS];
    int wrong[CALLERS] = {0}, all = 0;
    for (int t = 0; t < CALLERS; t++) pthread_create(callers + t, 0, call, wrong + t);
    for (int t = 0; t < CALLERS; t++) pthread_join(callers[t], 0), all += wrong[t];
    printf("%d parts were not computed exactly once\n", all);
    return all != 0;
}
