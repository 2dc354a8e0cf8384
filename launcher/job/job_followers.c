#include <config.h>

#include <launcher/job/job_parts.h>

#include <launcher/job/rank_list.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_ENDS_MAX = 3 }; /* different ones that are told */

struct followers {
    struct job *job;
    bool *flags; /* by rank */
    char line[900];
    uint32_t own_ends; /* told so far */
};

static bool is_follower(const struct job *job, uint32_t rank, enum rank_after_end place)
{
    return rank != job->end.culprit && job->ended[rank] && job->ranks[rank].place == place;
}

static uint32_t count_flags(const struct followers *followers)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < followers->job->rank_count; rank++) {
        count += followers->flags[rank];
    }
    return count;
}

/* Those that are flagged; there is one. */
static void put(struct followers *followers, const char *what)
{
    char list[400];
    size_t used = strlen(followers->line);
    (void) rank_list_print(list, sizeof(list), followers->flags, followers->job->rank_count);
    snprintf(followers->line + used, sizeof(followers->line) - used, "%s%s %s", used ? "; " : "",
             list, what);
}

static void put_by_keelrun(struct followers *followers)
{
    for (uint32_t rank = 0; rank < followers->job->rank_count; rank++) {
        followers->flags[rank] = is_follower(followers->job, rank, PLACE_BY_KEELRUN);
    }
    uint32_t count = count_flags(followers);
    if (count > 0) {
        put(followers, count == 1 ? "was ended by keelrun" : "were ended by keelrun");
    }
}

/* All that ended in the same way as this one. */
static void put_alike(struct followers *followers, uint32_t first)
{
    struct job *job = followers->job;
    struct rank_end end = {
        .wait_status = job->ranks[first].wait_status, .missing = "", .call = "", .core = ""};
    char text[160];
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        followers->flags[rank] =
            is_follower(job, rank, PLACE_AFTER) && job->ranks[rank].wait_status == end.wait_status;
        if (followers->flags[rank]) {
            job->ranks[rank].place = PLACE_TOLD;
        }
    }
    rank_end_print(&end, count_flags(followers), text, sizeof(text));
    put(followers, text);
    followers->own_ends++;
}

void job_tell_followers(struct job *job)
{
    struct followers followers = {.job = job};
    followers.flags =
        job->end.culprit == JOB_ALL ? NULL : calloc(job->rank_count, sizeof(*followers.flags));
    if (!followers.flags) {
        return;
    }
    put_by_keelrun(&followers);
    for (uint32_t rank = 0; rank < job->rank_count && followers.own_ends < OWN_ENDS_MAX; rank++) {
        if (is_follower(job, rank, PLACE_AFTER) && job->ranks[rank].wait_status != 0) {
            put_alike(&followers, rank);
        }
    }
    free(followers.flags);
    if (followers.line[0]) {
        job->ops->tell(job->arg, followers.line);
    }
}
