/* Number of processors for this process: its affinity mask, and the quotas of its cgroup and all enclosing ones.
 *
 * A quota is processor time per period: `cpu.max` (version 2), or `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1). */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "rill/workers.h"

enum { PATH_BYTES = 4096 };

/* Number of processors that a quota amounts to, rounded up; 0: no quota. */
static int32_t whole_processors(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return 0;
    long long processors = (quota - 1) / period + 1;
    return processors < INT32_MAX ? (int32_t)processors : 0;
}

static int32_t quota_v2(const char *group)
{
    char path[PATH_BYTES + 32], line[128];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", group);
    return rill__read_start(path, line, sizeof line) && sscanf(line, "%lld %lld", &quota, &period) == 2
               ? whole_processors(quota, period)
               : 0;
}

static int32_t quota_v1(const char *group)
{
    char path[PATH_BYTES + 32], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", group);
    if (!rill__read_start(path, quota, sizeof quota)) return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", group);
    return rill__read_start(path, period, sizeof period) ? whole_processors(atoll(quota), atoll(period)) : 0;
}

/* Returns the smallest quota, in processors, of the group `mount` + `path` and its enclosing groups; 0: none. */
static int32_t min_quota(const char *mount, const char *path, int32_t (*quota_fn)(const char *group))
{
    char group[PATH_BYTES];
    size_t root = strlen(mount);
    int32_t smallest = 0;
    if (snprintf(group, sizeof group, "%s%s", mount, path) >= (int)sizeof group) return 0;
    for (;;) {
        int32_t quota = quota_fn(group);
        if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
        char *slash = strrchr(group, '/');
        if (slash == NULL || (size_t)(slash - group) < root) return smallest;
        *slash = '\0';
    }
}

/* Return 1 if a comma-separated list of cgroup controllers, such as "cpu,cpuacct", contains "cpu", else 0. */
static int lists_cpu(const char *list, size_t length)
{
    for (const char *pos = list; pos < list + length; pos += strcspn(pos, ",:") + 1)
        if (strcspn(pos, ",:") == 3 && memcmp(pos, "cpu", 3) == 0) return 1;
    return 0;
}

/* Returns the quota, in processors, of the group on a line of /proc/self/cgroup: "0::/path" (version 2) or "4:cpu,cpuacct:/path" (version
 * 1). 0: none. */
static int32_t line_quota(const char *root, const char *line)
{
    char mount[PATH_BYTES];
    const char *list = strchr(line, ':'), *path = list != NULL ? strchr(list + 1, ':') : NULL;
    if (path == NULL || path[1] != '/') return 0;
    size_t length = (size_t)(path - ++list);
    path++;
    if (length == 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        return min_quota(mount, path, quota_v2);
    }
    if (!lists_cpu(list, length)) return 0;
    /* "cpu" is a directory, or a link to cpu,cpuacct */
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
    return min_quota(mount, path, quota_v1);
}

int32_t rill__quota_processors(const char *root)
{
    char path[PATH_BYTES], groups[4 * PATH_BYTES];
    int32_t smallest = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (!rill__read_start(path, groups, sizeof groups)) return 0;
    for (char *line = groups, *next; *line != '\0'; line = next) {
        const size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = '\0';
        int32_t quota = line_quota(root, line);
        if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
    }
    return smallest;
}

int32_t rill_processors(void)
{
    cpu_set_t allowed;
    long n = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
    int32_t quota = rill__quota_processors("");
    if (quota > 0 && quota < n) n = quota;
    return n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}
