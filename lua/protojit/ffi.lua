-- The C ABI as LuaJIT sees it: declarations (tests hold them against capi/include/protojit.h), the library, errors.

local ffi = require "ffi"

local M = {}

M.declarations = [[
typedef struct PjRuntime PjRuntime;
typedef struct PjSchema PjSchema;
typedef struct PjMessageType PjMessageType;
typedef struct PjArena PjArena;
typedef struct PjBuffer PjBuffer;
typedef struct PjError PjError;
typedef struct PjBytes { const uint8_t *data; uintptr_t len; } PjBytes;
typedef struct PjSource { struct PjBytes name; struct PjBytes text; } PjSource;
typedef struct PjStringCell { const uint8_t *data; uint32_t len; uint32_t cap; } PjStringCell;
typedef struct PjListCell { uint8_t *data; uint32_t len; uint32_t cap; } PjListCell;
typedef struct PjMapCell {
  uint8_t *entries; uint32_t len; uint32_t cap; uint8_t *index; uint32_t index_mask; uint32_t reserved;
} PjMapCell;
typedef struct PjField {
  struct PjBytes name; struct PjBytes json_name; uint32_t number; uint32_t kind; uint32_t key_kind; uint32_t cell; uint32_t page;
  uint32_t offset; uint32_t presence; uint32_t presence_offset; uint32_t presence_mask; uint32_t child; uint32_t enumeration;
  uint32_t oneof; uint32_t value_offset; uint32_t stride; uint32_t required; uint32_t utf8; uint64_t default_bits;
  struct PjBytes default_bytes;
} PjField;
typedef struct PjLayout {
  struct PjBytes name; const struct PjField *fields; uintptr_t field_count; const struct PjBytes *oneofs; uintptr_t oneof_count;
  const uint32_t *pages; uintptr_t page_count; uint32_t size; uint32_t cold_size;
} PjLayout;
typedef struct PjEnumValue { struct PjBytes name; int32_t number; } PjEnumValue;
typedef struct PjEnumeration {
  struct PjBytes name; const struct PjEnumValue *values; uintptr_t value_count; uint32_t closed;
} PjEnumeration;
typedef struct PjTable {
  const struct PjLayout *layouts; uintptr_t layout_count; const struct PjEnumeration *enums; uintptr_t enum_count;
} PjTable;

bool pj_error_free(struct PjError *error);
uint32_t pj_error_kind(const struct PjError *error);
uintptr_t pj_error_offset(const struct PjError *error);
struct PjBuffer *pj_error_path(const struct PjError *of, struct PjError **error);
struct PjBuffer *pj_error_text(const struct PjError *of, struct PjError **error);
struct PjBuffer *pj_buffer_new(struct PjError **error);
bool pj_buffer_free(struct PjBuffer *buffer);
const uint8_t *pj_buffer_data(const struct PjBuffer *buffer);
uintptr_t pj_buffer_len(const struct PjBuffer *buffer);
struct PjRuntime *pj_runtime_new(uint32_t engine, struct PjError **error);
bool pj_runtime_free(struct PjRuntime *runtime);
struct PjBuffer *pj_runtime_trace(const struct PjRuntime *runtime, struct PjError **error);
struct PjSchema *pj_register(const struct PjRuntime *runtime, const uint8_t *data, uintptr_t len, struct PjError **error);
struct PjBuffer *pj_compile_proto(const struct PjBytes *names, uintptr_t name_count, const struct PjSource *sources,
  uintptr_t source_count, const struct PjBytes *includes, uintptr_t include_count, struct PjError **error);
bool pj_schema_free(struct PjSchema *schema);
struct PjBuffer *pj_schema_messages(const struct PjSchema *schema, struct PjError **error);
struct PjMessageType *pj_message_type(const struct PjSchema *schema, const uint8_t *name, uintptr_t len, struct PjError **error);
struct PjMessageType *pj_message_type_at(const struct PjSchema *schema, const uint32_t *path, uintptr_t len,
  struct PjError **error);
bool pj_message_type_free(struct PjMessageType *message_type);
const struct PjTable *pj_message_type_table(const struct PjMessageType *message_type, struct PjError **error);
struct PjArena *pj_arena_new(uintptr_t limit, struct PjError **error);
bool pj_arena_free(struct PjArena *arena);
bool pj_arena_reset(struct PjArena *arena);
bool pj_arena_flush_counts(const struct PjArena *arena);
uint8_t *pj_decode_in(const struct PjMessageType *message_type, struct PjArena *arena, const uint8_t *data, uintptr_t len,
  uint32_t flags, struct PjError **error);
uint8_t *pj_from_json_in(const struct PjMessageType *message_type, struct PjArena *arena, const uint8_t *data, uintptr_t len,
  uint32_t flags, struct PjError **error);
bool pj_encode_at(const struct PjMessageType *message_type, const uint8_t *root, uint32_t flags, struct PjBuffer *buffer,
  struct PjBytes *out, struct PjError **error);
bool pj_to_json_at(const struct PjMessageType *message_type, const uint8_t *root, uint32_t flags, struct PjBuffer *buffer,
  struct PjBytes *out, struct PjError **error);
]]
ffi.cdef(M.declarations)

-- The library: what PROTOJIT_LIBRARY names, else what the system's loader finds.
M.C = ffi.load(os.getenv "PROTOJIT_LIBRARY" or "protojit_c")

M.BORROW, M.RESET, M.CHECK, M.NONE = 1, 2, 4, 0xffffffff

-- Where failed calls leave their error.
M.errors = ffi.new "struct PjError *[1]"

local KINDS = { "argument", "schema", "decode", "encode", "json", "internal", "source", "memory" }

-- An error is a table: kind, text, path ("Person.address.zip"; empty where there is none), offset (bytes; nil where there is none).
local Error = {}
Error.__index = Error
Error.__tostring = function(self) return self.text end

function M.new_error(kind, text, path)
  return setmetatable({ kind = kind, text = text, path = path or "" }, Error)
end

-- Copies a buffer's bytes and frees it.
function M.take_bytes(buffer)
  local bytes = ffi.string(M.C.pj_buffer_data(buffer), M.C.pj_buffer_len(buffer))
  M.C.pj_buffer_free(buffer)
  return bytes
end

-- Turns the error that a call has left into one of Lua's.
function M.take_error()
  local C, error = M.C, M.errors[0]
  local text = M.take_bytes(C.pj_error_text(error, nil))
  local made = M.new_error(KINDS[C.pj_error_kind(error)], text, M.take_bytes(C.pj_error_path(error, nil)))
  local offset = C.pj_error_offset(error)
  if offset ~= 0xffffffffffffffffULL then made.offset = tonumber(offset) end
  C.pj_error_free(error)
  M.errors[0] = nil
  return made
end

-- A handle, freed when Lua collects it; nil and an error where there is none.
function M.own(handle, free)
  if handle == nil then return nil, M.take_error() end
  return ffi.gc(handle, free)
end

return M
