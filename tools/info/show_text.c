/* For people. */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <tools/cli.h>
#include <tools/info/show.h>

/* The group that was printed last, so that each has its head once. */
struct facts {
    const struct options *options;
    const char *group;
};

static void show_fact(void *arg, const char *group, const char *name, const char *text)
{
    struct facts *facts = arg;
    bool wanted = strcmp(group, "topology") == 0 ? facts->options->topology : facts->options->build;
    if (!wanted) {
        return;
    }
    if (!facts->group || strcmp(facts->group, group) != 0) {
        printf("%s:\n", group);
        facts->group = group;
    }
    printf("  %-24s ", name);
    cli_print(stdout, text);
    putchar('\n');
}

static void show_component(void *arg, const struct keel_component *component)
{
    (void) arg;
    printf("  %s %-20s interface %s", component->framework, component->name, component->interface);
    if (component->lacks) {
        printf("; not built, for want of %s", component->lacks);
    }
    if (component->loads) {
        printf("; loads %s%s", component->loads, component->found ? "" : ", which is not there");
    }
    printf(component->named_only ? "; has to be named (--mca btl)\n" : "\n");
}

static void show_device(void *arg, const struct keel_device *device)
{
    (void) arg;
    printf("  %-6s %s", device->component, device->name);
    printf(*device->address ? " %s" : "%s", device->address);
    printf(*device->about ? ", %s" : "%s", device->about);
    if (device->speed_mbps > 0) {
        printf(", %u Mbit/s", device->speed_mbps);
    }
    if (device->mtu_bytes > 0) {
        printf(", MTU %u", device->mtu_bytes);
    }
    if (device->numa_node >= 0) {
        printf(", NUMA node %d", device->numa_node);
    }
    if (device->unused) {
        printf("; not used: ");
        cli_print(stdout, device->unused);
    }
    putchar('\n');
}

static void show_param(const struct keel_param *param)
{
    printf("%s = ", param->name);
    cli_print(stdout, param->value);
    printf(" (");
    cli_print(stdout, param->source);
    printf(")\n    %s", param->type);
    if (*param->range) {
        printf("%s%s", strcmp(param->type, "enum") == 0 ? ": " : ", ", param->range);
    }
    size_t size = strlen(param->help);
    bool ends = size > 0 && param->help[size - 1] == '.';
    printf("%s%s. %s%s\n", *param->unit ? " " : "", param->unit, param->help, ends ? "" : ".");
    if (param->complaint) {
        printf("    not used: ");
        cli_print(stdout, param->complaint);
        putchar('\n');
    }
}

void show_text(const struct options *options, const struct params *params)
{
    struct facts facts = {options, NULL};
    if (options->build || options->topology) {
        keel_facts_each(show_fact, &facts);
    }
    if (options->components) {
        printf("components:\n");
        keel_components_each(show_component, NULL);
    }
    if (options->devices) {
        printf("devices:\n");
        keel_devices_each(show_device, NULL);
    }
    for (size_t i = 0; params && i < params->count; i++) {
        if (params_match(options, &params->list[i])) {
            show_param(&params->list[i]);
        }
    }
}
