/* option_help.c - the page for `ccltune COMMAND --help`, from the same rows that parse.
 *
 * Labels stand in one column, their words in another, wrapped at 80; a label too long for its
 * column gets a line of its own. Defaults come from the rows, so they are what the parser uses.
 */
#include "option.h"

#include <stdbool.h>
#include <string.h>

enum {
    PAGE_WIDTH = 80,
    LABEL_WIDEST = 26, /* longer labels do not push the words to the right */
    LABEL_MAX = 256
};

/* Where the page is being written: words wrap to `indent`. */
struct page {
    FILE *out;
    size_t indent, column;
};

static void page_break(struct page *page)
{
    fprintf(page->out, "\n%*s", (int)page->indent, "");
    page->column = page->indent;
}

/* Writes words, wrapped; '\n' in the text starts a new line. */
static void page_words(struct page *page, const char *text)
{
    bool line_start = true;
    while (*text != '\0') {
        if (*text == '\n') {
            page_break(page);
            line_start = true;
            text++;
            continue;
        }
        size_t spaces = strspn(text, " ");
        size_t length = strcspn(text + spaces, " \n");
        if (length == 0) { /* spaces at the end of a line */
            text += spaces;
            continue;
        }
        if (!line_start && page->column + spaces + length > PAGE_WIDTH) {
            page_break(page);
            spaces -= spaces > 0; /* the space that the break stands for */
            text++;
        }
        fprintf(page->out, "%.*s", (int)(spaces + length), text);
        page->column += spaces + length;
        text += spaces + length;
        line_start = false;
    }
}

/* "-b, --minbytes SIZE" with two spaces in front; options without a short name keep its room. */
static size_t row_label(const struct option_row *row, char *label)
{
    char letter[8] = "    ";
    if (row->short_name != '\0')
        snprintf(letter, sizeof letter, "-%c%s", row->short_name, row->name != NULL ? ", " : "");
    const char *no =
        row->type == OPTION_FLAG && row->otherwise != NULL && strcmp(row->otherwise, "yes") == 0
            ? "[no-]"
            : "";
    bool argument = row->type != OPTION_FLAG && row->argument != NULL;
    int length = snprintf(label, LABEL_MAX, "  %s%s%s%s%s%s", letter, row->name != NULL ? "--" : "",
                          no, row->name != NULL ? row->name : "", argument ? " " : "",
                          argument ? row->argument : "");
    return length < LABEL_MAX ? (size_t)length : LABEL_MAX - 1;
}

static bool row_is_shown(const struct option_row *row)
{
    return row->type != OPTION_HEADING && row->type != OPTION_REFUSED;
}

/* Where the words start: two spaces behind the longest label that is not too long. */
static size_t words_column(const struct option_row *rows)
{
    char label[LABEL_MAX];
    size_t widest = strlen("  -h, --help");
    for (const struct option_row *row = rows; row->type != OPTION_END; row++) {
        size_t length = row_is_shown(row) ? row_label(row, label) : 0;
        if (length > widest && length <= LABEL_WIDEST)
            widest = length;
    }
    return widest + 2;
}

static void print_entry(FILE *out, size_t indent, const char *label, const char *help,
                        const char *otherwise)
{
    struct page page = {out, indent, strlen(label)};
    fputs(label, out);
    if (page.column + 2 > indent) {
        page_break(&page);
    } else {
        fprintf(out, "%*s", (int)(indent - page.column), "");
        page.column = indent;
    }
    page_words(&page, help);
    if (otherwise != NULL) {
        char text[LABEL_MAX];
        snprintf(text, sizeof text, " (default: %.200s)", otherwise);
        bool fits = page.column + strlen(text) <= PAGE_WIDTH;
        if (!fits)
            page_break(&page);
        page_words(&page, fits ? text : text + 1);
    }
    fputc('\n', out);
}

static void print_rows(const struct option_row *rows, FILE *out)
{
    size_t indent = words_column(rows);
    char label[LABEL_MAX];
    if (rows->type != OPTION_HEADING)
        fputs("\nOptions:\n", out);
    for (const struct option_row *row = rows; row->type != OPTION_END; row++) {
        if (row->type == OPTION_HEADING)
            fprintf(out, "\n%s:\n", row->help);
        if (!row_is_shown(row))
            continue;
        row_label(row, label);
        print_entry(out, indent, label, row->help, row->otherwise);
    }
    print_entry(out, indent, "  -h, --help", "shows this page", NULL);
}

void option_print_help(const struct option_command *command, FILE *out)
{
    fprintf(out, "Usage: ccltune %s", command->name);
    struct page usage = {out, strlen("Usage: ccltune ") + strlen(command->name) + 1, 0};
    fputc(' ', out);
    usage.column = usage.indent;
    page_words(&usage, command->usage);
    fputs("\n\n", out);

    struct page summary = {out, 0, 0};
    page_words(&summary, command->summary);
    fputc('\n', out);
    print_rows(command->rows, out);
    if (command->examples != NULL)
        fprintf(out, "\nExamples:\n%s\n", command->examples);
}
