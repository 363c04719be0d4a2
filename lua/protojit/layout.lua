-- What the library says about a message type, as Lua tables: which fields there are, and where they lie in memory.

local ffi = require "ffi"
local F = require "protojit.ffi"

local M = {}

-- Cells, presence: as in protojit.h.
M.BOOL, M.BITS32, M.BITS64, M.STRING, M.MESSAGE, M.LIST, M.MAP = 0, 1, 2, 3, 4, 5, 6
M.BIT, M.POINTER, M.CASE, M.NON_ZERO, M.NON_EMPTY = 0, 1, 2, 3, 4

-- How the kinds of scalars are called here: what pointer they are read by, and how wide they are.
M.KINDS = {
  [1] = { name = "double", pointer = "pf8", width = 8 },
  [2] = { name = "float", pointer = "pf4", width = 4 },
  [3] = { name = "int64", pointer = "pi8", width = 8, signed64 = true },
  [4] = { name = "uint64", pointer = "pu8", width = 8, unsigned64 = true },
  [5] = { name = "int32", pointer = "pi4", width = 4 },
  [6] = { name = "fixed64", pointer = "pu8", width = 8, unsigned64 = true },
  [7] = { name = "fixed32", pointer = "pu4", width = 4, unsigned = true },
  [8] = { name = "bool", pointer = "pb", width = 1 },
  [9] = { name = "string", pointer = "ps", width = 16 },
  [11] = { name = "message", pointer = "pi8", width = 8 },
  [12] = { name = "bytes", pointer = "ps", width = 16 },
  [13] = { name = "uint32", pointer = "pu4", width = 4, unsigned = true },
  [14] = { name = "enum", pointer = "pi4", width = 4 },
  [15] = { name = "sfixed32", pointer = "pi4", width = 4 },
  [16] = { name = "sfixed64", pointer = "pi8", width = 8, signed64 = true },
  [17] = { name = "sint32", pointer = "pi4", width = 4 },
  [18] = { name = "sint64", pointer = "pi8", width = 8, signed64 = true },
}

local function text(bytes) return ffi.string(bytes.data, bytes.len) end

-- A position, counted from 1; nil for none.
local function at(position)
  if position ~= F.NONE then return position + 1 end
end

local as_double, as_float = ffi.new "union { uint64_t bits; double value; }", ffi.new "union { uint32_t bits; float value; }"

local function default_of(field)
  local kind = field.kind
  if kind == 9 or kind == 12 then return text(field.default_bytes) end
  local bits = field.default_bits
  if kind == 1 then
    as_double.bits = bits
    return as_double.value
  elseif kind == 2 then
    as_float.bits = tonumber(bits % 2 ^ 32)
    return as_float.value
  elseif kind == 8 then
    return bits ~= 0
  elseif M.KINDS[kind].signed64 then
    return ffi.cast("int64_t", bits)
  elseif M.KINDS[kind].unsigned64 then
    return bits + 0ULL
  elseif M.KINDS[kind].unsigned then
    return tonumber(bits)
  end
  return tonumber(ffi.cast("int64_t", bits))
end

local function read_field(field)
  local is_singular = field.cell < M.LIST
  local made = {
    name = text(field.name), number = field.number, kind = field.kind, cell = field.cell, page = field.page,
    offset = field.offset, presence = field.presence, presence_offset = field.presence_offset,
    presence_mask = field.presence_mask, child = at(field.child), enum = at(field.enumeration), oneof = at(field.oneof),
    value_offset = field.value_offset, stride = field.stride, required = field.required ~= 0,
  }
  if field.cell == M.MAP then made.key_kind = field.key_kind end
  if is_singular and field.kind ~= 11 then made.default = default_of(field) end
  return made
end

local function read_layout(layout)
  local made = {
    name = text(layout.name), size = layout.size, cold_size = layout.cold_size, fields = {}, by_name = {}, oneofs = {}, pages = {},
  }
  for i = 0, tonumber(layout.field_count) - 1 do
    local field = read_field(layout.fields[i])
    made.fields[i + 1], made.by_name[field.name] = field, field
  end
  for i = 0, tonumber(layout.oneof_count) - 1 do
    made.oneofs[text(layout.oneofs[i])] = i + 1
  end
  for i = 0, tonumber(layout.page_count) - 1 do made.pages[i + 1] = layout.pages[i] end
  return made
end

local function read_enum(enum)
  local made = { name = text(enum.name), closed = enum.closed ~= 0, names = {}, numbers = {} }
  for i = 0, tonumber(enum.value_count) - 1 do
    local value = enum.values[i]
    local name = text(value.name)
    made.numbers[name] = value.number
    -- Of aliases the first declared is the name.
    if made.names[value.number] == nil then made.names[value.number] = name end
  end
  return made
end

-- The layouts and enums of a PjTable, the message's own layout first. Layouts are read when they are first asked for, until the function that
-- comes third is called: the table is gone then.
function M.read(table)
  local layouts, enums = {}, {}
  setmetatable(layouts, {
    __index = function(_, i)
      if table == nil then error("protojit: the message type is closed", 0) end
      if i > table.layout_count then return nil end
      local layout = read_layout(table.layouts[i - 1])
      rawset(layouts, i, layout)
      return layout
    end,
  })
  for i = 0, tonumber(table.enum_count) - 1 do enums[i + 1] = read_enum(table.enums[i]) end
  return layouts, enums, function() table = nil end
end

return M
