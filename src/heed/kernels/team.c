/* A team of threads that share one product after another. Products follow each other within microseconds, so its
   workers wait for the next one awake; if none comes, they sleep.

   Each thread has a share of a job's parts, the same in every step of a search, so that its weights stay in its core's
   cache. Who is done takes parts from the others' shares. So a job never waits for a worker that sleeps, or that other
   programs keep from running: only for parts that a worker has begun. */
#define _POSIX_C_SOURCE 200809L
#include "team.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum {
    MOST = 4, /* threads: few read memory as fast as it goes, and a container may have less time than it sees cores */
    LINE = 64, /* bytes: what threads write is a cache line apart */
    AWAKE = 300 * 1000, /* nanoseconds that a worker waits awake: longer than search takes between two steps */
    SPINS = 64, /* between two looks at the clock */
};

typedef struct {
    _Alignas(LINE) atomic_long left; /* parts that no thread has taken: the last ones */
    long end; /* of the parts */
} Share;

struct Team {
    Share shares[MOST];
    /* The job. Only who has taken a part may read these, and `end`: until that part is done, there is no other job. */
    void (*part)(const void *, long);
    const void *job;
    atomic_long n_shares;
    _Alignas(LINE) atomic_long n_done;
    _Alignas(LINE) atomic_ulong number; /* of the newest job */
    atomic_long n_asleep; /* workers that wait for a job: those that wait for a share are not woken for it */
    long n_workers;
    int is_full; /* the system has refused another worker */
};

static Team team;
static _Alignas(LINE) atomic_long n_calls; /* under way, with or without the team */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_new = PTHREAD_COND_INITIALIZER, has_more_shares = PTHREAD_COND_INITIALIZER;

/* --- computing ------------------------------------------------------------------------------------------------ */

static void relax(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Compute parts until none is left to take, first those of the own share. */
static void compute(long own) {
    const long n_shares = atomic_load(&team.n_shares);
    long n_done = 0;
    for (long i = 0; i < n_shares; i++) {
        Share *share = team.shares + (own + i) % n_shares;
        long left = atomic_load(&share->left);
        while (left) {
            if (!atomic_compare_exchange_weak(&share->left, &left, left - 1)) continue;
            team.part(team.job, share->end - left);
            n_done++;
            left = atomic_load(&share->left);
        }
    }
    if (n_done) atomic_fetch_add(&team.n_done, n_done);
}

static void share_parts(long n) {
    const long n_shares = atomic_load(&team.n_shares);
    atomic_store(&team.n_done, 0);
    for (long s = 0; s < n_shares; s++) {
        const long begin = n * s / n_shares, end = n * (s + 1) / n_shares;
        team.shares[s].end = end;
        atomic_store(&team.shares[s].left, end - begin);
    }
    atomic_fetch_add(&team.number, 1);
    if (atomic_load(&team.n_asleep)) {
        pthread_mutex_lock(&mutex);
        pthread_cond_broadcast(&is_new);
        pthread_mutex_unlock(&mutex);
    }
    compute(0);
    for (long i = 1; atomic_load(&team.n_done) < n; i++) {
        relax();
        if (i % (16 * SPINS) == 0) sched_yield(); /* perhaps to the worker that has begun a part */
    }
}

void heed_team_share(Team *with, long n, void (*part)(const void *job, long i), const void *job) {
    if (!with || n < 2) {
        for (long i = 0; i < n; i++) part(job, i);
        return;
    }
    with->part = part;
    with->job = job;
    share_parts(n);
}

/* --- workers -------------------------------------------------------------------------------------------------- */

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Wait for a job after `seen`, awake and then asleep, and return its number. */
static unsigned long next_job(unsigned long seen) {
    const int64_t end = now() + AWAKE;
    do {
        for (int i = 0; i < SPINS; i++) {
            const unsigned long number = atomic_load(&team.number);
            if (number != seen) return number;
            relax();
        }
    } while (now() < end);
    pthread_mutex_lock(&mutex);
    atomic_fetch_add(&team.n_asleep, 1); /* before the number is read: who changes it then sees the sleeper, or this */
    while (atomic_load(&team.number) == seen) pthread_cond_wait(&is_new, &mutex);
    atomic_fetch_sub(&team.n_asleep, 1);
    pthread_mutex_unlock(&mutex);
    return atomic_load(&team.number);
}

/* Wait, asleep, until there are as many shares as the worker with this one needs. */
static void wait_for_share(long own) {
    pthread_mutex_lock(&mutex);
    while (own >= atomic_load(&team.n_shares)) pthread_cond_wait(&has_more_shares, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void *work(void *share) {
    const long own = (long)(intptr_t)share;
    unsigned long seen = 0;
    for (;;) {
        seen = next_job(seen);
        if (own < atomic_load(&team.n_shares))
            compute(own);
        else
            wait_for_share(own);
    }
    return 0; /* never */
}

/* Start workers until there are `wanted`, or as many as the system allows. */
static void start_workers(long wanted) {
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    sigset_t others, before;
    sigfillset(&others); /* signals are for Python's threads, except those of a thread's own crash */
    for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++) sigdelset(&others, crashes[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    for (; team.n_workers < wanted; team.n_workers++) {
        pthread_t thread;
        team.is_full = pthread_create(&thread, 0, work, (void *)(intptr_t)(team.n_workers + 1)) != 0;
        if (team.is_full) break;
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, 0);
}

/* A child of fork has no workers, and no other call is under way in it. Nor is a job: its parts would be computed with
   what another thread of the parent had on its stack. */
static void forget(void) {
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t unused = PTHREAD_COND_INITIALIZER;
    memset(&team, 0, sizeof team);
    atomic_store(&n_calls, 0);
    mutex = unlocked;
    is_new = has_more_shares = unused;
}

static void forget_in_children(void) { pthread_atfork(0, 0, forget); }

/* --- taking the team ------------------------------------------------------------------------------------------ */

Team *heed_team_take(long n_threads) {
    pthread_once(&once, forget_in_children);
    if (atomic_fetch_add(&n_calls, 1) || n_threads < 2) return 0;
    if (n_threads > MOST) n_threads = MOST;
    if (team.n_workers < n_threads - 1 && !team.is_full) start_workers(n_threads - 1);
    const long n_shares = team.n_workers + 1 < n_threads ? team.n_workers + 1 : n_threads;
    if (atomic_exchange(&team.n_shares, n_shares) < n_shares) {
        pthread_mutex_lock(&mutex);
        pthread_cond_broadcast(&has_more_shares);
        pthread_mutex_unlock(&mutex);
    }
    return n_shares > 1 ? &team : 0;
}

void heed_team_return(void) { atomic_fetch_sub(&n_calls, 1); }
