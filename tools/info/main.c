/* keel-info: what an installation of Keel is, has and finds. See keel-info(1). */
#include <config.h>

#include <stdio.h>
#include <tools/cli.h>
#include <tools/info/show.h>

/* A word that asks for no parameter is a mistake. */
static bool check_patterns(const struct options *options, const struct params *params)
{
    bool all = true;
    for (size_t i = 0; i < options->pattern_count; i++) {
        struct options one = {.patterns = &options->patterns[i], .pattern_count = 1};
        size_t j = 0;
        while (j < params->count && !params_match(&one, &params->list[j])) {
            j++;
        }
        if (j == params->count) {
            const char *second = options->patterns[i].second;
            fprintf(stderr, "keel-info: no parameter's name begins with ");
            cli_print(stderr, options->patterns[i].word);
            cli_print(stderr, second ? "_" : "");
            cli_print(stderr, second ? second : "");
            fputc('\n', stderr);
            all = false;
        }
    }
    return all;
}

/* Returns the exit code. */
static int show(const struct options *options)
{
    struct params params = {0};
    bool wanted = options->params || options->format == FORMAT_MD, complete = true;
    if (wanted) {
        complete = params_collect(&params);
        complete = check_patterns(options, &params) && complete;
    }
    if (options->format == FORMAT_MD) {
        show_md(&params);
    } else if (options->format == FORMAT_JSON) {
        show_json(options, wanted ? &params : NULL);
    } else {
        show_text(options, wanted ? &params : NULL);
    }
    params_free(&params);
    return complete ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct options options;
    int status = options_read(&options, argc, argv);
    int code = status < 0 ? 2 : status > 0 ? 0 : show(&options);
    options_free(&options);
    return cli_end("keel-info", code);
}
