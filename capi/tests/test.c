// Uses every function of protojit.h. Takes the engine's number as its argument.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protojit.h"

#define CHECK(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);     \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

// syntax = "proto3"; message Tiny { string name = 1; }
static const char SET[] =
    "\x0a\x30\x0a\x0atiny.proto\x22\x1a\x0a\x04Tiny\x12\x12\x0a\x04name\x18\x01\x20\x01\x28\x09\x52\x04name\x62\x06proto3";

static const char SHOP[] =
    "syntax = \"proto2\"; package shop;\n"
    "import \"money.proto\";\n"
    "enum State { NEW = 3; PAID = 5; }\n"
    "message Order {\n"
    "  message Line { optional string sku = 1 [default = \"none\"]; optional int32 count = 2 [default = 7]; }\n"
    "  required fixed64 id = 1;\n"
    "  optional State state = 2;\n"
    "  repeated Line lines = 3;\n"
    "  map<string, int32> notes = 4;\n"
    "  oneof pay { Money cash = 5; bool gift = 6; }\n"
    "  repeated double weights = 7;\n"
    "  extensions 100 to 199;\n"
    "}\n"
    "extend Order { optional string region = 100; }\n";
static const char MONEY[] = "syntax = \"proto2\"; package shop; message Money { optional sint64 cents = 1; }";

static const uint8_t *u(const char *text) { return (const uint8_t *)text; }
static PjBytes b(const char *text) { return (PjBytes){u(text), strlen(text)}; }
static bool is(PjBytes bytes, const char *text) { return bytes.len == strlen(text) && !memcmp(bytes.data, text, bytes.len); }

// Compares and frees a buffer.
static void expect(PjBuffer *buffer, const char *bytes, size_t len) {
    CHECK(buffer && pj_buffer_len(buffer) == len && memcmp(pj_buffer_data(buffer), bytes, len) == 0);
    CHECK(pj_buffer_free(buffer) && !pj_buffer_free(buffer));
}

// Checks the kind and the offset of an error, and that it has a text; frees it.
static void expect_error(PjError **error, uint32_t kind, size_t offset) {
    CHECK(*error && pj_error_kind(*error) == kind && pj_error_offset(*error) == offset);
    PjBuffer *text = pj_error_text(*error, NULL);
    CHECK(pj_buffer_len(text) > 0 && pj_buffer_free(text));
    CHECK(pj_error_free(*error) && !pj_error_free(*error));
    *error = NULL;
}

static void bad(PjError **error) { expect_error(error, PJ_ERROR_KIND_ARGUMENT, SIZE_MAX); }

static const PjField *field(const PjLayout *layout, const char *name) {
    for (size_t i = 0; i < layout->field_count; i++) {
        if (is(layout->fields[i].name, name)) return &layout->fields[i];
    }
    CHECK(!"there is such a field");
    return NULL;
}

// The part that a field lies in, made where it does not exist and there is an arena to make it in.
static uint8_t *part(uint8_t *message, const PjLayout *layout, const PjField *field, PjArena *arena) {
    if (field->page == 0) return message;
    uint8_t **cold = (uint8_t **)message;
    if (!*cold && arena) *cold = pj_arena_alloc(arena, layout->cold_size, NULL);
    if (!*cold) return NULL;
    uint8_t **page = (uint8_t **)(*cold + 16) + field->page - 1;
    if (!*page && arena) *page = pj_arena_alloc(arena, layout->pages[field->page - 1], NULL);
    return *page;
}

