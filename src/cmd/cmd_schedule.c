/* cmd_schedule.c - `ccltune schedule`: what moves when? Everything a person needs to understand an
 * algorithm, or to write one: the table of all, a page, the programs as text, a picture, a proof,
 * the plan that ranks execute.
 */
#include "commands.h"

#include "arena.h"
#include "lower.h"
#include "option.h"
#include "plan_dump.h"
#include "sched_check.h"
#include "sched_text.h"
#include "schedule.h"
#include "schedule_draw.h"
#include "schedule_page.h"
#include "schedule_prove.h"
#include "schedule_table.h"
#include "table.h"
#include "topo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_USUAL = 8, TEXT_RANKS_MOST = 4096 };

struct schedule_options {
    const char *ranks; /* NULL: by levels, or RANKS_USUAL */
    const char *collective, *levels, *inner, *outer, *format;
    bool in_place, dump, check, draw, plan;
};

#define AT(member) offsetof(struct schedule_options, member)
static const struct option_row rows[] = {
    {0, NULL, OPTION_HEADING, NULL, "for whom", 0, NULL},
    {'n', "ranks", OPTION_TEXT, "N", "ranks of the group (8, or as many as --levels has)",
     AT(ranks), NULL},
    {0, "coll", OPTION_TEXT, "COLLECTIVE",
     "allreduce, all-gather, ... (all in the table; allreduce, or else the first that ALGO serves)",
     AT(collective), NULL},
    {0, "in-place", OPTION_FLAG, NULL, "the form for equal in and out buffers", AT(in_place), NULL},
    {0, "levels", OPTION_TEXT, "HOSTSxRANKS",
     "a hierarchy, outermost level first: 2x4, 2x2x4\n(this machine's NUMA nodes, where it has "
     "some)",
     AT(levels), NULL},
    {0, "inner", OPTION_TEXT, "ALGO", "what a hierarchy does inside a host", AT(inner), NULL},
    {0, "outer", OPTION_TEXT, "ALGO", "what a hierarchy does between hosts", AT(outer), NULL},
    {0, NULL, OPTION_HEADING, NULL, "what to show (a page, if nothing is asked for)", 0, NULL},
    {0, "draw", OPTION_FLAG, NULL, "who sends which chunk to whom, round by round", AT(draw), NULL},
    {0, "check", OPTION_FLAG, NULL,
     "prove that it computes its collective, without deadlock, race or overrun", AT(check), NULL},
    {0, "dump", OPTION_FLAG, NULL, "the programs as text, which --check and bench --algo read",
     AT(dump), NULL},
    {0, "plan", OPTION_FLAG, NULL, "the plan of position 0, as the engine executes it", AT(plan),
     NULL},
    {0, "format", OPTION_CHOICE, "table|json|csv", "of the table; json of a page, too", AT(format),
     "table"},
    {0, NULL, OPTION_END, NULL, NULL, 0, NULL}};
#undef AT

static const struct option_command command = {
    "schedule", "[options] [ALGO | FILE]",
    "Shows what moves when: algorithms as schedules. FILE is a schedule as text.",
    "  ccltune schedule                                 all algorithms on 8 ranks\n"
    "  ccltune schedule ring --draw -n 4                look at one\n"
    "  ccltune schedule hierarchical --levels 2x4       its page\n"
    "  ccltune schedule ring --dump > mine.sched        change it, then:\n"
    "  ccltune schedule --check mine.sched              is it still right?\n"
    "\n"
    "A program is steps, a line each:\n"
    "  step recv PEERS take CHUNKS store CHUNKS send PEERS value\n"
    "receives from peers, adds up what comes and `take`, stores the sum, sends it on; all of it\n"
    "slice by slice. `place` stores what comes from each peer, unsummed; `send PEERS CHUNKS` "
    "sends\n"
    "chunks that are there; `repeat N` repeats the steps below it. r is the own position;\n"
    "`r-1 move -1` is r-1, in the next repetition r-2. Numbers go round at the end.\n",
    rows};

/* ---- what is asked for ---- */

/* The digits that *at begins with; false: there are none, or they are too many. */
static bool read_number(const char **at, uint32_t *number)
{
    uint64_t value = 0;
    const char *begin = *at;
    for (; **at >= '0' && **at <= '9' && value <= UINT32_MAX; (*at)++) {
        value = 10 * value + (uint64_t)(**at - '0');
    }
    *number = (uint32_t)value;
    return *at > begin && value <= UINT32_MAX;
}

static int parse_ranks(const char *text, struct sched_request *request, struct error *error)
{
    const char *at = text;
    return read_number(&at, &request->ranks) && *at == '\0'
               ? 0
               : error_set(error, EXIT_INPUT,
                           "--ranks %.40s: expected a number of ranks, such as 8", text);
}

