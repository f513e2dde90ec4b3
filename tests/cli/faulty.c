/* Fault injection for input and output. Preloaded into a command, this library makes one system call fail, or do less
 * than was requested.
 *
 * FAULT=CALL:N:ACTION: the N-th call of that kind; "N+": this call and all later ones.
 * FAULT_LOG=FILE: gets a line "CALL DESCRIPTOR PATH" for each faulty call. Without FAULT it gets the number of calls of
 * each kind at the end.
 *
 * ACTION is one of three. An error's name: the call fails with this error. SHORT: it handles half of the bytes. SHRINK:
 * a file in the working directory loses its second half before it is read. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#undef open
#undef openat
#undef pread
#undef lseek
#undef fopen
#undef mmap
#undef stat
#undef lstat
#undef fstat

typedef enum call {
    READ,
    PREAD,
    WRITE,
    OPEN,
    CLOSE,
    FSTAT,
    STAT,
    LSEEK,
    RENAME,
    POLL,
    THREAD,
    FOPEN,
    MMAP,
    CALLS
} call;
enum { NOTHING = 0, SHORT = -1, SHRINK = -2 };

static const char *const names[CALLS] = {"read",  "pread",  "write", "open",   "close", "fstat", "stat",
                                         "lseek", "rename", "poll",  "thread", "fopen", "mmap"};
static _Atomic long counts[CALLS];
static call fault_call = CALLS;
static long fault_number;
static int fault_persists, action;

static void log_fault(const char *text, const char *path)
{
    char line[5000];
    const char *log = getenv("FAULT_LOG");
    const int n = snprintf(line, sizeof line, "%s %s\n", text, path);
    const long fd = log ? syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (fd >= 0 && syscall(SYS_write, fd, line, n) < 0) abort();
    if (fd >= 0) syscall(SYS_close, fd);
}

static int action_named(const char *name)
{
    static const struct {
        const char *name;
        int action;
    } known[] = {{"EIO", EIO},       {"EINTR", EINTR},   {"EAGAIN", EAGAIN}, {"ENOSPC", ENOSPC}, {"EACCES", EACCES},
                 {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}, {"SHORT", SHORT},   {"SHRINK", SHRINK}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].action;
    abort();
}

__attribute__((constructor)) static void begin(void)
{
    char kind[20], name[20], plus = 0;
    const char *text = getenv("FAULT");
    if (!text || sscanf(text, "%19[a-z]:%ld%c", kind, &fault_number, &plus) < 2) return;
    fault_persists = plus == '+';
    snprintf(name, sizeof name, "%s", strrchr(text, ':') + 1);
    action = action_named(name);
    for (fault_call = 0; fault_call < CALLS && strcmp(names[fault_call], kind) != 0;) fault_call++;
    if (fault_call == CALLS) abort();
}

__attribute__((destructor)) static void end(void)
{
    if (getenv("FAULT")) return;
    for (int i = 0; i < CALLS; i++) {
        char number[30];
        snprintf(number, sizeof number, "%ld", counts[i]);
        log_fault(names[i], number);
    }
}

/* Cut a file to half of its size, if it is in the working directory. */
static void shrink(const char *path)
{
    char cwd[4096];
    struct stat info;
    const size_t length = getcwd(cwd, sizeof cwd) ? strlen(cwd) : 0;
    if (length < 2 || strncmp(path, cwd, length) != 0 || path[length] != '/') return;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY, 0);
    if (fd < 0 || fstatat(fd, "", &info, AT_EMPTY_PATH) != 0 || ftruncate(fd, info.st_size / 2) != 0) abort();
    syscall(SYS_close, fd);
}

/* Return the action for this call: an error's number, SHORT, SHRINK, or NOTHING. */
static int fault(call which, const char *path, int fd)
{
    char target[4096] = "", link[40];
    const long number = ++counts[which];
    if (which != fault_call || (fault_persists ? number < fault_number : number != fault_number)) return NOTHING;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (!path && syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof target - 1) < 0) target[0] = '\0';
    char described[4200];
    snprintf(described, sizeof described, "%d %s", fd, path ? path : target);
    log_fault(names[which], described);
    if (action == SHRINK) shrink(target);
    return action;
}

#define NEXT(result, name, ...)         \
    static result (*next)(__VA_ARGS__); \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name)

/* Fail with the action's error number, if this call is the chosen one. */
#define FAIL(which, path, fd, failed)        \
    const int what = fault(which, path, fd); \
    if (what > 0) {                          \
        errno = what;                        \
        return failed;                       \
    }

