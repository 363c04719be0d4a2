/* The C ABI of protojit. Made by cbindgen from capi/src: change that, then run its tests with PROTOJIT_BLESS=1.
 *
 * Handles are opaque. A function that makes one hands it to the caller, who frees it with the function named next to it; handles keep alive
 * what they were made from, so that they may be freed in any order. A function that can fail gives null or false and, where `error` is not null,
 * stores an error there, to be freed with pj_error_free; `*error` is written on failure only. Panics are caught and become errors.
 *
 * Handles are checked: null, a handle of another type, one that was freed and any other number give errors. What else is passed by address
 * (inputs, and messages in arenas) cannot be checked.
 *
 * Runtimes, schemas and message types may be shared between threads. A message may be read by many threads at once. Arenas and buffers are
 * for one thread at a time.
 */

#ifndef PROTOJIT_H
#define PROTOJIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// No layout, no enum, no oneof.
#define PJ_NONE UINT32_MAX

// Copies the input: nothing of it is kept.
#define PJ_COPY 0

// Strings of the message may point into the input, which stays where it is, unchanged, as long as the message is read.
#define PJ_BORROW 1

// Resets the arena first: a call less.
#define PJ_RESET 2

// The caller wrote the message: look whether strings are UTF-8 where they must be, and unknown fields whole.
#define PJ_CHECK 4

// The engine of a runtime.
enum PjEngine
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Compiled code where this platform was tested for it, else the interpreter.
  PJ_ENGINE_AUTO = 0,
  // Compiled code wherever the compiler supports the machine.
  PJ_ENGINE_JIT = 1,
  // The interpreter only.
  PJ_ENGINE_INTERP = 2,
  // What the environment variables say, `PROTOJIT_ENGINE` among them.
  PJ_ENGINE_ENVIRONMENT = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum PjEngine PjEngine;
#else
typedef uint32_t PjEngine;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What kind of failure an error is.
enum PjErrorKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // An argument is null, out of range, or no live handle of its type.
  PJ_ERROR_KIND_ARGUMENT = 1,
  // The descriptors are not valid, or the schema has no such message.
  PJ_ERROR_KIND_SCHEMA = 2,
  // The bytes are no valid message, or a limit is reached.
  PJ_ERROR_KIND_DECODE = 3,
  // The message cannot be written.
  PJ_ERROR_KIND_ENCODE = 4,
  // The text is not JSON of this message, or the message has no JSON.
  PJ_ERROR_KIND_JSON = 5,
  // A fault of this library; please report it.
  PJ_ERROR_KIND_INTERNAL = 6,
  // The `.proto` sources cannot be compiled.
  PJ_ERROR_KIND_SOURCE = 7,
  // An arena is full.
  PJ_ERROR_KIND_MEMORY = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum PjErrorKind PjErrorKind;
#else
typedef uint32_t PjErrorKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a field's cell holds. docs/LAYOUT.md describes the cells.
enum PjCell
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // One byte, 0 or 1.
  PJ_CELL_BOOL = 0,
  // Four bytes.
  PJ_CELL_BITS32 = 1,
  // Eight bytes.
  PJ_CELL_BITS64 = 2,
  // A string or bytes: `PjStringCell`.
  PJ_CELL_STRING = 3,
  // A pointer to a message, null where absent.
  PJ_CELL_MESSAGE = 4,
  // A list: `PjListCell`. Each element is the cell that the field's kind has where it is singular.
  PJ_CELL_LIST = 5,
  // A pointer to a `PjMapCell`, null where empty.
  PJ_CELL_MAP = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum PjCell PjCell;
#else
typedef uint32_t PjCell;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How a field tells set from unset.
enum PjPresence
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Set where the word at `presence_offset` has a bit of `presence_mask`.
  PJ_PRESENCE_BIT = 0,
  // Set where its pointer is not null.
  PJ_PRESENCE_POINTER = 1,
  // Member of a oneof: set where the word at `presence_offset` is the field's number.
  PJ_PRESENCE_CASE = 2,
  // Set where the value's bits are not all zero, the string not empty.
  PJ_PRESENCE_NON_ZERO = 3,
  // List or map: set where it is not empty.
  PJ_PRESENCE_NON_EMPTY = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum PjPresence PjPresence;
