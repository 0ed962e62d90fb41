/* A team of threads that share one product after another: for a lone sentence, while no other batch keeps the cores. */
#pragma once

typedef struct Team Team;

/* Take the team, with up to `n_threads` threads, of which the caller is one. Null, and the caller computes alone, if
   `n_threads` is 1 or another thread is between these two calls. Even then, it must be returned. */
Team *heed_team_take(long n_threads);
void heed_team_return(void);

/* Call part(job, i) for each i below n, in any order, by any thread of the team; without a team, by this one. */
void heed_team_share(Team *team, long n, void (*part)(const void *job, long i), const void *job);
