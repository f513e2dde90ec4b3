/* A plugin with a domain, the toy domain of the program that loads it, which has an option with the name of a search
 * setting. */
#include "rill/plugin.h"

extern const rill_domain toy_domain;

RILL_API const rill_plugin_table *rill_plugin(void);

RILL_API const rill_plugin_table *rill_plugin(void)
{
    static const rill_option options[] = {
        {"max-items", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL},
        {0},
    };
    static rill_domain domain;
    static const rill_domain *const domains[] = {&domain, NULL};
    static const rill_plugin_table table = {
        .abi_version = RILL_ABI_VERSION, .struct_size = sizeof table, .name = "hidden", .domains = domains};
    domain = toy_domain;
    domain.options = options;
    return &table;
}