#else
typedef uint32_t PjPresence;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The type of a field, by the numbers of `FieldDescriptorProto.Type`; groups are messages.
enum PjKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // `double`
  PJ_KIND_DOUBLE = 1,
  // `float`
  PJ_KIND_FLOAT = 2,
  // `int64`
  PJ_KIND_INT64 = 3,
  // `uint64`
  PJ_KIND_UINT64 = 4,
  // `int32`
  PJ_KIND_INT32 = 5,
  // `fixed64`
  PJ_KIND_FIXED64 = 6,
  // `fixed32`
  PJ_KIND_FIXED32 = 7,
  // `bool`
  PJ_KIND_BOOL = 8,
  // `string`
  PJ_KIND_STRING = 9,
  // A message.
  PJ_KIND_MESSAGE = 11,
  // `bytes`
  PJ_KIND_BYTES = 12,
  // `uint32`
  PJ_KIND_UINT32 = 13,
  // An enum.
  PJ_KIND_ENUM = 14,
  // `sfixed32`
  PJ_KIND_SFIXED32 = 15,
  // `sfixed64`
  PJ_KIND_SFIXED64 = 16,
  // `sint32`
  PJ_KIND_SINT32 = 17,
  // `sint64`
  PJ_KIND_SINT64 = 18,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum PjKind PjKind;
#else
typedef uint32_t PjKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Memory that messages are decoded into, for one thread at a time.
typedef struct PjArena PjArena;

// Bytes that the library made. One that is passed to a function is written anew, and keeps its memory for that.
typedef struct PjBuffer PjBuffer;

// Why a function failed.
typedef struct PjError PjError;

// A message that owns its memory.
typedef struct PjMessage PjMessage;

// A message of a schema, ready to decode and encode.
typedef struct PjMessageType PjMessageType;

// Where and how messages are compiled.
typedef struct PjRuntime PjRuntime;

// Registered descriptors.
typedef struct PjSchema PjSchema;

// Bytes at an address, as lent by one side to the other. Not terminated by a zero.
typedef struct PjBytes {
  // The first byte; may be null where there are none.
  const uint8_t *data;
  // How many.
  uintptr_t len;
} PjBytes;

// A `.proto` file in memory.
typedef struct PjSource {
  // The name that imports give it, UTF-8.
  struct PjBytes name;
  // Its text, UTF-8.
  struct PjBytes text;
} PjSource;

// A field, or a known extension, and where it lies.
typedef struct PjField {
  // Its name; of an extension the full name in brackets.
  struct PjBytes name;
  // Its name in JSON.
  struct PjBytes json_name;
  // Its number.
  uint32_t number;
  // A `PjKind`: of a list's elements, of a map's values.
  uint32_t kind;
  // A map's `PjKind` of keys, else 0.
  uint32_t key_kind;
  // A `PjCell`.
  uint32_t cell;
  // 0 where it lies in the message itself, else the cold page, counted from 1.
  uint32_t page;
  // Of its cell, from the start of the message or of its page.
  uint32_t offset;
  // A `PjPresence`.
  uint32_t presence;
  // Of its presence or case word, from the start of the message or of its page.
  uint32_t presence_offset;
  // Its presence bit.
  uint32_t presence_mask;
  // Its messages' position in `layouts`, `PJ_NONE` where it has none.
  uint32_t child;
  // Its enum's position in `enums`, `PJ_NONE` where it has none.
  uint32_t enumeration;
  // The position of its oneof in the layout's `oneofs`, `PJ_NONE` where it is in none.
  uint32_t oneof;
  // A map's offset of the value in its entry.
  uint32_t value_offset;
  // A map's bytes from one entry to the next.
  uint32_t stride;
  // 1 where a message without it is not valid.
  uint32_t required;
  // 1 where its strings must be UTF-8.
  uint32_t utf8;
  // What an unset one counts as: the bits of numbers (extended to 64, floats as 32), the number of an enum, 0 or 1.
  uint64_t default_bits;
  // What an unset string or bytes field counts as.
  struct PjBytes default_bytes;
} PjField;

