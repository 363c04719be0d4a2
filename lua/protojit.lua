-- protojit for LuaJIT: Protobuf messages of schemas that arrive at run time, decoded and encoded by compiled code.
--
--   local protojit = require "protojit"
--   local schema = assert(protojit.load "hello.proto")        -- or a serialized FileDescriptorSet
--   local Person = assert(schema:message "hello.Person")
--   local person = assert(Person:decode(bytes))               -- a table
--   local bytes = assert(Person:encode(person))
--
-- What fails gives nil and an error: a table with kind, text, path and offset, which tostring turns into its text. lua/README.md tells the rest.

local ffi = require "ffi"
local F = require "protojit.ffi"
local layout = require "protojit.layout"
local reader = require "protojit.reader"
local writer = require "protojit.writer"
local view = require "protojit.view"
local source = require "protojit.source"

local C = F.C
local address, bytes_at = source.address, source.types.pb
local errors, take_error, own = F.errors, F.take_error, F.own
local RESET, CHECK, BORROW_RESET, BORROW = F.RESET, F.CHECK, F.BORROW + F.RESET, F.BORROW

local M = { UNKNOWN = reader.UNKNOWN }

local Runtime, Schema, Type, Arena = {}, {}, {}, {}
Runtime.__index, Schema.__index, Type.__index, Arena.__index = Runtime, Schema, Type, Arena

-- Arenas ---------------------------------------------------------------------------------------------------------------------------

-- All arenas, so that a trace counts what was decoded into them.
local arenas = setmetatable({}, { __mode = "k" })

-- Memory for views that are to live side by side. `memory`: how many bytes it may take, by default 2 GiB.
function M.arena(options)
  local handle, why = own(C.pj_arena_new(options and options.memory or 0, errors), C.pj_arena_free)
  if not handle then return nil, why end
  local arena = setmetatable({ handle = handle, generation = 0 }, Arena)
  arenas[arena] = true
  return arena
end

-- Ends all views in the arena; its memory is used again.
function Arena:reset()
  self.generation = self.generation + 1
  C.pj_arena_reset(self.handle)
end

-- Runtimes -------------------------------------------------------------------------------------------------------------------------

local ENGINES = { auto = 0, jit = 1, interp = 2, environment = 3 }

-- A runtime. `engine`: "auto", "jit", "interp", or "environment" (the default): what PROTOJIT_ENGINE says.
function M.runtime(options)
  local engine = options and options.engine or "environment"
  local number = ENGINES[engine] or error("protojit: unknown engine " .. tostring(engine), 2)
  local handle, why = own(C.pj_runtime_new(number, errors), C.pj_runtime_free)
  if not handle then return nil, why end
  return setmetatable({ handle = handle }, Runtime)
end

local default

-- The runtime of the functions that take none, made when it is first needed.
function M.default_runtime()
  if not default then default = assert(M.runtime()) end
  return default
end

