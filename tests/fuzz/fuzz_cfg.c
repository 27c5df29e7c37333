/* fuzz_cfg.c - any bytes as YAML: a tree or a worded error, and a tree that holds its promises. */
#include "cfg.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Reads the node as every type; the answers do not matter, the errors must be worded. */
static void read_as_all(const struct cfg_node *node)
{
    const char *text = NULL;
    uint64_t whole = 0;
    double real = 0;
    bool truth = false;
    struct error errors[7] = {0};
    const int results[7] = {
        cfg_read_text(node, &text, &errors[0]),     cfg_read_count(node, &whole, &errors[1]),
        cfg_read_number(node, &real, &errors[2]),   cfg_read_bool(node, &truth, &errors[3]),
        cfg_read_bytes(node, &whole, &errors[4]),   cfg_read_bandwidth(node, &real, &errors[5]),
        cfg_read_duration(node, &real, &errors[6]),
    };
    for (size_t i = 0; i < 7; i++) {
        require((results[i] == 0) == (errors[i].message[0] == '\0'));
    }
}

static void check_node(const struct cfg_node *node, const struct cfg_node *parent)
{
    static const char *const known[] = {"hosts", "fabric", "rails", NULL};
    struct error error = ERROR_NONE;
    require(node->line > 0 && node->column > 0 && node->file != NULL);
    require((node->key != NULL) == (parent != NULL && parent->type == CFG_MAP));
    require(node->key == NULL || cfg_get(parent, node->key) == node);
    require((node->text != NULL) == (node->type == CFG_TEXT));
    require(cfg_check_keys(node, known, &error) == 0 || error.status == EXIT_INPUT);
    read_as_all(node);
    for (size_t i = 0; i < node->nr; i++) {
        check_node(&node->items[i], node);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    const struct cfg_node *root = NULL;
    if (cfg_load_text(&arena, (const char *)data, size, "input", &root, &error) == 0) {
        check_node(root, NULL);
    } else {
        require(root == NULL && error.status == EXIT_INPUT);
        require(strncmp(error.message, "input:", 6) == 0);
    }
    arena_release(&arena);
    return 0;
}
