/* check_slot.c - a connection while it runs: slots posted, taken and freed, and who waits for that.
 */
#include "check_internal.h"

/* ---- waiting and waking ---- */

enum check_result check_slot_wait(struct check_lane *lane, enum check_wait wait,
                                  struct check_connection *connection)
{
    lane->wait = wait;
    lane->waits_on = connection;
    return CHECK_WAITS;
}

void check_slot_ready(struct check *check, struct check_lane *lane)
{
    lane->wait = CHECK_RUNS;
    lane->waits_on = NULL;
    check->ready[check->nr_ready++] = lane->actor;
}

void check_slot_wake(struct check *check, uint32_t actor, const struct check_connection *connection)
{
    if (check->lane[actor].waits_on == connection) {
        check_slot_ready(check, &check->lane[actor]);
    }
}

/* ---- slices ---- */

struct check_slot *check_slot_at(const struct check *check,
                                 const struct check_connection *connection, uint64_t nr)
{
    return &connection->slots[nr & (check->options.window - 1)];
}

/* Is a slot free? Then its freeing is seen. */
bool check_slot_room(struct check *check, const struct check_lane *lane,
                     const struct check_connection *connection)
{
    if (connection->posted - connection->taken >= check->options.window) {
        return false;
    }
    struct check_stamp **freed =
        &connection->freed[connection->posted & (check->options.window - 1)];
    check_clock_acquire(&check->clocks, lane->actor, *freed);
    check_clock_drop(&check->clocks, *freed);
    *freed = NULL;
    return true;
}

int check_slot_stamp(struct check *check, const struct check_lane *lane, struct check_stamp **made)
{
    *made = check_clock_stamp(&check->clocks, lane->actor);
    return *made ? 0
                 : check_fail(check, FAULT_MALFORMED,
                              "too large to be checked: too many slices are under way at once");
}

int check_slot_post(struct check *check, const struct check_lane *lane,
                    struct check_connection *connection, uint32_t value, uint32_t cell)
{
    struct check_slot *slot = check_slot_at(check, connection, connection->posted);
    *slot = (struct check_slot){.value = value, .cell = cell};
    if (check_slot_stamp(check, lane, &slot->stamp)) {
        return -1;
    }
    connection->posted++;
    check_slot_wake(check, connection->to, connection);
    return 0;
}

/* Takes the next slice and frees its slot. */
int check_slot_take(struct check *check, const struct check_lane *lane,
                    struct check_connection *connection)
{
    struct check_slot *slot = check_slot_at(check, connection, connection->taken);
    check_clock_drop(&check->clocks, slot->stamp);
    slot->stamp = NULL;
    struct check_stamp **freed =
        &connection->freed[connection->taken & (check->options.window - 1)];
    if (check_slot_stamp(check, lane, freed)) {
        return -1;
    }
    connection->taken++;
    check_slot_wake(check, connection->from, connection);
    return 0;
}