-- A schema from the bytes of a FileDescriptorSet.
function Runtime:register(set)
  local handle, why = own(C.pj_register(self.handle, set, #set, errors), C.pj_schema_free)
  if not handle then return nil, why end
  return setmetatable({ handle = handle, runtime = self }, Schema)
end

local function bytes_of(text, keep)
  keep[#keep + 1] = text
  return ffi.new("struct PjBytes", ffi.cast("const uint8_t *", text), #text)
end

local function array(type, values, keep)
  local made = ffi.new(type, math.max(#values, 1))
  for i, value in ipairs(values) do made[i - 1] = value end
  keep[#keep + 1] = made
  return made
end

-- A schema from `.proto` text. `files`: the names to compile, or one name; options: `sources`, a table from names to texts, and `include`, a
-- list of directories.
function Runtime:compile(files, options)
  options = options or {}
  if type(files) == "string" then files = { files } end
  local keep, names, sources, includes = {}, {}, {}, {}
  for _, name in ipairs(files) do names[#names + 1] = bytes_of(name, keep) end
  for name, text in pairs(options.sources or {}) do
    sources[#sources + 1] = ffi.new("struct PjSource", bytes_of(name, keep), bytes_of(text, keep))
  end
  for _, directory in ipairs(options.include or {}) do includes[#includes + 1] = bytes_of(directory, keep) end
  local set = C.pj_compile_proto(array("struct PjBytes[?]", names, keep), #names, array("struct PjSource[?]", sources, keep), #sources,
    array("struct PjBytes[?]", includes, keep), #includes, errors)
  if set == nil then return nil, take_error() end
  return self:register(F.take_bytes(set))
end

-- A schema from a file: a `.proto` file, whose imports are found in its directory or in those of `options.include`, or a serialized
-- FileDescriptorSet.
function Runtime:load(path, options)
  local directory, name = path:match "^(.*)/([^/]+)$"
  if not directory then directory, name = ".", path end
  if name:match "%.proto$" then
    local include = { directory }
    for _, more in ipairs(options and options.include or {}) do include[#include + 1] = more end
    return self:compile(name, { include = include })
  end
  local file, why = io.open(path, "rb")
  if not file then return nil, F.new_error("source", why) end
  local set = file:read "*a"
  file:close()
  return self:register(set)
end

-- What was compiled and which engine ran, as JSON.
function Runtime:trace_json()
  for arena in pairs(arenas) do C.pj_arena_flush_counts(arena.handle) end
  local buffer = C.pj_runtime_trace(self.handle, errors)
  if buffer == nil then return nil, take_error() end
  return F.take_bytes(buffer)
end

-- What google.protobuf.Struct says, as plain tables.
local function plain(value)
  if value.struct_value then
    local made = {}
    for name, member in pairs(value.struct_value.fields or {}) do made[name] = plain(member) end
    return made
  elseif value.list_value then
    local made = {}
    for i, member in ipairs(value.list_value.values or {}) do made[i] = plain(member) end
    return made
  elseif value.string_value then
    return value.string_value
  elseif value.bool_value ~= nil then
    return value.bool_value
  end
  return value.number_value
end

local json_values

-- The same as a table. What JSON calls null is absent.
function Runtime:trace()
  local text, why = self:trace_json()
  if not text then return nil, why end
  if not json_values then
    local interp = assert(M.runtime { engine = "interp" })
    json_values = assert(assert(interp:compile "google/protobuf/struct.proto"):message "google.protobuf.Value")
  end
  return plain(assert(json_values:from_json(text)))
end

-- Ends the runtime. What was made from it goes on.
function Runtime:close() C.pj_runtime_free(ffi.gc(self.handle, nil)) end

for _, name in ipairs { "register", "compile", "load", "trace", "trace_json" } do
  M[name] = function(...) return Runtime[name](M.default_runtime(), ...) end
end

-- Schemas --------------------------------------------------------------------------------------------------------------------------

-- The full names of all messages.
function Schema:messages()
  local buffer = C.pj_schema_messages(self.handle, errors)
  if buffer == nil then return nil, take_error() end
  local names = {}
  for name in F.take_bytes(buffer):gmatch "[^\n]+" do names[#names + 1] = name end
  return names
end

-- Ends the schema. Its types go on.
function Schema:close() C.pj_schema_free(ffi.gc(self.handle, nil)) end

local function one_of(options, name, default_value, ...)
  local value = options[name] or default_value
  for i = 1, select("#", ...) do
    if value == select(i, ...) then return value end
  end
  error(("protojit: %s is %s"):format(name, tostring(value)), 4)
end

-- The functions that cross the border once a message.
local function add_coders(made, arena)
  local handle, arena_handle, memory = made.handle, arena.handle, writer.memory()
  local read, write = made.readers[1], made.writers(memory)[1]
  local metatable = made.views[1]
  local buffer, why = own(C.pj_buffer_new(errors), C.pj_buffer_free)
  if not buffer then return nil, why end
  local out = ffi.new "struct PjBytes[1]"
  made.owned = { handle, arena_handle, buffer }

  function made.decode(_, bytes)
    local root = C.pj_decode_in(handle, arena_handle, bytes, #bytes, BORROW_RESET, errors)
    if root == nil then return nil, take_error() end
    -- Strings of the message lie in the input: it must not be collected while they are read.
    memory.subject = bytes
    local t = read(address(root))
    memory.subject = nil
    return t
  end

  function made.from_json(_, text)
    local root = C.pj_from_json_in(handle, arena_handle, text, #text, RESET, errors)
    if root == nil then return nil, take_error() end
    return read(address(root))
  end

  function made.view(_, bytes, into)
    if into then
      local root = C.pj_decode_in(handle, into.handle, bytes, #bytes, BORROW, errors)
      if root == nil then return nil, take_error() end
      return view.new(metatable, address(root), into, bytes)
    end
    local own_arena = made.view_arena
    if not own_arena then
      local no_arena
      own_arena, no_arena = M.arena(made.options)
      if not own_arena then return nil, no_arena end
      made.view_arena = own_arena
    end
    own_arena.generation = own_arena.generation + 1
    local root = C.pj_decode_in(handle, own_arena.handle, bytes, #bytes, BORROW_RESET, errors)
    if root == nil then return nil, take_error() end
    return view.new(metatable, address(root), own_arena, bytes)
  end

  -- A function that writes a table's or a view's message by a function of the library.
  local function writes(call)
    return function(_, message)
      local root, flags
      -- It must not be collected before it is encoded: its strings are not copied.
      memory.subject = message
      if getmetatable(message) == metatable then
        root, flags = view.address(message), 0
      else
        root, flags = writer.write(write, memory, message)
        if root == nil then return nil, flags end
        flags = CHECK
      end
      local ok = call(handle, ffi.cast(bytes_at, root), flags, buffer, out, errors)
      memory.subject = nil
      if not ok then return nil, take_error() end
      return ffi.string(out[0].data, out[0].len)
    end
  end
  made.encode = writes(function(...) return C.pj_encode_at(...) end)
  made.to_json = writes(function(...) return C.pj_to_json_at(...) end)
  return made
end

local function message_type(handle, schema, options)
  local why
  handle, why = own(handle, C.pj_message_type_free)
  if not handle then return nil, why end
  options = options or {}
  options = {
    enums = one_of(options, "enums", "names", "names", "numbers"), int64 = one_of(options, "int64", "cdata", "cdata", "numbers"),
    defaults = options.defaults or false, memory = options.memory,
  }
  local found = C.pj_message_type_table(handle, errors)
  if found == nil then return nil, take_error() end
  local arena, no_arena = M.arena(options)
  if not arena then return nil, no_arena end
  local made = setmetatable({ handle = handle, schema = schema, options = options, arena = arena }, Type)
  made.layouts, made.enums, made.forget_layouts = layout.read(found)
  made.name = made.layouts[1].name
  made.readers = reader.new(made.layouts, made.enums, options)
  function made.defaults_of(of)
    return options.defaults and reader.default_values(of, made.enums, options) or {}
  end
  made.views = view.metatables(made)
  function made.writers(memory) return writer.new(made.layouts, made.enums, options, memory, made.views, view.address) end
  return add_coders(made, arena)
end

-- The message type of a full name, compiled. Options:
--   enums     "names" (numbers that have none as numbers) or "numbers"
--   int64     "cdata" or "numbers" (exact up to 2^53)
--   defaults  true: unset scalars, strings and enums read as their defaults
--   memory    how many bytes one decoded message may take, by default 2 GiB
function Schema:message(name, options)
  return message_type(C.pj_message_type(self.handle, name, #name, errors), self, options)
end

-- The message type at an index path in the last file, as schema registries send it: { 1, 0 } is the first message nested in the second.
function Schema:message_at(path, options)
  local numbers = ffi.new("uint32_t[?]", math.max(#path, 1))
  for i, number in ipairs(path) do numbers[i - 1] = number end
  return message_type(C.pj_message_type_at(self.handle, numbers, #path, errors), self, options)
end

-- Message types: decode, encode, view, to_json and from_json are each type's own. ---------------------------------------------------

-- A function of a message of this type: a table, or a view.
local function of_message(on_view, on_table)
  return function(self, message, name)
    if view.of(message) then return on_view(message, name) end
    if not self.layouts[1].by_name[name] and not self.layouts[1].oneofs[name] then
      error(("protojit: %s has no field %q"):format(self.name, tostring(name)), 2)
    end
    return on_table(message, name, self)
  end
end

-- Whether a field is set.
Type.has = of_message(view.has, function(t, name) return rawget(t, name) ~= nil end)

-- Makes a field unset.
Type.clear = of_message(view.clear, function(t, name) t[name] = nil end)

-- The name of the member of a oneof that is set, nil where none is.
Type.which = of_message(view.which, function(t, name, self)
  local first = self.layouts[1]
  for _, field in ipairs(first.fields) do
    if field.oneof and field.oneof == first.oneofs[name] and rawget(t, field.name) ~= nil then return field.name end
  end
end)

-- Frees the type now, not when Lua collects it. Its views are gone, it is not to be used again.
function Type:close()
  for _, arena in ipairs { self.arena, self.view_arena } do
    arena.generation = arena.generation + 1
    arenas[arena] = nil
    C.pj_arena_free(ffi.gc(arena.handle, nil))
  end
  self.forget_layouts()
  C.pj_buffer_free(ffi.gc(self.owned[3], nil))
  C.pj_message_type_free(ffi.gc(self.handle, nil))
end

-- Views ----------------------------------------------------------------------------------------------------------------------------

-- Of any view, nested ones too: whether a field is set; make it unset; the set member of a oneof; the unknown fields; a table of all of it.
M.has, M.clear, M.which, M.unknown, M.totable = view.has, view.clear, view.which, view.unknown, view.totable

-- Whether this is a view.
function M.is_view(value) return view.of(value) ~= nil end

return M