#define LESS(n) (what == SHORT && (n) > 1 ? (n) / 2 : (n))

ssize_t read(int fd, void *to, size_t n)
{
    FAIL(READ, NULL, fd, -1)
    return syscall(SYS_read, fd, to, LESS(n));
}

ssize_t pread(int fd, void *to, size_t n, off_t offset)
{
    FAIL(PREAD, NULL, fd, -1)
    return syscall(SYS_pread64, fd, to, LESS(n), offset);
}

ssize_t pread64(int fd, void *to, size_t n, off64_t offset)
{
    return pread(fd, to, n, offset);
}

ssize_t write(int fd, const void *from, size_t n)
{
    FAIL(WRITE, NULL, fd, -1)
    return syscall(SYS_write, fd, from, LESS(n));
}

int close(int fd)
{
    FAIL(CLOSE, NULL, fd, (syscall(SYS_close, fd), errno = what, -1))
    return (int)syscall(SYS_close, fd);
}

static mode_t open_mode(int flags, va_list rest)
{
    return flags & O_CREAT ? va_arg(rest, mode_t) : 0;
}

#define OPEN_IN(folder)                         \
    va_list rest;                               \
    va_start(rest, flags);                      \
    const mode_t mode = open_mode(flags, rest); \
    va_end(rest);                               \
    FAIL(OPEN, path, -1, -1)                    \
    return (int)syscall(SYS_openat, folder, path, flags, mode)

int open(const char *path, int flags, ...)
{
    OPEN_IN(AT_FDCWD);
}

int open64(const char *path, int flags, ...)
{
    OPEN_IN(AT_FDCWD);
}

int openat(int folder, const char *path, int flags, ...)
{
    OPEN_IN(folder);
}

int openat64(int folder, const char *path, int flags, ...)
{
    OPEN_IN(folder);
}

#define STAT_LIKE(name, type, which, path, fd, first, argument) \
    int name(first, struct type *out)                           \
    {                                                           \
        NEXT(int, name, first, struct type *);                  \
        FAIL(which, path, fd, -1)                               \
        return next(argument, out);                             \
    }

STAT_LIKE(fstat, stat, FSTAT, NULL, fd, int fd, fd)
STAT_LIKE(fstat64, stat64, FSTAT, NULL, fd, int fd, fd)
STAT_LIKE(stat, stat, STAT, path, -1, const char *path, path)
STAT_LIKE(stat64, stat64, STAT, path, -1, const char *path, path)
STAT_LIKE(lstat, stat, STAT, path, -1, const char *path, path)
STAT_LIKE(lstat64, stat64, STAT, path, -1, const char *path, path)

off_t lseek(int fd, off_t to, int from)
{
    FAIL(LSEEK, NULL, fd, -1)
    return syscall(SYS_lseek, fd, to, from);
}

off64_t lseek64(int fd, off64_t to, int from)
{
    return lseek(fd, to, from);
}

int rename(const char *from, const char *to)
{
    FAIL(RENAME, to, -1, -1)
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int ppoll(struct pollfd *wanted, nfds_t n, const struct timespec *limit, const sigset_t *mask)
{
    NEXT(int, ppoll, struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    FAIL(POLL, NULL, wanted->fd, -1)
    return next(wanted, n, limit, mask);
}

int poll(struct pollfd *wanted, nfds_t n, int limit)
{
    NEXT(int, poll, struct pollfd *, nfds_t, int);
    FAIL(POLL, NULL, wanted->fd, -1)
    return next(wanted, n, limit);
}

int pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*start)(void *), void *user)
{
    NEXT(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    FAIL(THREAD, "thread", -1, what)
    return next(out, attributes, start, user);
}

FILE *fopen(const char *path, const char *mode)
{
    NEXT(FILE *, fopen, const char *, const char *);
    FAIL(FOPEN, path, -1, NULL)
    return next(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    NEXT(FILE *, fopen64, const char *, const char *);
    FAIL(FOPEN, path, -1, NULL)
    return next(path, mode);
}

void *mmap(void *where, size_t n, int protection, int flags, int fd, off_t offset)
{
    NEXT(void *, mmap, void *, size_t, int, int, int, off_t);
    if (fd >= 0) {
        FAIL(MMAP, NULL, fd, MAP_FAILED)
    }
    return next(where, n, protection, flags, fd, offset);
}