// A message's memory.
typedef struct PjLayout {
  // Full name of the message.
  struct PjBytes name;
  // The fields, ascending by number.
  const struct PjField *fields;
  // How many.
  uintptr_t field_count;
  // The names of its oneofs, those made up for `optional` fields left out.
  const struct PjBytes *oneofs;
  // How many.
  uintptr_t oneof_count;
  // The sizes of its cold pages in bytes.
  const uint32_t *pages;
  // How many.
  uintptr_t page_count;
  // The size of the message itself in bytes, a multiple of eight.
  uint32_t size;
  // The size of its cold part in bytes.
  uint32_t cold_size;
} PjLayout;

// A value of an enum.
typedef struct PjEnumValue {
  // Its name.
  struct PjBytes name;
  // Its number.
  int32_t number;
} PjEnumValue;

// An enum.
typedef struct PjEnumeration {
  // Full name.
  struct PjBytes name;
  // Its values, in the order of their declaration.
  const struct PjEnumValue *values;
  // How many.
  uintptr_t value_count;
  // 1 where other numbers are no values of it.
  uint32_t closed;
} PjEnumeration;

// The layouts of a message and of all messages that it reaches.
typedef struct PjTable {
  // The message's own comes first.
  const struct PjLayout *layouts;
  // How many.
  uintptr_t layout_count;
  // The enums of their fields.
  const struct PjEnumeration *enums;
  // How many.
  uintptr_t enum_count;
} PjTable;

// The cell of a string or of bytes. All zeros are an empty one.
typedef struct PjStringCell {
  // The first byte; without meaning where `len` is 0.
  const uint8_t *data;
  // Length in bytes, at most 2^31-1.
  uint32_t len;
  // 0 where the bytes are borrowed.
  uint32_t cap;
} PjStringCell;

// The cell of a list, and of the unknown fields: string cells at the start of the cold part. All zeros are an empty one.
typedef struct PjListCell {
  // The elements, next to each other.
  uint8_t *data;
  // How many.
  uint32_t len;
  // How many fit; 0 where they are borrowed.
  uint32_t cap;
} PjListCell;

// A map. Entry `i` begins at `entries + i * stride`: the key, and the value at `value_offset`.
typedef struct PjMapCell {
  // The first entry.
  uint8_t *entries;
  // How many.
  uint32_t len;
  // How many fit.
  uint32_t cap;
  // The library's own index; null in a map that others made, which is then for `pj_encode_at` and `pj_to_json_at` only.
  uint8_t *index;
  // The library's own.
  uint32_t index_mask;
  // The library's own.
  uint32_t reserved;
} PjMapCell;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Frees an error; false where it is no live one.
//
// # Safety
// `error` is not used again, nor by another thread now.
bool pj_error_free(struct PjError *error);

// A `PjErrorKind`; 0 where it is no live error.
//
// # Safety
// No other thread frees the error meanwhile.
uint32_t pj_error_kind(const struct PjError *error);

// The byte of the input where the failure was found, `SIZE_MAX` where there is none.
//
// # Safety
// No other thread frees the error meanwhile.
uintptr_t pj_error_offset(const struct PjError *error);

// The field, such as `Person.address.zip`; empty where there is none. Free it with `pj_buffer_free`.
//
// # Safety
// `error` is null or may be written; no other thread frees `of` meanwhile.
struct PjBuffer *pj_error_path(const struct PjError *of,
                               struct PjError **error);

// What happened, for people. Free it with `pj_buffer_free`.
//
// # Safety
// `error` is null or may be written; no other thread frees `of` meanwhile.
struct PjBuffer *pj_error_text(const struct PjError *of, struct PjError **error);

// An empty buffer, to be written to again and again. Free it with `pj_buffer_free`.
//
// # Safety
// `error` is null or may be written.
struct PjBuffer *pj_buffer_new(struct PjError **error);

// Frees a buffer; false where it is no live one.
//
// # Safety
// The buffer and its bytes are not used again, nor by another thread now.
bool pj_buffer_free(struct PjBuffer *buffer);

// The bytes, valid until the buffer is written to again or freed; null where it is no live buffer.
//
// # Safety
// No other thread writes to the buffer or frees it meanwhile.
const uint8_t *pj_buffer_data(const struct PjBuffer *buffer);

// How many bytes; 0 where it is no live buffer.
//
// # Safety
// No other thread writes to the buffer or frees it meanwhile.
uintptr_t pj_buffer_len(const struct PjBuffer *buffer);

// A runtime with default settings; `engine` is a `PjEngine`. Free it with `pj_runtime_free`.
//
// # Safety
// `error` is null or may be written.
struct PjRuntime *pj_runtime_new(uint32_t engine, struct PjError **error);

