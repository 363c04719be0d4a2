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

static const uint8_t *u(const char *text) { return (const uint8_t *)text; }

// Compares and frees a buffer.
static void expect(PjBuffer *buffer, const char *bytes, size_t len) {
    CHECK(buffer && pj_buffer_len(buffer) == len && memcmp(pj_buffer_data(buffer), bytes, len) == 0);
    pj_buffer_free(buffer);
}

// Checks the kind and the offset of an error, and that it has a text; frees it.
static void expect_error(PjError **error, uint32_t kind, size_t offset) {
    CHECK(*error && pj_error_kind(*error) == kind && pj_error_offset(*error) == offset);
    PjBuffer *text = pj_error_text(*error, NULL);
    CHECK(pj_buffer_len(text) > 0);
    pj_buffer_free(text);
    pj_error_free(*error);
    *error = NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    PjError *error = NULL;
    PjRuntime *runtime = pj_runtime_new((uint32_t)atoi(argv[1]), &error);
    CHECK(runtime && !error);
    CHECK(!pj_runtime_new(77, &error));
    expect_error(&error, PJ_ERROR_KIND_ARGUMENT, SIZE_MAX);
    PjSchema *schema = pj_register(runtime, u(SET), sizeof SET - 1, &error);
    CHECK(schema);
    CHECK(!pj_register(runtime, u("\x0a"), 1, &error));
    expect_error(&error, PJ_ERROR_KIND_SCHEMA, SIZE_MAX);
    CHECK(!pj_register(runtime, NULL, 5, &error));
    expect_error(&error, PJ_ERROR_KIND_ARGUMENT, SIZE_MAX);
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
    pj_message_free(message);

    CHECK(!pj_decode(tiny, u("\x0a\x01\xff"), 3, &error));
    expect(pj_error_path(error, NULL), "Tiny.name", 9);
    CHECK(pj_error_kind(error) == PJ_ERROR_KIND_DECODE && pj_error_offset(error) < 3);
    pj_error_free(error);
    error = NULL;

    message = pj_from_json(tiny, u("{\"name\":\"Bo\"}"), 13, &error);
    CHECK(message);
    // A message keeps its type, schema and runtime alive.
    pj_message_type_free(tiny);
    pj_schema_free(schema);
    expect(pj_encode(message, &error), "\x0a\x02" "Bo", 4);
    PjBuffer *trace = pj_runtime_trace(runtime, &error);
    CHECK(trace && pj_buffer_len(trace) > 2 && pj_buffer_data(trace)[0] == '{');
    pj_buffer_free(trace);
    pj_runtime_free(runtime);
    pj_message_free(message);

    CHECK(!pj_from_json(NULL, NULL, 0, &error));
    expect_error(&error, PJ_ERROR_KIND_ARGUMENT, SIZE_MAX);
    CHECK(!pj_encode(NULL, NULL) && !pj_to_json(NULL, NULL) && !pj_decode(NULL, NULL, 0, NULL));
    CHECK(!pj_runtime_trace(NULL, NULL) && !pj_error_path(NULL, NULL) && !pj_error_text(NULL, NULL));
    CHECK(!pj_buffer_data(NULL) && pj_buffer_len(NULL) == 0 && pj_error_kind(NULL) == 0);
    pj_buffer_free(NULL);
    return 0;
}
