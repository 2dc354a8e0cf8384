#include <config.h>

#include <keel/info.h>
#include <launcher/request/options/help.h>
#include <launcher/request/options/options.h>
#include <stdio.h>
#include <string.h>

enum { COLUMN = 26, WIDTH = 84 };

static const char beginning[] =
    "Usage: keelrun [OPTION]... PROGRAM [ARGUMENT]...\n"
    "       keelrun [OPTION]... PROGRAM [ARGUMENT]... : [OPTION]... PROGRAM [ARGUMENT]...\n"
    "\n"
    "Starts the ranks of a parallel program, wires them up, forwards their input,\n"
    "output and signals, and ends when they have ended. A word ':' begins another\n"
    "program of the same job, with its own -n, -N, -x, --wdir and --host; '--' ends\n"
    "the options.\n";

static const char end[] =
    "\n"
    "Examples\n"
    "  keelrun -n 4 ./solver input.dat\n"
    "  keelrun -n 1 ./master : -n 8 ./worker --fast\n"
    "  keelrun --hostfile hosts --map-by package --bind-to core ./solver\n"
    "  keelrun --simulate 3x2 -n 6 --tag-output ./handoff\n"
    "  keelrun -n 2 --mca btl self,tcp -x OMP_NUM_THREADS=4 ./app\n"
    "\n"
    "Exit code: 0, or that of the first rank that failed (128 + its signal);\n"
    "127 program not found, 126 not executable, 2 wrong usage, 124 timeout,\n"
    "125 the runtime failed, 130 interrupted.\n";

/* A text from a column on, broken at blanks. */
static void print_help(const char *text, size_t column)
{
    if (column + 1 >= COLUMN) {
        printf("\n");
        column = 0;
    }
    printf("%*s", (int) (COLUMN - column), "");
    for (column = COLUMN; *text;) {
        size_t size = strcspn(text, " ");
        if (column > COLUMN && column + 1 + size > WIDTH) {
            printf("\n%*s", COLUMN, "");
            column = COLUMN;
        }
        column += (size_t) printf("%s%.*s", column > COLUMN ? " " : "", (int) size, text);
        text += size + (text[size] != '\0');
    }
    printf("\n");
}

static const char *dashes(const char *name)
{
    return name[1] ? "--" : "-";
}

static void print_option(const struct option *option)
{
    size_t column = (size_t) printf(" ");
    for (const char *const *name = option->names; *name; name++) {
        column += (size_t) printf("%s %s%s", name > option->names ? "," : "", dashes(*name), *name);
    }
    column += option->value ? (size_t) printf(" %s", option->value) : 0;
    print_help(option->help, column);
}

void help_print(void)
{
    fputs(beginning, stdout);
    for (size_t i = 0; i < option_count; i++) {
        if (i == 0 || options[i].group != options[i - 1].group) {
            printf("\n%s\n", option_groups[options[i].group]);
        }
        print_option(&options[i]);
    }
    fputs(end, stdout);
}

void version_print(void)
{
    printf("keelrun (Keel) %s\n", PACKAGE_VERSION);
}

/* --- parameters --- */

/* A field: what a line of fields cannot have in it is written \\t, \\n and \\\\. */
static void print_field(const char *text, char after)
{
    for (; *text; text++) {
        static const char special[] = "\t\n\\", letters[] = "tn\\";
        const char *at = strchr(special, *text);
        printf(at ? "\\%c" : "%c", at ? letters[at - special] : *text);
    }
    putchar(after);
}

static void print_parameter(void *arg, const struct keel_param *param)
{
    (void) arg;
    const char *const fields[] = {param->name,  param->layer,
                                  param->type,  param->default_text,
                                  param->value, param->source,
                                  param->range, param->unit,
                                  param->help,  param->complaint ? param->complaint : ""};
    const size_t count = sizeof(fields) / sizeof(*fields);
    for (size_t i = 0; i < count; i++) {
        print_field(fields[i], i + 1 < count ? '\t' : '\n');
    }
}

