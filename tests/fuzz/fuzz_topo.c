/* fuzz_topo.c - any bytes as a topology: a worded error, or a machine that every reader of it can
 * work with and that survives being written and read again. */
#include "json.h"
#include "topo.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_type(const struct topo_host_type *type)
{
    require(topo_usable_cores(type) <= type->nr_cores && type->nr_cores <= type->nr_threads);
    for (size_t i = 0; i < type->nr_links; i++) {
        const struct topo_link *link = &type->links[i];
        require(link->from.index < type->nodes[link->from.type].nr);
        require(link->to.index < type->nodes[link->to.type].nr);
        require(!(link->bytes_per_second <= 0));
    }
    for (size_t i = 0; i < type->nodes[TOPO_CACHE].nr; i++) {
        const struct topo_node *cache = &type->nodes[TOPO_CACHE].items[i];
        require(cache->shared_by > 0 && cache->cores.nr % cache->shared_by == 0);
        require(cache->cores.first + cache->cores.nr <= type->nr_cores);
    }
}

static void check_round_trip(struct arena *arena, const struct topo *topo)
{
    struct topo back;
    struct error error = ERROR_NONE;
    char before[TOPO_FINGERPRINT_TEXT], after[TOPO_FINGERPRINT_TEXT];
    char *text = topo_to_yaml(topo);
    require(topo_load_text(arena, text, strlen(text), "output", &back, &error) == 0);
    char *again = topo_to_yaml(&back);
    require(strcmp(text, again) == 0);
    require(strcmp(topo_fingerprint(topo, before), topo_fingerprint(&back, after)) == 0);
    free(text);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct topo topo;
    if (topo_load_text(&arena, (const char *)data, size, "input", &topo, &error) == 0) {
        for (size_t i = 0; i < topo.nr_types; i++) {
            check_type(&topo.types[i]);
        }
        require(topo_describe(&arena, &topo)[0] != '\0');
        json_free(topo_to_json(&topo));
        check_round_trip(&arena, &topo);
    } else {
        require(error.status == EXIT_INPUT && strncmp(error.message, "input:", 6) == 0);
    }
    arena_release(&arena);
    return 0;
}
