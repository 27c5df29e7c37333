/* algo_direct.c - direct: everybody speaks to everybody (or all to the root) in one step.
 *
 *     0 <-> 1    reduce-scatter   c gets chunk c of all, adds   broadcast   the root to all
 *     ^ \ / ^    all-gather       c sends its chunk to all      reduce      the root adds all
 *     |  X  |    all-to-all       p gets chunk p of all         gather      the root gets all
 *     v / \ v    send-recv        to the next, from the one     scatter     the root deals out
 *     3 <-> 2                     before, as nccl-tests does
 *
 * Data goes through slots, so any connection will do; one-shot is the same with direct access.
 *
 * Cost: alpha (more where one port serves n - 1 messages) + beta m (n - 1)/n; broadcast and reduce
 * (n - 1) beta m at the root.
 *
 * Chan, Heimlich, Purkayastha and van de Geijn, Collective communication: theory, practice, and
 * experience, CCPE 2007
 */
#include "algo_parts.h"

/* Everybody else: r + 1, r + 2, ... round to r - 1; so that not all begin with the same one. */
static struct sched_peers others(const struct sched_frame *f)
{
    return build_peers(f, (int32_t)f->r + 1, (int32_t)f->n - 1, f->lane);
}

/* Chunk p for peer p of others(). */
static struct sched_range theirs(const struct sched_frame *f, enum sched_buffer buffer)
{
    struct sched_range range = build_range(f, buffer, (int32_t)f->r + 1);
    range.per_peer = 1;
    return range;
}

struct sched_step *direct_reduce_scatter(struct sched_builder *b, const struct sched_frame *f,
                                         enum sched_via via)
{
    struct sched_step *step = build_step(b, f->lane);
    step_take(step, build_range(f, f->from, (int32_t)f->r));
    if (f->n > 1) {
        step->via = via;
        step_receive(step, others(f));
        step_send(step, others(f), theirs(f, f->from));
    }
    return step;
}

/* Each gives `gives` to all and stores what all give; NULL if there is nobody else. */
static struct sched_step *exchange(struct sched_builder *b, const struct sched_frame *f,
                                   struct sched_range gives)
{
    if (f->n == 1) {
        return NULL;
    }
    struct sched_step *step = build_step(b, f->lane);
    step->combine = SCHED_PLACE;
    step_receive(step, others(f));
    step_store(step, theirs(f, f->to));
    step_send(step, others(f), gives);
    return step;
}

struct sched_step *direct_all_gather(struct sched_builder *b, const struct sched_frame *f,
                                     enum sched_via via)
{
    struct sched_step *step = exchange(b, f, build_range(f, f->to, (int32_t)f->r));
    if (step) {
        step->via = via;
    }
    return step;
}

static struct sched_step *slot_reduce_scatter(struct sched_builder *b, const struct sched_frame *f)
{
    return direct_reduce_scatter(b, f, SCHED_SLOT);
}

static void slot_all_gather(struct sched_builder *b, const struct sched_frame *f)
{
    direct_all_gather(b, f, SCHED_SLOT);
}

const struct algorithm_part part_direct = {
    .name = "direct",
    .reduce_scatter = slot_reduce_scatter,
    .all_gather = slot_all_gather,
    .role = part_role_same,
};

static void all_to_all(struct sched_builder *b, const struct sched_frame *f)
{
    build_copy(b, 0, build_range(f, SCHED_IN, (int32_t)f->r),
               build_range(f, SCHED_OUT, (int32_t)f->r));
    exchange(b, f, theirs(f, SCHED_IN));
}

/* Broadcast and scatter: the root keeps the message (or the first part) and sends `sent` to all. */
static void from_root(struct sched_builder *b, const struct sched_frame *one,
                      struct sched_range sent, bool in_place)
{
    struct sched_step *step = build_pass_down(b, one, one->r > 0 ? 0 : -1, in_place);
    if (one->r == 0 && one->n > 1) {
        step_send(step, others(one), sent);
    }
}

static void gather(struct sched_builder *b, const struct sched_frame *f, struct sched_range own,
                   bool in_place)
{
    if (f->r > 0) {
        step_send(build_step(b, 0), build_peer(f, 0, 0), own);
        return;
    }
    if (!in_place) {
        build_copy(b, 0, own, build_range(f, SCHED_OUT, 0));
    }
    if (f->n > 1) {
        struct sched_step *step = build_step(b, 0);
        step->combine = SCHED_PLACE;
        step_receive(step, others(f));
        step_store(step, theirs(f, SCHED_OUT));
    }
}

static void reduce(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = build_step(b, 0);
    if (f->r > 0) {
        step_send(step, build_peer(f, 0, 0), build_range(f, SCHED_IN, 0));
        return;
    }
    if (f->n > 1) {
        step_receive(step, others(f));
    }
    step_take(step, build_range(f, SCHED_IN, 0));
    step_store(step, build_range(f, SCHED_OUT, 0));
}

static void send_recv(struct sched_builder *b, const struct sched_frame *f)
{
    int32_t r = (int32_t)f->r;
    struct sched_step *step = build_step(b, 0);
    step_store(step, build_range(f, SCHED_OUT, 0));
    if (f->n == 1) {
        step_take(step, build_range(f, SCHED_IN, 0));
        return;
    }
    step_receive(step, build_peer(f, r - 1, 0));
    step_send(step, build_peer(f, r + 1, 0), build_range(f, SCHED_IN, 0));
}

static void direct_emit(struct sched_builder *b, const struct sched_request *request,
                        uint32_t position)
{
    struct sched_frame one = build_frame(request, position, 1);
    struct sched_frame each = build_frame(request, position, request->ranks);
    switch (request->collective) {
    case COLL_BROADCAST:
        from_root(b, &one, build_range(&one, SCHED_IN, 0), request->in_place);
        break;
    case COLL_SCATTER:
        from_root(b, &one, theirs(&each, SCHED_IN), request->in_place);
        break;
    case COLL_GATHER:
        gather(b, &each, build_range(&one, SCHED_IN, 0), request->in_place);
        break;
    case COLL_REDUCE:
        reduce(b, &one);
        break;
    case COLL_ALL_TO_ALL:
        all_to_all(b, &each);
        break;
    case COLL_SEND_RECV:
        send_recv(b, &one);
        break;
    default:
        part_emit(&part_direct, b, request, position);
        break;
    }
}

static uint32_t direct_role(const struct sched_request *request, uint32_t position)
{
    return coll_rooted(request->collective) ? role_root(request, position) : 0;
}

const struct algorithm algorithm_direct = {
    .name = "direct",
    .what = "everybody to everybody, or all to the root, in one step",
    .paper = "Chan, Heimlich, Purkayastha and van de Geijn, Collective communication: theory, "
             "practice, and experience, CCPE 2007",
    .collectives = 1 << COLL_REDUCE_SCATTER | 1 << COLL_ALL_GATHER | 1 << COLL_BROADCAST |
                   1 << COLL_REDUCE | 1 << COLL_ALL_TO_ALL | 1 << COLL_GATHER | 1 << COLL_SCATTER |
                   1 << COLL_SEND_RECV,
    .needs = SCHED_NEEDS_COMMUTATIVE,
    .shape = shape_plain,
    .emit = direct_emit,
    .role = direct_role,
    .order = "ascending positions; the same on all ranks",
};