// Frees a runtime; false where it is no live one. What was made from it stays alive.
//
// # Safety
// The runtime is not used again, nor by another thread now.
bool pj_runtime_free(struct PjRuntime *runtime);

// What was compiled and which engine ran, as JSON. Calls that decoded into arenas are counted once `pj_arena_flush_counts` was called or
// the arena was freed. Free it with `pj_buffer_free`.
//
// # Safety
// `error` is null or may be written; no other thread frees the runtime meanwhile.
struct PjBuffer *pj_runtime_trace(const struct PjRuntime *runtime,
                                  struct PjError **error);

// Registers a serialized `FileDescriptorSet`, of which nothing is kept. Free it with `pj_schema_free`.
//
// # Safety
// `len` bytes may be read at `data`; `error` is null or may be written; no other thread frees the runtime meanwhile.
struct PjSchema *pj_register(const struct PjRuntime *runtime,
                             const uint8_t *data,
                             uintptr_t len,
                             struct PjError **error);

// Compiles `.proto` files, and all they import, to a serialized `FileDescriptorSet`. `names` are the files to compile, by the names that
// imports would give them. Each is looked for in `sources`, then in the directories `includes`, then among Google's own. Free the bytes with
// `pj_buffer_free`.
//
// # Safety
// The arrays, and the bytes that they name, may be read; `error` is null or may be written.
struct PjBuffer *pj_compile_proto(const struct PjBytes *names,
                                  uintptr_t name_count,
                                  const struct PjSource *sources,
                                  uintptr_t source_count,
                                  const struct PjBytes *includes,
                                  uintptr_t include_count,
                                  struct PjError **error);

// Frees a schema; false where it is no live one. What was made from it stays alive.
//
// # Safety
// The schema is not used again, nor by another thread now.
bool pj_schema_free(struct PjSchema *schema);

// The full names of all messages but map entries, in the order of their declaration, each followed by a line feed. Free them with
// `pj_buffer_free`.
//
// # Safety
// `error` is null or may be written; no other thread frees the schema meanwhile.
struct PjBuffer *pj_schema_messages(const struct PjSchema *schema,
                                    struct PjError **error);

// The message type of a full name, which is `len` bytes of UTF-8. Compiles its decoder. Free it with `pj_message_type_free`.
//
// # Safety
// `len` bytes may be read at `name`; `error` is null or may be written; no other thread frees the schema meanwhile.
struct PjMessageType *pj_message_type(const struct PjSchema *schema,
                                      const uint8_t *name,
                                      uintptr_t len,
                                      struct PjError **error);

// The message type at an index path in the last file of the set, as schema registries send it: 1, 0 is the first message nested in the
// second. Free it with `pj_message_type_free`.
//
// # Safety
// `len` numbers may be read at `path`; `error` is null or may be written; no other thread frees the schema meanwhile.
struct PjMessageType *pj_message_type_at(const struct PjSchema *schema,
                                         const uint32_t *path,
                                         uintptr_t len,
                                         struct PjError **error);

// Frees a message type, and its table; false where it is no live one. Messages of it stay alive.
//
// # Safety
// The message type is not used again, nor by another thread now.
bool pj_message_type_free(struct PjMessageType *message_type);

// Where the fields of the message, and of all messages that it reaches, lie in memory. Made on the first call, valid until the message
// type is freed. Null after an error.
//
// # Safety
// `error` is null or may be written; no other thread frees the message type meanwhile.
const struct PjTable *pj_message_type_table(const struct PjMessageType *message_type,
                                            struct PjError **error);

// An empty arena, which takes memory as it is used: at most `limit` bytes, 2 GiB where that is 0. What needs more fails. Free it with
// `pj_arena_free`.
//
// # Safety
// `error` is null or may be written.
struct PjArena *pj_arena_new(uintptr_t limit,
                             struct PjError **error);

// Frees an arena and all messages in it; false where it is no live one.
//
// # Safety
// The arena and its messages are not used again, nor by another thread now.
bool pj_arena_free(struct PjArena *arena);

// Ends all messages in the arena and keeps its memory for the next; false where it is no live arena.
//
// # Safety
// No other thread uses the arena now; its messages are not used again.
bool pj_arena_reset(struct PjArena *arena);