// Owned messages, JSON, errors.
static void owned(PjRuntime *runtime) {
    PjError *error = NULL;
    PjSchema *schema = pj_register(runtime, u(SET), sizeof SET - 1, &error);
    CHECK(schema);
    CHECK(!pj_register(runtime, u("\x0a"), 1, &error));
    expect_error(&error, PJ_ERROR_KIND_SCHEMA, SIZE_MAX);
    CHECK(!pj_register(runtime, NULL, 5, &error));
    bad(&error);
    expect(pj_schema_messages(schema, &error), "Tiny\n", 5);
    PjMessageType *tiny = pj_message_type(schema, u("Tiny"), 4, &error);
    CHECK(tiny);
    CHECK(!pj_message_type(schema, u("None"), 4, &error));
    expect_error(&error, PJ_ERROR_KIND_SCHEMA, SIZE_MAX);

    // A known field, then an unknown one, which is kept.
    const char wire[] = "\x0a\x03" "Ada\x10\x07";
    PjMessage *message = pj_decode(tiny, u(wire), sizeof wire - 1, &error);
    CHECK(message);
    expect(pj_encode(message, &error), wire, sizeof wire - 1);
    expect(pj_to_json(message, &error), "{\"name\":\"Ada\"}", 14);
    const PjTable *table = pj_message_type_table(tiny, &error);
    CHECK(table && table->layout_count == 1 && is(table->layouts[0].name, "Tiny"));
    const PjStringCell *name = (const PjStringCell *)(pj_message_root(message) + table->layouts[0].fields[0].offset);
    CHECK(name->len == 3 && !memcmp(name->data, "Ada", 3));
    CHECK(pj_message_free(message) && !pj_message_free(message) && !pj_message_root(message));

    CHECK(!pj_decode(tiny, u("\x0a\x01\xff"), 3, &error));
    expect(pj_error_path(error, NULL), "Tiny.name", 9);
    CHECK(pj_error_kind(error) == PJ_ERROR_KIND_DECODE && pj_error_offset(error) < 3);
    pj_error_free(error);
    error = NULL;

    message = pj_from_json(tiny, u("{\"name\":\"Bo\"}"), 13, &error);
    CHECK(message);
    // A message keeps its type, schema and runtime alive.
    CHECK(pj_message_type_free(tiny) && pj_schema_free(schema));
    expect(pj_encode(message, &error), "\x0a\x02" "Bo", 4);
    CHECK(pj_message_free(message));
}

