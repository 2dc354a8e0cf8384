#include <config.h>

#include <math.h>
#include <stdio.h>
#include <tools/perf/plot.h>

enum { WIDTH = 720, HEIGHT = 340, LEFT = 80, RIGHT = 120, TOP = 44, BOTTOM = 44 };

static const char *const colours[] = {"#1f6fb2", "#d1495b", "#2a9d6f", "#8a5fbf", "#c77d0a"};
static const char *const panel_titles[TEST_KINDS] = {
    [TEST_LATENCY] = "Latency, microseconds (median)",
    [TEST_BANDWIDTH] = "Bandwidth, MB/s",
    [TEST_RATE] = "Messages per second",
};

/* One panel: the results of one kind, and where their figures lie on the page. */
struct panel {
    FILE *out;
    const struct result *results;
    size_t count;
    enum test_kind kind;
    double top;                        /* of the panel on the page */
    double x_min, x_max, y_min, y_max; /* logarithms: base 2 of bytes, base 10 of the figure */
};

static double figure_of(const struct result *result)
{
    switch (result->test->kind) {
    case TEST_LATENCY:
        return result->median_us;
    case TEST_BANDWIDTH:
        return result->megabytes_per_s;
    default:
        return result->messages_per_s;
    }
}

/* Size 0 stands at 1 byte; a figure of 0 (bandwidth of empty messages) is not drawn. */
static double log_size(const struct result *result)
{
    return log2(result->size > 0 ? (double) result->size : 1);
}

static bool is_drawn(const struct panel *panel, const struct result *result)
{
    return result->test->kind == panel->kind && figure_of(result) > 0;
}

static bool panel_init(struct panel *panel, FILE *out, enum test_kind kind,
                       const struct result *results, size_t count, double top)
{
    *panel = (struct panel){.out = out,
                            .results = results,
                            .count = count,
                            .kind = kind,
                            .top = top,
                            .x_min = HUGE_VAL,
                            .x_max = -HUGE_VAL,
                            .y_min = HUGE_VAL,
                            .y_max = -HUGE_VAL};
    for (size_t i = 0; i < count; i++) {
        if (is_drawn(panel, &results[i])) {
            double x = log_size(&results[i]), y = log10(figure_of(&results[i]));
            panel->x_min = fmin(panel->x_min, x);
            panel->x_max = fmax(panel->x_max, x);
            panel->y_min = fmin(panel->y_min, floor(y));
            panel->y_max = fmax(panel->y_max, floor(y) + 1);
        }
    }
    if (panel->x_max == panel->x_min) {
        panel->x_max += 1;
    }
    return panel->y_max > panel->y_min;
}

static double at_x(const struct panel *panel, double x)
{
    return LEFT + (x - panel->x_min) / (panel->x_max - panel->x_min) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct panel *panel, double y)
{
    double height = HEIGHT - TOP - BOTTOM;
    return panel->top + TOP + (panel->y_max - y) / (panel->y_max - panel->y_min) * height;
}

static const char *const units[] = {"", "k", "M", "G", "T"};

static void draw_axes(const struct panel *panel)
{
    FILE *out = panel->out;
    double bottom = panel->top + HEIGHT - BOTTOM;
    fprintf(out, "<text x='%d' y='%.1f' class='title'>%s</text>\n", LEFT, panel->top + 28,
            panel_titles[panel->kind]);
    for (double y = panel->y_min; y <= panel->y_max; y++) {
        fprintf(out, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' class='grid'/>\n", LEFT,
                WIDTH - RIGHT, at_y(panel, y), at_y(panel, y));
        unsigned thousands = y >= 0 ? (unsigned) y / 3 : 0;
        fprintf(out, "<text x='%d' y='%.1f' text-anchor='end'>%g%s</text>\n", LEFT - 8,
                at_y(panel, y) + 4, pow(10, y - 3 * thousands), units[thousands]);
    }
    int step = panel->x_max - panel->x_min > 10 ? 3 : 1;
    for (int x = (int) ceil(panel->x_min); x <= panel->x_max; x += step) {
        fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>%u%s</text>\n", at_x(panel, x),
                bottom + 18, 1u << x % 10, units[x / 10]);
    }
    fprintf(out, "<text x='%d' y='%.1f' text-anchor='middle'>bytes</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, bottom + 36);
}

/* The points of one test: the corners of a line, or dots. */
static void draw_points(const struct panel *panel, const struct perf_test *test, bool dots)
{
    for (size_t i = 0; i < panel->count; i++) {
        const struct result *result = &panel->results[i];
        if (result->test == test && is_drawn(panel, result)) {
            double x = at_x(panel, log_size(result)), y = at_y(panel, log10(figure_of(result)));
            fprintf(panel->out, dots ? "<circle cx='%.1f' cy='%.1f' r='3'/>\n" : "%.1f,%.1f ", x,
                    y);
        }
    }
}

/* The line of one test, with dots that show a single result too, and its name in the list on the
 * right. */
static void draw_line(const struct panel *panel, const struct perf_test *test, unsigned number)
{
    const char *colour = colours[number % (sizeof(colours) / sizeof(*colours))];
    FILE *out = panel->out;
    fprintf(out, "<polyline fill='none' stroke='%s' stroke-width='2' points='", colour);
    draw_points(panel, test, false);
    fprintf(out, "'/>\n<g fill='%s'>\n", colour);
    draw_points(panel, test, true);
    double y = panel->top + TOP + 18 * number + 6;
    fprintf(out, "</g>\n<rect x='%d' y='%.1f' width='14' height='3' fill='%s'/>\n",
            WIDTH - RIGHT + 14, y, colour);
    fprintf(out, "<text x='%d' y='%.1f'>%s</text>\n", WIDTH - RIGHT + 34, y + 6, test->name);
}

static void draw_panel(const struct panel *panel)
{
    const struct perf_test *last = NULL;
    unsigned number = 0;
    draw_axes(panel);
    for (size_t i = 0; i < panel->count; i++) {
        const struct perf_test *test = panel->results[i].test;
        if (test != last && is_drawn(panel, &panel->results[i])) {
            draw_line(panel, test, number++);
            last = test;
        }
    }
}

/* Text as XML wants it. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        const char *escape = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : NULL;
        escape ? fputs(escape, out) : fputc((unsigned char) *text < ' ' ? ' ' : *text, out);
    }
}

bool plot_write(FILE *out, const char *title, const struct result *results, size_t count)
{
    struct panel panels[TEST_KINDS];
    size_t panel_count = 0;
    for (enum test_kind kind = 0; kind < TEST_KINDS; kind++) {
        double top = 30 + (double) (panel_count * HEIGHT);
        panel_count += panel_init(&panels[panel_count], out, kind, results, count, top);
    }
    fprintf(out, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%zu'>\n", WIDTH,
            30 + panel_count * HEIGHT);
    fprintf(out, "<style>text{font:12px sans-serif;fill:#333}.title{font-weight:bold}"
                 ".grid{stroke:#ddd}</style>\n<rect width='100%%' height='100%%' fill='#fff'/>\n");
    fprintf(out, "<text x='%d' y='22'>", LEFT);
    put_text(out, title);
    fprintf(out, "</text>\n");
    for (size_t i = 0; i < panel_count; i++) {
        draw_panel(&panels[i]);
    }
    fprintf(out, "</svg>\n");
    bool written = !ferror(out);
    return fclose(out) == 0 && written;
}