/* "2x4"; ranks is their product where nothing else was asked for. */
static int parse_levels(const char *text, struct sched_request *request, struct error *error)
{
    const char *at = text;
    uint64_t product = 1;
    for (;;) {
        uint32_t *level = &request->levels[request->nr_levels++];
        if (!read_number(&at, level) || (*at != 'x' && *at != '\0')) {
            return error_set(error, EXIT_INPUT,
                             "--levels %.40s: expected hosts x ranks per host, such as 2x4", text);
        }
        product *= *level;
        if (product > UINT32_MAX) {
            return error_set(error, EXIT_INPUT, "--levels %.40s: that is more than 2^32 ranks",
                             text);
        }
        if (*at == '\0') {
            break;
        }
        if (request->nr_levels == SCHED_LEVELS_MOST) {
            return error_set(error, EXIT_INPUT, "--levels %.40s: expected at most %d levels", text,
                             SCHED_LEVELS_MOST);
        }
        at++;
    }
    request->ranks = (uint32_t)product;
    return 0;
}

/* The NUMA nodes of this machine, where there are several and they divide the ranks. */
static int levels_of_machine(struct sched_request *request, struct error *error)
{
    struct arena arena = ARENA_EMPTY;
    struct topo topo;
    if (topo_load_local(&arena, &topo, error)) {
        arena_release(&arena);
        return -1;
    }
    size_t nodes = topo.nr_hosts > 0 ? topo.hosts[0].type->nodes[TOPO_NUMA].nr : 0;
    if (nodes > 1 && request->ranks > nodes && request->ranks % nodes == 0) {
        request->levels[0] = (uint32_t)nodes;
        request->levels[1] = request->ranks / (uint32_t)nodes;
        request->nr_levels = 2;
    }
    arena_release(&arena);
    return 0;
}

/* Without a collective it stays what it was: `row` decides, or the table has all. */
static int make_request(const struct schedule_options *options, struct sched_request *request,
                        struct error *error)
{
    *request = (struct sched_request){.ranks = RANKS_USUAL,
                                      .in_place = options->in_place,
                                      .inner = options->inner,
                                      .outer = options->outer};
    if ((options->levels && parse_levels(options->levels, request, error)) ||
        (options->ranks && parse_ranks(options->ranks, request, error))) {
        return -1;
    }
    return options->collective ? coll_parse(options->collective, &request->collective, error) : 0;
}

static enum collective first_served(const struct algorithm *row)
{
    int c = 0;
    while (c + 1 < COLL_NR && !(row->collectives & 1U << c)) {
        c++;
    }
    return (enum collective)c;
}

static int make_of_row(const char *name, const struct schedule_options *options,
                       struct sched_request *request, struct schedule *schedule,
                       struct error *error)
{
    const struct algorithm *row = algorithm_find(name, error);
    if (!row) {
        return -1;
    }
    if (!options->collective) {
        request->collective = first_served(row);
    }
    if (row->needs & SCHED_NEEDS_HIERARCHY && !options->levels &&
        levels_of_machine(request, error)) {
        return -1;
    }
    return sched_make(row, request, schedule, error);
}

/* A name with a dot or a slash is a file, as after file: */
static const char *file_of(const char *name)
{
    return !strncmp(name, "file:", 5) ? name + 5 : strpbrk(name, "./") != NULL ? name : NULL;
}

static int make_of_file(const char *path, const struct schedule_options *options,
                        struct arena *arena, struct schedule *schedule, struct error *error)
{
    if (options->ranks || options->collective || options->levels || options->inner ||
        options->outer || options->in_place) {
        return error_set(error, EXIT_INPUT,
                         "%s itself says for how many ranks, which collective and which levels it "
                         "is: leave --ranks, --coll, --levels, --inner, --outer, --in-place out",
                         path);
    }
    return sched_load_file(arena, path, schedule, error);
}

/* ---- what is shown ---- */

/* A file is not trusted: it is checked before anything else walks through it. */
static int check_file(const struct schedule *schedule, enum sched_fault *fault, struct error *error)
{
    *fault = FAULT_NONE;
    return schedule->row ? 0 : sched_check(schedule, &sched_check_usual, fault, error);
}

/* A faulty file is drawn as far as it gets; that shows where it goes wrong. */
static int draw(const struct schedule *schedule, struct error *error)
{
    enum sched_fault fault;
    int failed = check_file(schedule, &fault, error);
    if (fault == FAULT_MALFORMED) {
        return -1;
    }
    return schedule_draw(schedule, stdout, error) ? -1 : failed;
}