// Reading and writing by layout.
static void by_layout(PjRuntime *runtime) {
    PjError *error = NULL;
    PjBytes root_name = b("shop.proto");
    PjSource sources[] = {{b("shop.proto"), b(SHOP)}, {b("money.proto"), b(MONEY)}};
    PjBytes include = b(".");
    PjBuffer *set = pj_compile_proto(&root_name, 1, sources, 2, &include, 1, &error);
    CHECK(set);
    PjSchema *schema = pj_register(runtime, pj_buffer_data(set), pj_buffer_len(set), &error);
    CHECK(schema && pj_buffer_free(set));
    CHECK(!pj_compile_proto(&root_name, 1, sources, 1, NULL, 0, &error));
    expect_error(&error, PJ_ERROR_KIND_SOURCE, SIZE_MAX);
    uint32_t path[] = {0, 0};
    PjMessageType *line_type = pj_message_type_at(schema, path, 2, &error);
    CHECK(line_type && is(pj_message_type_table(line_type, NULL)->layouts[0].name, "shop.Order.Line"));
    CHECK(!pj_message_type_at(schema, (uint32_t[]){9}, 1, &error));
    expect_error(&error, PJ_ERROR_KIND_SCHEMA, SIZE_MAX);
    PjMessageType *order = pj_message_type_at(schema, path, 1, &error);
    const PjTable *table = pj_message_type_table(order, &error);
    CHECK(table && table->layout_count == 3 && table->enum_count == 1);
    const PjLayout *layout = table->layouts;
    CHECK(is(layout->name, "shop.Order") && layout->oneof_count == 1 && is(layout->oneofs[0], "pay"));
    CHECK(layout->field_count == 8 && layout->page_count == 1 && layout->cold_size == 24);
    const PjEnumeration *state_enum = &table->enums[0];
    CHECK(is(state_enum->name, "shop.State") && state_enum->closed && state_enum->value_count == 2);
    CHECK(is(state_enum->values[1].name, "PAID") && state_enum->values[1].number == 5);
    const PjField *id = field(layout, "id"), *state = field(layout, "state"), *lines = field(layout, "lines");
    const PjField *notes = field(layout, "notes"), *cash = field(layout, "cash"), *gift = field(layout, "gift");
    const PjField *region = field(layout, "[shop.region]"), *weights = field(layout, "weights");
    CHECK(id->required && id->presence == PJ_PRESENCE_BIT && id->kind == PJ_KIND_FIXED64 && id->cell == PJ_CELL_BITS64);
    CHECK(state->enumeration == 0 && state->default_bits == 3 && state->cell == PJ_CELL_BITS32);
    CHECK(cash->presence == PJ_PRESENCE_CASE && cash->oneof == 0 && gift->oneof == 0 && cash->offset == gift->offset);
    CHECK(region->page == 1 && notes->key_kind == PJ_KIND_STRING && notes->kind == PJ_KIND_INT32 && notes->cell == PJ_CELL_MAP);
    const PjLayout *line = &table->layouts[lines->child];
    CHECK(is(line->name, "shop.Order.Line") && field(line, "count")->default_bits == 7);
    CHECK(is(field(line, "sku")->default_bytes, "none"));

    PjArena *arena = pj_arena_new(0, &error);
    CHECK(arena && pj_arena_used(arena) == 0);
    const char wire[] = "\x09\x2a\0\0\0\0\0\0\0" "\x10\x05" "\x1a\x03\x0a\x01" "A" "\x1a\x02\x10\x02" "\x22\x05\x0a\x01k\x10\x09" "\x30\x01"
                        "\x39\0\0\0\0\0\0\xf0\x3f" "\xa2\x06\x02" "EU";
    size_t len = sizeof wire - 1;
    char *input = malloc(len);
    memcpy(input, wire, len);
    for (uint32_t flags = PJ_COPY; flags <= PJ_BORROW; flags++) {
        uint8_t *root = pj_decode_in(order, arena, u(input), len, flags | PJ_RESET, &error);
        CHECK(root && pj_arena_used(arena) > 0);
        if (flags == PJ_COPY) memset(input, 'x', len); // Nothing of it is kept.
        CHECK(*(uint64_t *)(root + id->offset) == 42 && *(uint32_t *)(root + id->presence_offset) & id->presence_mask);
        CHECK(*(int32_t *)(root + state->offset) == 5 && *(uint32_t *)(root + gift->presence_offset) == 6);
        CHECK(root[gift->offset] == 1 && *(uint32_t *)(root + cash->presence_offset) != cash->number);
        const PjListCell *list = (const PjListCell *)(root + lines->offset);
        CHECK(list->len == 2);
        const uint8_t *second = ((const uint8_t *const *)list->data)[1];
        CHECK(*(const int32_t *)(second + field(line, "count")->offset) == 2);
        const PjMapCell *map = *(const PjMapCell *const *)(root + notes->offset);
        const PjStringCell *key = (const PjStringCell *)map->entries;
        CHECK(map->len == 1 && key->len == 1 && key->data[0] == 'k' && *(int32_t *)(map->entries + notes->value_offset) == 9);
        CHECK(*(double *)((const PjListCell *)(root + weights->offset))->data == 1);
        const PjStringCell *where = (const PjStringCell *)(part(root, layout, region, NULL) + region->offset);
        CHECK(where->len == 2 && !memcmp(where->data, "EU", 2));
        memcpy(input, wire, len);
    }

    // A message of our own, encoded again and again into one buffer.
    CHECK(pj_arena_reset(arena) && pj_arena_used(arena) == 0);
    uint8_t *mine = pj_arena_alloc(arena, layout->size, &error);
    PjBuffer *out = pj_buffer_new(&error);
    CHECK(mine && out && pj_buffer_len(out) == 0);
    CHECK(!pj_encode_at(order, mine, PJ_CHECK, out, NULL, &error)); // The id is required.
    expect_error(&error, PJ_ERROR_KIND_ENCODE, SIZE_MAX);
    PjBytes bytes;
    for (uint64_t value = 1; value < 1000; value++) {
        *(uint64_t *)(mine + id->offset) = value;
        *(uint32_t *)(mine + id->presence_offset) |= id->presence_mask;
        CHECK(pj_encode_at(order, mine, 0, out, &bytes, &error) && bytes.len == 9 && !memcmp(bytes.data + 1, &value, 8));
    }
    PjStringCell *text = (PjStringCell *)(part(mine, layout, region, arena) + region->offset);
    *text = (PjStringCell){u("\xff"), 1, 0};
    *(uint32_t *)(part(mine, layout, region, arena) + region->presence_offset) |= region->presence_mask;
    // proto2 does not check; JSON does.
    CHECK(pj_encode_at(order, mine, PJ_CHECK, out, &bytes, &error) && bytes.len == 13);
    CHECK(pj_buffer_data(out) == bytes.data && pj_buffer_len(out) == bytes.len);
    *text = (PjStringCell){u("EU"), 2, 0};
    CHECK(pj_to_json_at(order, mine, PJ_CHECK, out, &bytes, &error));
    CHECK(is(bytes, "{\"id\":\"999\",\"[shop.region]\":\"EU\"}"));
    uint8_t *read = pj_from_json_in(order, arena, bytes.data, bytes.len, 0, &error);
    CHECK(read && *(uint64_t *)(read + id->offset) == 999);
    CHECK(!pj_from_json_in(order, arena, u("{\"id\":1,}"), 9, PJ_RESET, &error));
    expect_error(&error, PJ_ERROR_KIND_JSON, 8);
    CHECK(!pj_decode_in(order, arena, u("\x09\x01"), 2, PJ_COPY, &error) && pj_error_offset(error) <= 2);
    expect(pj_error_path(error, NULL), "Order.id", 8);
    pj_error_free(error);
    error = NULL;

    // Bad handles: null, of another type, freed, made up.
    PjMessageType *bads[] = {NULL, (PjMessageType *)arena, line_type, (PjMessageType *)(uintptr_t)12345, (PjMessageType *)~(uintptr_t)0};
    CHECK(pj_message_type_free(line_type) && !pj_message_type_free(line_type));
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        CHECK(!pj_decode_in(bads[i], arena, u(wire), len, PJ_COPY, &error));
        bad(&error);
        CHECK(!pj_encode_at(bads[i], mine, 0, out, NULL, &error));
        bad(&error);
        CHECK(!pj_message_type_table(bads[i], &error));
        bad(&error);
        CHECK(!pj_decode(bads[i], u(wire), len, &error));
        bad(&error);
        CHECK(!pj_message_type_free(bads[i]));
    }
    CHECK(!pj_decode_in(order, (PjArena *)out, u(wire), len, PJ_COPY, &error));
    bad(&error);
    CHECK(!pj_decode_in(order, arena, u(wire), len, 77, &error));
    bad(&error);
    CHECK(!pj_encode_at(order, NULL, 0, out, NULL, &error));
    bad(&error);
    CHECK(!pj_encode_at(order, mine + 1, 0, out, NULL, &error));
    bad(&error);
    CHECK(!pj_arena_alloc(arena, SIZE_MAX, &error));
    expect_error(&error, PJ_ERROR_KIND_MEMORY, SIZE_MAX);
    PjArena *small = pj_arena_new(4096, &error);
    CHECK(pj_arena_alloc(small, 4000, &error) && !pj_arena_alloc(small, 4000, &error));
    expect_error(&error, PJ_ERROR_KIND_MEMORY, SIZE_MAX);
    CHECK(!pj_decode_in(order, small, u(wire), len, PJ_COPY, &error) && pj_error_kind(error) == PJ_ERROR_KIND_DECODE);
    CHECK(pj_error_free(error) && pj_arena_free(small));
    error = NULL;

    CHECK(pj_arena_flush_counts(arena));
    PjBuffer *trace = pj_runtime_trace(runtime, &error);
    CHECK(trace && pj_buffer_data(trace)[0] == '{');
    char *copy = calloc(1, pj_buffer_len(trace) + 1);
    memcpy(copy, pj_buffer_data(trace), pj_buffer_len(trace));
    CHECK(strstr(copy, "\"shop.Order\""));
    free(copy);
    CHECK(pj_buffer_free(trace) && pj_buffer_free(out));
    CHECK(pj_message_type_free(order) && pj_schema_free(schema));
    CHECK(pj_arena_free(arena) && !pj_arena_free(arena) && !pj_arena_reset(arena) && !pj_arena_flush_counts(arena));
    free(input);
}

