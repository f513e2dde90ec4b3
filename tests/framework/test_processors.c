/* The number of processors a process may use: CPU quotas of control groups, read from files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "rill/workers.h"
#include "support/harness.h"

static void put(const char *root, const char *path, const char *text)
{
    char name[512];
    int length = snprintf(name, sizeof name, "%s%s", root, path);
    for (char *at = strchr(name + strlen(root) + 1, '/'); at != NULL && length > 0; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(name, 0700);
        *at = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

#define A "/a" /* name of a control group */

static void quotas(void **state)
{
    (void)state;
    char root[] = "/tmp/rill-quota-XXXXXX", command[64];
    assert_non_null(mkdtemp(root));
    assert_int_equal(rill__quota_processors(root), 0);
    put(root, "/proc/self/cgroup", "0::" A "/b\n");
    assert_int_equal(rill__quota_processors(root), 0);
    put(root, "/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_int_equal(rill__quota_processors(root), 0);
    put(root, "/sys/fs/cgroup/a/cpu.max", "350000 100000\n");
    assert_int_equal(rill__quota_processors(root), 4);
    put(root, "/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
    assert_int_equal(rill__quota_processors(root), 2);
    put(root, "/sys/fs/cgroup/cpu.max", "5000 100000\n");
    assert_int_equal(rill__quota_processors(root), 1);
    put(root, "/proc/self/cgroup", "7:memory:/a\n4:cpuset:/a\n3:cpu,cpuacct:/elsewhere\n0::/\n");
    put(root, "/sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(rill__quota_processors(root), 0);
    put(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(rill__quota_processors(root), 0);
    put(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
    assert_int_equal(rill__quota_processors(root), 3);
    put(root, "/sys/fs/cgroup/cpu.max", "nonsense\n");
    assert_int_equal(rill__quota_processors(root), 3);
    /* must be ignored, since only the other cgroup controllers place this process in /a */
    put(root, "/sys/fs/cgroup/cpu" A "/cpu.cfs_period_us", "100000\n");
    put(root, "/sys/fs/cgroup/cpu" A "/cpu.cfs_quota_us", "100000\n");
    put(root, "/sys/fs/cgroup/cpu/elsewhere/cpu.cfs_quota_us", "100000\n"); /* a quota without a period */
    assert_int_equal(rill__quota_processors(root), 3);
    assert_true(rill_processors() >= 1);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(quotas)};

HARNESS_MAIN(tests)