/* A row in both forms, unless one is asked for or it has only one. */
static int check(const struct schedule *schedule, struct error *error)
{
    if (schedule_prove(schedule, stdout, error)) {
        return -1;
    }
    struct sched_request in_place = schedule->request;
    struct schedule other;
    in_place.in_place = true;
    if (!schedule->row || schedule->request.in_place || !coll_in_place(in_place.collective)) {
        return 0;
    }
    return sched_make(schedule->row, &in_place, &other, error) ||
           schedule_prove(&other, stdout, error);
}

static int require_text_size(const struct schedule *schedule, struct error *error)
{
    return schedule->request.ranks > TEXT_RANKS_MOST
               ? error_set(error, EXIT_INPUT,
                           "%" PRIu32 " ranks: a schedule as text has at most %d",
                           schedule->request.ranks, TEXT_RANKS_MOST)
               : 0;
}

static int dump(const struct schedule *schedule, struct error *error)
{
    if (require_text_size(schedule, error)) {
        return -1;
    }
    char *text = sched_dump(schedule);
    fputs(text, stdout);
    free(text);
    return 0;
}

/* Of position 0; another's differs in peers and chunks. */
static int show_plan(const struct schedule *schedule, struct error *error)
{
    enum sched_fault fault;
    struct plan plan;
    struct arena arena = ARENA_EMPTY;
    int failed =
        check_file(schedule, &fault, error) || lower_plan(schedule, 0, &arena, &plan, error);
    if (!failed) {
        char *text = plan_dump(&plan);
        fputs(text, stdout);
        free(text);
    }
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int show_page(const struct schedule *schedule, enum table_format format, struct error *error)
{
    enum sched_fault fault;
    return check_file(schedule, &fault, error)
               ? -1
               : schedule_print_page(schedule, format, stdout, error);
}

static int show(const struct schedule *schedule, const struct schedule_options *options,
                enum table_format format, struct error *error)
{
    return options->draw    ? draw(schedule, error)
           : options->check ? check(schedule, error)
           : options->dump  ? dump(schedule, error)
           : options->plan  ? show_plan(schedule, error)
                            : show_page(schedule, format, error);
}

/* ---- the command ---- */

static int check_options(const struct schedule_options *options, const char *name,
                         enum table_format format, struct error *error)
{
    int views = options->draw + options->check + options->dump + options->plan;
    if (views > 1) {
        return error_set(error, EXIT_INPUT,
                         "expected one of --draw, --check, --dump and --plan, found %d", views);
    }
    if (views > 0 && !name) {
        return error_set(error, EXIT_INPUT,
                         "expected an algorithm or a file to show, such as: ccltune schedule ring "
                         "--draw ('ccltune schedule' lists them)");
    }
    if ((views > 0 && format != TABLE_AS_TEXT) || (name && format == TABLE_AS_CSV)) {
        return error_set(error, EXIT_INPUT, "--format %s is for the table%s: leave it out here",
                         options->format, format == TABLE_AS_JSON ? " and for a page" : "");
    }
    return 0;
}

static int run(struct arena *arena, const char *name, const struct schedule_options *options,
               struct error *error)
{
    struct schedule schedule;
    struct sched_request request;
    enum table_format format;
    if (table_parse_format(options->format, &format, error) ||
        check_options(options, name, format, error) || make_request(options, &request, error)) {
        return -1;
    }
    if (!name) {
        return schedule_print_table(&request, options->collective ? request.collective : COLL_NR,
                                    format, stdout, error);
    }
    const char *path = file_of(name);
    if (!path) {
        return make_of_row(name, options, &request, &schedule, error) ||
               show(&schedule, options, format, error);
    }
    if (make_of_file(path, options, arena, &schedule, error)) {
        return -1;
    }
    return show(&schedule, options, format, error) ? error_prefix(error, "%s", path) : 0;
}

int cmd_schedule(int argc, char **argv, struct error *error)
{
    struct schedule_options options;
    struct arena arena = ARENA_EMPTY;
    int argc_left;
    bool help_wanted;
    if (option_parse(&command, argc, argv, &options, &argc_left, &help_wanted, error)) {
        return (int)error->status;
    }
    if (help_wanted) {
        option_print_help(&command, stdout);
        return EXIT_OK;
    }
    if (argc_left > 2) {
        error_set(error, EXIT_INPUT, "expected one algorithm or file, found a second: '%.60s'",
                  argv[2]);
        return (int)error->status;
    }
    int failed = run(&arena, argc_left == 2 ? argv[1] : NULL, &options, error);
    arena_release(&arena);
    return failed ? (int)error->status : EXIT_OK;
}
