// A wall clock that a lab's head has for itself: preloaded into its services, it adds to CLOCK_REALTIME what the
// head's offset file holds, an int64_t of nanoseconds. CLOCK_MONOTONIC and relative waits are the kernel's, as when a
// real clock steps.
//
// It covers what Corosync, knet, libqb, GLib, Pacemaker and tgtd import (nm -D): three ways to read the wall clock and
// two to wait for a moment of it. A wait that is under way when the clock steps ends early, or goes on for longer, as
// the kernel's own would (timers of CLOCK_REALTIME with an absolute time, timer_settime(2)); it is looked at so often:
#define SLICE_NS 100000000L

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000L

// Later than any uptime and earlier than any date: tells a moment of the wall clock from one of CLOCK_MONOTONIC.
#define DATES_BEGIN 1000000000L

static const int64_t *offset_page;
static int (*next_clock_gettime)(clockid_t, struct timespec *);
static int (*next_sem_timedwait)(sem_t *, const struct timespec *);
static int (*next_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void)
{
	next_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	next_sem_timedwait = dlsym(RTLD_NEXT, "sem_timedwait");
	// Without a version the oldest one may be found, which has other condition variables (x86-64).
	next_cond_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
	if (!next_cond_timedwait)
		next_cond_timedwait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	int file = open(OFFSET_FILE, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
	if (page != MAP_FAILED)
		offset_page = page;
	close(file);
}

static int64_t offset(void)
{
	return offset_page ? __atomic_load_n(offset_page, __ATOMIC_RELAXED) : 0;
}

static int kernels(clockid_t clock, struct timespec *now)
{
	// Constructors of other libraries may ask before ours has run.
	return next_clock_gettime ? next_clock_gettime(clock, now) : (int)syscall(SYS_clock_gettime, clock, now);
}

static struct timespec moved(struct timespec at, int64_t ns)
{
	int64_t sum = at.tv_nsec + ns % SECOND;
	at.tv_sec += ns / SECOND + (sum >= SECOND) - (sum < 0);
	at.tv_nsec = sum < 0 ? sum + SECOND : sum % SECOND;
	return at;
}

static int before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int failed = kernels(clock, now);
	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		*now = moved(*now, offset());
	return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec at;
	(void)zone; // Obsolete, and nobody's.
	clock_gettime(CLOCK_REALTIME, &at);
	now->tv_sec = at.tv_sec;
	now->tv_usec = at.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now)
{
	struct timespec at;
	clock_gettime(CLOCK_REALTIME_COARSE, &at);
	if (now)
		*now = at.tv_sec;
	return at.tv_sec;
}

// When to look again, by the kernel's clock, whether it is `until` by ours. False: it is.
static int next_look(const struct timespec *until, struct timespec *look)
{
	struct timespec now, end = moved(*until, -offset());
	kernels(CLOCK_REALTIME, &now);
	*look = moved(now, SLICE_NS);
	if (before(end, *look))
		*look = end;
	return before(now, end);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
	struct timespec look;
	int more, failed;
	do {
		more = next_look(until, &look);
		failed = next_sem_timedwait(semaphore, &look);
	} while (failed && errno == ETIMEDOUT && more);
	return failed;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
			   const struct timespec *restrict until)
{
	struct timespec look;
	int more, error;
	if (until->tv_sec < DATES_BEGIN)
		return next_cond_timedwait(condition, mutex, until);
	do {
		more = next_look(until, &look);
		error = next_cond_timedwait(condition, mutex, &look);
	} while (error == ETIMEDOUT && more);
	return error;
}