void parameters_print(void)
{
    keel_params_each(print_parameter, NULL);
}

/* --- bash --- */

/* The value, and the option before it, are parts of the line as it is typed: bash takes it apart at
 * '=' and ':', and replaces what stands behind the last of these. Of words with commas and colons
 * between them the last is completed; head are those before it. */
static const char script_begin[] =
    "'\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} typed=${COMP_LINE:0:COMP_POINT} how=(-c -f)\n"
    "    local value=${typed##*[[:blank:]]} before option head fixed\n"
    "    read -ra before <<<\"${typed%\"$value\"}\"\n"
    "    option=${before[${#before[@]} - 1]}\n"
    "    case $value in -*=*) option=${value%%=*} value=${value#*=} ;; esac\n"
    "    case $word in *[:=]) word= ;; esac\n"
    "    head=${value%\"${value##*[:,]}\"} fixed=${value%\"$word\"}\n"
    "    case $option in\n";

static const char script_end[] =
    "    *) case $value in -*) how=(-W \"$names\") ;; esac ;;\n"
    "    esac\n"
    "    case ${value#\"$head\"} in FILE=* | file=*) how=(-f) ;; dir=*) how=(-d) ;; esac\n"
    "    case ${how[0]} in\n"
    "    -[cdf])\n"
    "        mapfile -t COMPREPLY < <(compgen \"${how[@]}\" -- \"$word\")\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        ;;\n"
    "    *)\n"
    "        mapfile -t COMPREPLY < <(compgen -P \"$head\" \"${how[@]}\" -- "
    "\"${value#\"$head\"}\")\n"
    "        COMPREPLY=(\"${COMPREPLY[@]#\"$fixed\"}\")\n"
    "        case $COMPREPLY in *[:=] | ppr | rankfile) compopt -o nospace 2>/dev/null ;; esac\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _keelrun keelrun\n";

/* last: behind what the words stand that are being printed; NULL: none are. */
static void print_word(void *last, const char *behind, const char *word)
{
    const char **printed = last;
    if (*printed && strcmp(*printed, behind) == 0) {
        printf(" %s", word);
        return;
    }
    printf("%s        %s%s) how=(-W '%s", *printed ? "') ;;\n" : "", *behind ? behind : "''",
           *behind ? ":*" : "", word);
    *printed = behind;
}

static void print_choice(const struct option *option)
{
    const char *words = option->words ? option->words : option->value, *last = NULL;
    for (const char *const *name = option->names; *name; name++) {
        printf("%s-%s | --%s", name > option->names ? " | " : "    ", *name, *name);
    }
    if (option->offer) {
        printf(")\n        how=(-W '')\n        case ${head//,/:} in\n");
        option->offer(print_word, &last);
        printf("') ;;\n        esac\n        ;;\n");
    } else if (strcmp(words, "FILE") == 0 || strcmp(words, "DIR") == 0) {
        printf(") how=(-%c) ;;\n", *words == 'F' ? 'f' : 'd');
    } else if (strcmp(words, "HOST") == 0) {
        printf(") how=(-A hostname) ;;\n");
    } else {
        printf(") how=(-W '%s')%s ;;\n", option->words ? words : "",
               option->words ? " head=${value%\"${value##*,}\"}" : "");
    }
}

void completion_print(void)
{
    printf("# Completes keelrun's command line in bash; printed by keelrun --completion bash.\n"
           "_keelrun()\n{\n"
           "    local names='");
    for (size_t i = 0; i < option_count; i++) {
        for (const char *const *name = options[i].names; *name; name++) {
            printf("%s%s%s", i || name > options[i].names ? " " : "", dashes(*name), *name);
        }
    }
    fputs(script_begin, stdout);
    for (size_t i = 0; i < option_count; i++) {
        if (options[i].value) {
            print_choice(&options[i]);
        }
    }
    fputs(script_end, stdout);
}
