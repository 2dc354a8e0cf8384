/* For programs: one object, with a member for each thing that was asked for. */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <tools/info/show.h>
#include <tools/json.h>

struct json {
    const struct options *options;
    char group[16];    /* that is open; "": none */
    const char *comma; /* before the next element */
};

static void show_fact(void *arg, const char *group, const char *name, const char *text)
{
    struct json *json = arg;
    bool wanted = strcmp(group, "topology") == 0 ? json->options->topology : json->options->build;
    if (!wanted) {
        return;
    }
    if (strcmp(json->group, group) != 0) {
        printf("%s,\n\"%s\":{", *json->group ? "}" : "", group);
        snprintf(json->group, sizeof(json->group), "%s", group);
        json->comma = "";
    }
    fputs(json->comma, stdout);
    json_member(stdout, name, text, "");
    json->comma = ",";
}

static void begin(struct json *json)
{
    printf("%s\n{", json->comma);
    json->comma = ",";
}

static void show_component(void *arg, const struct keel_component *component)
{
    begin(arg);
    json_member(stdout, "framework", component->framework, ",");
    json_member(stdout, "name", component->name, ",");
    json_member(stdout, "interface", component->interface, ",");
    json_member(stdout, "lacks", component->lacks, ",");
    json_member(stdout, "loads", component->loads, ",");
    printf("\"found\":%s,\"named_only\":%s}", component->found ? "true" : "false",
           component->named_only ? "true" : "false");
}

static void show_device(void *arg, const struct keel_device *device)
{
    begin(arg);
    json_member(stdout, "component", device->component, ",");
    json_member(stdout, "name", device->name, ",");
    json_member(stdout, "address", device->address, ",");
    json_member(stdout, "about", device->about, ",");
    printf("\"mtu_bytes\":%u,\"speed_mbps\":%u,\"numa_node\":%d,", device->mtu_bytes,
           device->speed_mbps, device->numa_node);
    json_member(stdout, "unused", device->unused, "}");
}

static void show_param(struct json *json, const struct keel_param *param)
{
    begin(json);
    json_member(stdout, "name", param->name, ",");
    json_member(stdout, "layer", param->layer, ",");
    json_member(stdout, "type", param->type, ",");
    json_member(stdout, "default", param->default_text, ",");
    json_member(stdout, "value", param->value, ",");
    json_member(stdout, "source", param->source, ",");
    json_member(stdout, "complaint", param->complaint, ",");
    json_member(stdout, "range", param->range, ",");
    json_member(stdout, "unit", param->unit, ",");
    json_member(stdout, "help", param->help, "}");
}

static void show_facts(const struct options *options)
{
    struct json json = {.options = options, .comma = ""};
    keel_facts_each(show_fact, &json);
    fputs(*json.group ? "}" : "", stdout);
}

static struct json *open_array(struct json *json, const char *name)
{
    printf(",\n\"%s\":[", name);
    json->comma = "";
    return json;
}

void show_json(const struct options *options, const struct params *params)
{
    struct json json = {.options = options};
    printf("{\"keel_info\":1");
    if (options->build || options->topology) {
        show_facts(options);
    }
    if (options->components) {
        keel_components_each(show_component, open_array(&json, "components"));
        printf("]");
    }
    if (options->devices) {
        keel_devices_each(show_device, open_array(&json, "devices"));
        printf("]");
    }
    if (params) {
        open_array(&json, "parameters");
        for (size_t i = 0; i < params->count; i++) {
            if (params_match(options, &params->list[i])) {
                show_param(&json, &params->list[i]);
            }
        }
        printf("]");
    }
    printf("}\n");
}
