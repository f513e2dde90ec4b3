/* Devices: parsing the option `device`, a list such as "cuda:0,cuda:1". Workers are assigned to its devices round-robin. */

#include <string.h>

#include "internal.h"

/* Return 1 if two device names mean the same device, else 0. "cuda" means "cuda:0". */
static int same_device(const char *a, const char *b)
{
    const size_t word = strcspn(a, ":");
    return strcspn(b, ":") == word && memcmp(a, b, word) == 0 &&
           strcmp(a[word] != '\0' ? a + word : ":0", b[word] != '\0' ? b + word : ":0") == 0;
}

static rill_status add_device(devices *list, rill_context *ctx, const char *name, size_t length)
{
    if (length == 0) return rill_fail(ctx, RILL_ERR_OPTION, "device: an entry of the list is empty");
    if (list->n == DEVICES_MAX)
        return rill_fail(ctx, RILL_ERR_OPTION, "device: the list may have at most %d devices", DEVICES_MAX);
    if (length >= DEVICE_NAME_MAX)
        return rill_fail(ctx, RILL_ERR_OPTION, "device: unknown device \"%.*s\"", (int)length, name);
    const char *number = memchr(name, ':', length);
    if (number != NULL && number[1] == '0' && name + length > number + 2)
        return rill_fail(ctx, RILL_ERR_OPTION, "device: \"%.*s\": write the number without leading zeros", (int)length,
                         name);
    if (length >= 4 && memcmp(name, "auto", 4) == 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "device: auto cannot be part of a list");
    const char *const first = list->entry[0].name;
    char *to = list->entry[list->n].name;
    memcpy(to, name, length);
    to[length] = '\0';
    if (list->n > 0 && (strcspn(first, ":") != strcspn(to, ":") || memcmp(first, to, strcspn(to, ":")) != 0))
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "device: %s and %s are of different kinds, whose scores differ: list devices of one kind",
                         first, to);
    list->entry[list->n].first = 0;
    while (!same_device(list->entry[list->entry[list->n].first].name, to)) list->entry[list->n].first++;
    list->n++;
    return RILL_OK;
}

rill_status devices_read(devices *list, rill_context *ctx, const rill_open_options *open)
{
    const size_t min_size = offsetof(rill_open_options, ensemble); /* size of the struct in ABI version 1 */
    *list = (devices){.n = 1};
    RILL__TRY(rill_copy_struct(ctx, "rill_open_options", &list->open, sizeof list->open, open, min_size));
    const char *names = rill_open_option(&list->open, "device");
    if (names == NULL || strchr(names, ',') == NULL) return RILL_OK;
    list->n = 0;
    for (size_t all;; names += all + 1) {
        names += strspn(names, " ");
        size_t length = all = strcspn(names, ",");
        while (length > 0 && names[length - 1] == ' ') length--;
        RILL__TRY(add_device(list, ctx, names, length));
        if (names[all] == '\0') break;
    }
    const size_t bytes = (size_t)list->open.n_values * sizeof *list->values;
    list->values = rill_alloc(ctx, bytes);
    if (list->values == NULL) return rill_fail_memory(ctx, bytes, "devices");
    memcpy(list->values, list->open.values, bytes);
    list->open.values = list->values;
    return RILL_OK;
}

void devices_clear(devices *list, rill_context *ctx)
{
    if (list->values != NULL) rill_free(ctx, list->values, (size_t)list->open.n_values * sizeof *list->values);
}

const rill_open_options *devices_options(devices *list, int32_t entry)
{
    for (int32_t i = 0; list->values != NULL && i < list->open.n_values; i++)
        if (rill__same_name(list->values[i].name, "device")) list->values[i].value = list->entry[entry].name;
    return &list->open;
}
