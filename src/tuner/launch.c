/* launch.c - fork, exec, and an orderly end. */
#include "launch.h"

#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

int launch_split(const char *command, struct arena *arena, char ***words, size_t *nr,
                 struct error *error)
{
    size_t length = strlen(command), count = 0;
    char **list = arena_alloc(arena, length / 2 + 2, sizeof *list);
    char *out = arena_alloc(arena, length + 1, 1);
    const char *in = command;
    while (*in) {
        if (strchr(" \t\n", *in)) {
            in++;
            continue;
        }
        char quote = 0;
        list[count++] = out;
        for (; *in && (quote || !strchr(" \t\n", *in)); in++) {
            if (quote ? *in == quote : *in == '"' || *in == '\'') {
                quote = quote ? 0 : *in;
            } else if (*in == '\\' && in[1] &&
                       (!quote || (quote == '"' && strchr("\"\\$`", in[1])))) {
                *out++ = *++in;
            } else {
                *out++ = *in;
            }
        }
        if (quote) {
            return error_set(error, EXIT_INPUT, "launch command: a %c is not closed in: %s", quote,
                             command);
        }
        *out++ = 0;
    }
    *words = list;
    *nr = count;
    if (count == 0) {
        return error_set(error, EXIT_INPUT,
                         "launch command: empty; expected such as "
                         "--launch 'mpiexec -n 8'");
    }
    return 0;
}

/* A launch inside a launch must not take itself for a rank of the outer one. Outside of one the
 * same prefixes are the user's settings of the launcher (HYDRA_HOST_FILE, OMPI_MCA_...) and stay.
 */
static void forget_outer_launch(void)
{
    if (!getenv("PMI_RANK") && !getenv("PMIX_RANK") && !getenv("OMPI_COMM_WORLD_RANK")) {
        return;
    }
    static const char *const prefixes[] = {"PMI_",  "PMIX_", "HYDRA_",   "HYDI_",
                                           "OMPI_", "PRTE_", "MPIEXEC_", "MPI_LOCAL"};
    for (size_t i = 0; environ && environ[i];) {
        bool drop = false;
        for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
            drop = drop || !strncmp(environ[i], prefixes[p], strlen(prefixes[p]));
        }
        char name[256];
        size_t length = strcspn(environ[i], "=");
        if (drop && length < sizeof name) {
            memcpy(name, environ[i], length);
            name[length] = 0;
            unsetenv(name);
        } else {
            i++;
        }
    }
}

_Noreturn static void become(char *const words[], int output, int report, pid_t parent)
{
    int nothing = open("/dev/null", O_RDONLY);
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(EXIT_SYSTEM); /* the parent died between fork and prctl */
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    forget_outer_launch();
    execvp(words[0], words);
    int reason = errno;
    ssize_t ignored = write(report, &reason, sizeof reason);
    (void)ignored;
    _exit(127);
}

int launch_start(char *const words[], struct launch *launch, struct error *error)
{
    int output[2] = {-1, -1}, report[2] = {-1, -1}, reason = 0;
    pid_t parent = getpid();
    if (pipe2(output, O_CLOEXEC) || pipe2(report, O_CLOEXEC)) {
        int saved = errno;
        close(output[0]);
        close(output[1]);
        return error_errno(error, saved, "making a pipe for '%s'", words[0]);
    }
    pid_t pid = fork();
    if (pid == 0) {
        become(words, output[1], report[1], parent);
    }
    close(output[1]);
    close(report[1]);
    if (pid < 0) {
        int saved = errno;
        close(output[0]);
        close(report[0]);
        return error_errno(error, saved, "starting '%s'", words[0]);
    }
    setpgid(pid, pid);
    ssize_t got;
    do {
        got = read(report[0], &reason, sizeof reason); /* ends when exec succeeds */
    } while (got < 0 && errno == EINTR);
    close(report[0]);
    if (got == (ssize_t)sizeof reason) {
        waitpid(pid, NULL, 0);
        close(output[0]);
        return error_set(error, EXIT_ABSENT,
                         "cannot start the launcher '%s': %s; give the right one with --launch, "
                         "such as --launch 'mpiexec.mpich -n 2'",
                         words[0], strerror(reason));
    }
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    *launch = (struct launch){.pid = pid, .output_fd = output[0]};
    return 0;
}

static void take_output(struct launch *launch)
{
    char piece[4096];
    ssize_t got;
    while (launch->output_fd >= 0 && (got = read(launch->output_fd, piece, sizeof piece)) != -1) {
        if (got == 0) {
            close(launch->output_fd);
            launch->output_fd = -1;
            return;
        }
        size_t nr = (size_t)got, keep = launch->tail_nr;
        const char *from = piece;
        if (nr > LAUNCH_TAIL_BYTES) {
            from += nr - LAUNCH_TAIL_BYTES;
            nr = LAUNCH_TAIL_BYTES;
        }
        if (keep + nr > LAUNCH_TAIL_BYTES) {
            keep = LAUNCH_TAIL_BYTES - nr;
            memmove(launch->tail, launch->tail + launch->tail_nr - keep, keep);
        }
        memcpy(launch->tail + keep, from, nr);
        launch->tail_nr = keep + nr;
        launch->tail[launch->tail_nr] = 0;
    }
}

void launch_poll(struct launch *launch)
{
    if (!launch->ended && launch->pid > 0 &&
        waitpid(launch->pid, &launch->exit_status, WNOHANG) == launch->pid) {
        launch->ended = true;
    }
    take_output(launch);
}

static bool ends_within(struct launch *launch, double seconds)
{
    double deadline = wire_now() + seconds;
    const struct timespec pause = {0, 2000000};
    for (;;) {
        launch_poll(launch);
        if (launch->ended || wire_now() > deadline) {
            return launch->ended;
        }
        nanosleep(&pause, NULL);
    }
}

void launch_stop(struct launch *launch, double grace)
{
    if (launch->pid <= 0) {
        return;
    }
    if (!ends_within(launch, 0)) {
        kill(-launch->pid, SIGTERM);
        if (!ends_within(launch, grace)) {
            kill(-launch->pid, SIGKILL);
            ends_within(launch, 60);
        }
    }
    kill(-launch->pid, SIGKILL); /* whatever of the group outlived its leader */
    take_output(launch);
    if (launch->output_fd >= 0) {
        close(launch->output_fd);
        launch->output_fd = -1;
    }
    launch->pid = 0;
}

const char *launch_describe_end(const struct launch *launch, struct arena *arena)
{
    if (!launch->ended) {
        return "is still running";
    }
    if (WIFSIGNALED(launch->exit_status)) {
        return arena_printf(arena, "was killed by signal %d", WTERMSIG(launch->exit_status));
    }
    return arena_printf(arena, "exited with %d", WEXITSTATUS(launch->exit_status));
}
