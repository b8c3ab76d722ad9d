/* A wall clock that can be set, for one process: preloaded, it adds to the time the nanoseconds in the first 8 bytes of
   the file named by LOADCTL_CHAOS_CLOCK. The monotonic clock stays as it is, as where somebody sets the date. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset;

__attribute__((constructor)) static void begin(void) {
	const char *name = getenv("LOADCTL_CHAOS_CLOCK");
	int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (file < 0) abort();
	void *page = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
	if (page == MAP_FAILED) abort();
	offset = page;
	close(file);
}

int clock_gettime(clockid_t id, struct timespec *t) {
	long failed = syscall(SYS_clock_gettime, id, t);
	if (failed || !offset || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
	int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec + *offset;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	struct timespec now;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
	if (t) *t = now.tv_sec;
	return now.tv_sec;
}
