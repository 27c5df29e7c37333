/* cmd_help.c - the first page, a command's page, and what this build found. */
#include "build_info.h"
#include "commands.h"

#include <stdio.h>
#include <string.h>

static const char intro[] =
    "ccltune answers: which settings make collectives fastest here, by how much, and how do we\n"
    "know? It measures the real candidates, proves that a choice beats the default in fresh\n"
    "launches, and writes the settings a job takes.\n"
    "\n"
    "  ccltune topo --local                         what machine is this?\n"
    "  ccltune tune --launch 'mpiexec.mpich -n 2'   tune the MPI library, write out/\n"
    "  ccltune verify out                           do the promises hold?\n"
    "  source out/tuned.env                         use it\n"
    "\n"
    "Commands (ccltune COMMAND --help teaches each):\n";

static const char outro[] =
    "\n"
    "Sizes are bytes; K, M, G are powers of 1024; GB/s are 1e9 bytes a second, one direction.\n"
    "Results go to standard output, everything else to standard error.\n"
    "Exit: 0 ok, 1 the answer is no, 2 a file or an option is wrong, 3 not available here,\n"
    "4 the system failed, 5 wrong results were measured.\n";

static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* -1 when there are more words than `most` (argv[0] is one). */
static int check_words(int argc, char **argv, int most, struct error *error)
{
    return argc <= most ? 0 : error_set(error, EXIT_INPUT, "unexpected argument '%s'", argv[most]);
}

int cmd_help(int argc, char **argv, struct error *error)
{
    if (check_words(argc, argv, 2, error)) {
        return (int)error->status;
    }
    if (argc > 1 && !is_help(argv[1])) { /* `help help` comes back with --help */
        const struct command *command = command_find(argv[1], error);
        char help[] = "--help";
        char *page[] = {argv[1], help, NULL};
        if (!command) {
            return (int)error->status;
        }
        if (command->run) {
            return command->run(2, page, error);
        }
        printf("%s: %s\nIts page: ccltune %s --help\n", command->name, command->summary,
               command->name);
        return EXIT_OK;
    }
    fputs(intro, stdout);
    for (const struct command *c = commands; c->name; c++) {
        if (!c->hidden) {
            printf("  %-10s %s\n", c->name, c->summary);
        }
    }
    fputs(outro, stdout);
    return EXIT_OK;
}

int cmd_version(int argc, char **argv, struct error *error)
{
    static const struct {
        const char *what, *found, *absent;
    } parts[] = {
        {"compiler", CCLTUNE_CC, ""},
        {"MPI", CCLTUNE_MPI_NAME, "none: no ranks (make MPICC=...)"},
        {"hwloc", CCLTUNE_HWLOC_VERSION, ""},
        {"GSL", CCLTUNE_GSL_VERSION, ""},
        {"libyaml", CCLTUNE_YAML_VERSION, ""},
        {"jansson", CCLTUNE_JANSSON_VERSION, ""},
    };
    if (check_words(argc, argv, argc > 1 && is_help(argv[1]) ? 2 : 1, error)) {
        return (int)error->status;
    }
    printf("ccltune %s\n", CCLTUNE_VERSION);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        printf("  %-9s %s\n", parts[i].what, parts[i].found[0] ? parts[i].found : parts[i].absent);
    }
    return EXIT_OK;
}
