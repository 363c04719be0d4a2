/* The C ABI of protojit. Made by cbindgen from capi/src/lib.rs: change that, then run its tests with PROTOJIT_BLESS=1. */

#ifndef PROTOJIT_H
#define PROTOJIT_H

#include <stddef.h>
#include <stdint.h>

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
  // An argument is null or out of range.
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
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum PjErrorKind PjErrorKind;
#else
typedef uint32_t PjErrorKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Bytes that the library made.
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

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// A runtime with default settings; `engine` is a `PjEngine`. Free it with `pj_runtime_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjRuntime *pj_runtime_new(uint32_t engine, struct PjError **error);

// Frees a runtime; null is ignored.
//
// # Safety
// `runtime` is null or a live handle, and is not used again.
void pj_runtime_free(struct PjRuntime *runtime);

// What was compiled and which engine ran, as JSON. Free it with `pj_buffer_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjBuffer *pj_runtime_trace(const struct PjRuntime *runtime, struct PjError **error);

// Registers a serialized `FileDescriptorSet`, of which nothing is kept. Free it with `pj_schema_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjSchema *pj_register(const struct PjRuntime *runtime,
                             const uint8_t *data,
                             uintptr_t len,
                             struct PjError **error);

// Frees a schema; null is ignored.
//
// # Safety
// `schema` is null or a live handle, and is not used again.
void pj_schema_free(struct PjSchema *schema);

// The message type of a full name, which is `len` bytes of UTF-8. Free it with `pj_message_type_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjMessageType *pj_message_type(const struct PjSchema *schema,
                                      const uint8_t *name,
                                      uintptr_t len,
                                      struct PjError **error);

// Frees a message type; null is ignored.
//
// # Safety
// `message_type` is null or a live handle, and is not used again.
void pj_message_type_free(struct PjMessageType *message_type);

// Decodes; nothing of `data` is kept. Free the message with `pj_message_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjMessage *pj_decode(const struct PjMessageType *message_type,
                            const uint8_t *data,
                            uintptr_t len,
                            struct PjError **error);

// Encodes. Free the bytes with `pj_buffer_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjBuffer *pj_encode(const struct PjMessage *message, struct PjError **error);

// Reads a message from JSON. Free it with `pj_message_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjMessage *pj_from_json(const struct PjMessageType *message_type,
                               const uint8_t *data,
                               uintptr_t len,
                               struct PjError **error);

// The message as JSON. Free the text with `pj_buffer_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjBuffer *pj_to_json(const struct PjMessage *message, struct PjError **error);

// Frees a message; null is ignored.
//
// # Safety
// `message` is null or a live handle, and is not used again.
void pj_message_free(struct PjMessage *message);

// Frees a buffer; null is ignored.
//
// # Safety
// `buffer` is null or a live handle, and is not used again.
void pj_buffer_free(struct PjBuffer *buffer);

// Frees an error; null is ignored.
//
// # Safety
// `error` is null or a live handle, and is not used again.
void pj_error_free(struct PjError *error);

// The bytes, valid until the buffer is freed; null of null. Not terminated by a zero.
//
// # Safety
// `buffer` is null or live.
const uint8_t *pj_buffer_data(const struct PjBuffer *buffer);

// How many bytes; 0 of null.
//
// # Safety
// `buffer` is null or live.
uintptr_t pj_buffer_len(const struct PjBuffer *buffer);

// A `PjErrorKind`; 0 of null.
//
// # Safety
// `error` is null or live.
uint32_t pj_error_kind(const struct PjError *error);

// The byte of the input where the failure was found, `SIZE_MAX` where there is none.
//
// # Safety
// `error` is null or live.
uintptr_t pj_error_offset(const struct PjError *error);

// The field, such as `Person.address.zip`; empty where there is none. Free it with `pj_buffer_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjBuffer *pj_error_path(const struct PjError *of,
                               struct PjError **error);

// What happened, for people. Free it with `pj_buffer_free`.
//
// # Safety
// Handles are null or live, data may be read for its length, and `error` is null or may be written.
struct PjBuffer *pj_error_text(const struct PjError *of, struct PjError **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PROTOJIT_H */