// Bytes handed out since the last reset; 0 where it is no live arena.
//
// # Safety
// No other thread uses the arena now.
uintptr_t pj_arena_used(const struct PjArena *arena);

// Adds the decodes into this arena to what `pj_runtime_trace` tells; false where it is no live arena.
//
// # Safety
// No other thread uses the arena now.
bool pj_arena_flush_counts(const struct PjArena *arena);

// `size` zero bytes of the arena, aligned to eight: zeros are an empty message, list or cold part, to be filled by layout. Null after an
// error.
//
// # Safety
// `error` is null or may be written; no other thread uses the arena now.
uint8_t *pj_arena_alloc(struct PjArena *arena,
                        uintptr_t size,
                        struct PjError **error);

// Decodes into an arena. `flags`: `PJ_COPY` or `PJ_BORROW`, whatever the size, and `PJ_RESET`. Gives the address of the message, which lies
// there as `pj_message_type_table` says until the arena is reset or freed; null after an error.
//
// # Safety
// `len` bytes may be read at `data`; `error` is null or may be written; no other thread uses the arena or frees the message type now.
uint8_t *pj_decode_in(const struct PjMessageType *message_type,
                      struct PjArena *arena,
                      const uint8_t *data,
                      uintptr_t len,
                      uint32_t flags,
                      struct PjError **error);

// Reads a message from JSON into an arena. Gives its address as `pj_decode_in` does; `flags`: 0 or `PJ_RESET`.
//
// # Safety
// As `pj_decode_in`.
uint8_t *pj_from_json_in(const struct PjMessageType *message_type,
                         struct PjArena *arena,
                         const uint8_t *data,
                         uintptr_t len,
                         uint32_t flags,
                         struct PjError **error);

// Encodes the message at an address into a buffer, whose memory is used again. `flags`: 0 or `PJ_CHECK`. The bytes go to `*out`; they are
// valid until the buffer is written to again or freed. False after an error.
//
// # Safety
// At `root` lies a live message of this type, made by this library, or written by the caller as the type's table says: this is not
// checked. `out` and `error` are null or may be written; no other thread uses the buffer, or changes the message, or frees the message
// type now.
bool pj_encode_at(const struct PjMessageType *message_type,
                  const uint8_t *root,
                  uint32_t flags,
                  struct PjBuffer *buffer,
                  struct PjBytes *out,
                  struct PjError **error);

// Writes the message at an address as JSON into a buffer, as `pj_encode_at` does its bytes. `flags`: 0 or `PJ_CHECK`.
//
// # Safety
// As `pj_encode_at`.
bool pj_to_json_at(const struct PjMessageType *message_type,
                   const uint8_t *root,
                   uint32_t flags,
                   struct PjBuffer *buffer,
                   struct PjBytes *out,
                   struct PjError **error);

// Decodes; nothing of `data` is kept. Free the message with `pj_message_free`.
//
// # Safety
// `len` bytes may be read at `data`; `error` is null or may be written; no other thread frees the message type meanwhile.
struct PjMessage *pj_decode(const struct PjMessageType *message_type,
                            const uint8_t *data,
                            uintptr_t len,
                            struct PjError **error);

// Reads a message from JSON. Free it with `pj_message_free`.
//
// # Safety
// As `pj_decode`.
struct PjMessage *pj_from_json(const struct PjMessageType *message_type,
                               const uint8_t *data,
                               uintptr_t len,
                               struct PjError **error);

// Encodes. Free the bytes with `pj_buffer_free`.
//
// # Safety
// `error` is null or may be written; no other thread changes or frees the message meanwhile.
struct PjBuffer *pj_encode(const struct PjMessage *message, struct PjError **error);

// The message as JSON. Free the text with `pj_buffer_free`.
//
// # Safety
// As `pj_encode`.
struct PjBuffer *pj_to_json(const struct PjMessage *message, struct PjError **error);

// The address of the message, to be read as its type's table says, or passed to the functions that end in `_at`; valid until it is freed.
// Null where it is no live message.
//
// # Safety
// No other thread frees the message meanwhile.
const uint8_t *pj_message_root(const struct PjMessage *message);

// Frees a message; false where it is no live one.
//
// # Safety
// The message is not used again, nor by another thread now.
bool pj_message_free(struct PjMessage *message);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PROTOJIT_H */