// proto3 strings that the caller wrote.
static void checked(PjRuntime *runtime) {
    PjError *error = NULL;
    PjSchema *schema = pj_register(runtime, u(SET), sizeof SET - 1, &error);
    PjMessageType *tiny = pj_message_type(schema, u("Tiny"), 4, &error);
    const PjLayout *layout = pj_message_type_table(tiny, &error)->layouts;
    PjArena *arena = pj_arena_new(0, &error);
    PjBuffer *out = pj_buffer_new(&error);
    uint8_t *mine = pj_arena_alloc(arena, layout->size, &error);
    *(PjStringCell *)(mine + layout->fields[0].offset) = (PjStringCell){u("a\xff"), 2, 0};
    CHECK(layout->fields[0].utf8 && !pj_encode_at(tiny, mine, PJ_CHECK, out, NULL, &error));
    expect(pj_error_path(error, NULL), "Tiny.name", 9);
    expect_error(&error, PJ_ERROR_KIND_ENCODE, SIZE_MAX);
    *(PjStringCell *)(mine + layout->fields[0].offset) = (PjStringCell){u("ab"), 2, 0};
    CHECK(pj_encode_at(tiny, mine, PJ_CHECK, out, NULL, &error));
    // An unknown field, whole and cut off.
    uint8_t *cold = *(uint8_t **)mine = pj_arena_alloc(arena, layout->cold_size, &error);
    PjListCell *unknown = (PjListCell *)cold;
    PjStringCell *run = (PjStringCell *)(unknown->data = pj_arena_alloc(arena, sizeof *run, &error));
    unknown->len = 1;
    *run = (PjStringCell){u("\x10\x07"), 2, 0};
    CHECK(pj_encode_at(tiny, mine, PJ_CHECK, out, NULL, &error) && pj_buffer_len(out) == 6);
    run->len = 1;
    CHECK(!pj_encode_at(tiny, mine, PJ_CHECK, out, NULL, &error));
    expect_error(&error, PJ_ERROR_KIND_ENCODE, SIZE_MAX);
    CHECK(pj_arena_free(arena) && pj_buffer_free(out) && pj_message_type_free(tiny) && pj_schema_free(schema));
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    PjError *error = NULL;
    PjRuntime *runtime = pj_runtime_new((uint32_t)atoi(argv[1]), &error);
    CHECK(runtime && !error);
    CHECK(!pj_runtime_new(77, &error));
    bad(&error);
    owned(runtime);
    by_layout(runtime);
    checked(runtime);
    CHECK(pj_runtime_free(runtime) && !pj_runtime_free(runtime));
    CHECK(!pj_register(runtime, u(SET), sizeof SET - 1, &error)); // Freed.
    bad(&error);
    CHECK(!pj_from_json(NULL, NULL, 0, &error));
    bad(&error);
    CHECK(!pj_encode(NULL, NULL) && !pj_to_json(NULL, NULL) && !pj_decode(NULL, NULL, 0, NULL));
    CHECK(!pj_runtime_trace(NULL, NULL) && !pj_error_path(NULL, NULL) && !pj_error_text(NULL, NULL));
    CHECK(!pj_schema_messages(NULL, NULL) && !pj_message_type_at(NULL, NULL, 0, NULL));
    CHECK(!pj_buffer_data(NULL) && pj_buffer_len(NULL) == 0 && pj_error_kind(NULL) == 0 && !pj_buffer_free(NULL));
    return 0;
}
