-- A Protobuf codec in plain Lua, to measure protojit against: schema-driven, for tables of the same form as protojit's (enums as names, 64-bit
-- integers as cdata, unset fields absent). Written the way such codecs are written to be fast under LuaJIT: tags and short varints inline,
-- strings by `sub`, tags made once as strings, pieces joined at the end, FFI only for what bit operations on numbers cannot do. It does
-- less than protojit: no oneof, extension, group or MessageSet is treated specially, no required field missed, unknown fields are dropped, and
-- UTF-8 is checked only where `utf8` is asked for.

local ffi = require "ffi"
local byte, sub, char, concat = string.byte, string.sub, string.char, table.concat
local band, bor, lshift, rshift, bxor, tobit = bit.band, bit.bor, bit.lshift, bit.rshift, bit.bxor, bit.tobit

local M = {}

local scratch = ffi.new "union { uint8_t bytes[8]; int64_t i64; uint64_t u64; double f64; float f32; uint32_t u32; int32_t i32; }"

-- Varints of any length; gives the low 32 bits as a number too.
local function varint64(s, i)
  local value, shift = 0ULL, 0
  while true do
    local b = byte(s, i)
    if not b or shift > 63 then error "varint" end
    value = bor(value, lshift(band(b, 127) + 0ULL, shift))
    i = i + 1
    if b < 128 then return value, i end
    shift = shift + 7
  end
end

-- Varints of which 32 bits are wanted: up to three bytes inline.
local function varint32(s, i)
  local a = byte(s, i)
  if not a then error "varint" end
  if a < 128 then return a, i + 1 end
  local b = byte(s, i + 1)
  if not b then error "varint" end
  if b < 128 then return band(a, 127) + b * 128, i + 2 end
  local c = byte(s, i + 2)
  if not c then error "varint" end
  if c < 128 then return band(a, 127) + band(b, 127) * 128 + c * 16384, i + 3 end
  local value
  value, i = varint64(s, i)
  return tonumber(band(value, 0xffffffffULL)), i
end

local function fixed(s, i, n)
  if i + n - 1 > #s then error "truncated" end
  ffi.copy(scratch.bytes, ffi.cast("const char *", s) + (i - 1), n)
end

local function follows(x, low, high) return x and x >= (low or 128) and x <= (high or 191) end

-- The length of the sequence of UTF-8 at `i`, which is not ASCII; nil where it is none.
local function sequence(s, i)
  local a, b, c, d = byte(s, i, i + 3)
  if a >= 0xc2 and a <= 0xdf then return follows(b) and 2 end
  if a >= 0xe0 and a <= 0xef then return follows(b, a == 0xe0 and 0xa0, a == 0xed and 0x9f) and follows(c) and 3 end
  if a >= 0xf0 and a <= 0xf4 then return follows(b, a == 0xf0 and 0x90, a == 0xf4 and 0x8f) and follows(c) and follows(d) and 4 end
end

-- Whether a string is UTF-8: ASCII four bytes at a time, else sequence by sequence.
local function is_utf8(s)
  local i, n = 1, #s
  while i <= n do
    if i + 3 <= n then
      local a, b, c, d = byte(s, i, i + 3)
      if bor(a, b, c, d) < 128 then
        i = i + 4
        goto next
      end
    end
    if byte(s, i) < 128 then
      i = i + 1
    else
      local length = sequence(s, i)
      if not length then return false end
      i = i + length
    end
    ::next::
  end
  return true
end

local skip

-- A scalar of `kind` at `i`.
local function scalar(field, kind, s, i)
  if kind == 5 or kind == 14 then
    local v
    v, i = varint32(s, i)
    v = tobit(v)
    if kind == 14 then return field.names[v] or v, i end
    return v, i
  elseif kind == 13 then
    return varint32(s, i)
  elseif kind == 8 then
    local v
    v, i = varint32(s, i)
    return v ~= 0, i
  elseif kind == 17 then
    local v
    v, i = varint32(s, i)
    return bxor(rshift(v, 1), -band(v, 1)), i
  elseif kind == 3 then
    local v
    v, i = varint64(s, i)
    return ffi.cast("int64_t", v), i
  elseif kind == 4 then
    return varint64(s, i)
  elseif kind == 18 then
    local v
    v, i = varint64(s, i)
    return ffi.cast("int64_t", bxor(rshift(v, 1), -band(v, 1ULL))), i
  elseif kind == 1 then
    fixed(s, i, 8)
    return scratch.f64, i + 8
  elseif kind == 6 then
    fixed(s, i, 8)
    return scratch.u64, i + 8
  elseif kind == 16 then
    fixed(s, i, 8)
    return scratch.i64, i + 8
  elseif kind == 2 then
    fixed(s, i, 4)
    return scratch.f32, i + 4
  elseif kind == 7 then
    fixed(s, i, 4)
    return scratch.u32, i + 4
  end
  fixed(s, i, 4)
  return scratch.i32, i + 4
end

local WIRE = { [1] = 1, [2] = 5, [3] = 0, [4] = 0, [5] = 0, [6] = 1, [7] = 5, [8] = 0, [9] = 2, [11] = 2, [12] = 2, [13] = 0, [14] = 0,
  [15] = 5, [16] = 1, [17] = 0, [18] = 0 }

function skip(s, i, wire, stop)
  if wire == 0 then
    local _
    _, i = varint64(s, i)
  elseif wire == 1 then
    i = i + 8
  elseif wire == 5 then
    i = i + 4
  elseif wire == 2 then
    local n
    n, i = varint32(s, i)
    i = i + n
  elseif wire == 3 then
    while true do
      local tag
      tag, i = varint32(s, i)
      if band(tag, 7) == 4 then break end
      i = skip(s, i, band(tag, 7), stop)
    end
  else
    error "wire type"
  end
  if i > stop then error "truncated" end
  return i
end

local decode

local function map_entry(field, s, i, stop)
  local key, value
  while i < stop do
    local tag
    tag, i = varint32(s, i)
    local part = tag < 16 and field.key or field.value
    if WIRE[part.kind] ~= band(tag, 7) then error "map" end
    local v
    if part.kind == 9 or part.kind == 12 then
      local n
      n, i = varint32(s, i)
      v = sub(s, i, i + n - 1)
      i = i + n
    elseif part.kind == 11 then
      local n
      n, i = varint32(s, i)
      v = decode(part.child, s, i, i + n)
      i = i + n
    else
      v, i = scalar(part, part.kind, s, i)
    end
    if part == field.key then key = v else value = v end
  end
  return key, value
end

function decode(message, s, i, stop)
  local t, fields, utf8 = {}, message.by_number, message.utf8
  while i < stop do
    -- The tag: one byte inline.
    local tag = byte(s, i)
    if tag < 128 then
      i = i + 1
    else
      tag, i = varint32(s, i)
    end
    local field, wire = fields[rshift(tag, 3)], band(tag, 7)
    if field and wire == 2 then
      -- The length: one byte inline.
      local n = byte(s, i)
      if not n then error "truncated" end
      if n < 128 then
        i = i + 1
      else
        n, i = varint32(s, i)
      end
      local e = i + n
      if e > stop then error "truncated" end
      local kind, name = field.kind, field.name
      if field.is_map then
        local map = t[name]
        if not map then
          map = {}
          t[name] = map
        end
        local key, value = map_entry(field, s, i, e)
        map[key] = value
      elseif kind == 9 or kind == 12 then
        local v = sub(s, i, e - 1)
        if utf8 and kind == 9 and not is_utf8(v) then error "utf8" end
        if field.repeated then
          local list = t[name]
          if list then list[#list + 1] = v else t[name] = { v } end
        elseif n > 0 or field.explicit then
          t[name] = v
        end
      elseif kind == 11 then
        local v = decode(field.child, s, i, e)
        if field.repeated then
          local list = t[name]
          if list then list[#list + 1] = v else t[name] = { v } end
        else
          t[name] = v
        end
      else
        local list = t[name]
        if not list then
          list = {}
          t[name] = list
        end
        local count = #list
        while i < e do
          local v
          v, i = scalar(field, kind, s, i)
          count = count + 1
          list[count] = v
        end
      end
      i = e
    elseif field and wire == field.wire then
      local v
      v, i = scalar(field, field.kind, s, i)
      if field.repeated then
        local list = t[field.name]
        if list then list[#list + 1] = v else t[field.name] = { v } end
      elseif field.explicit or v ~= field.zero then
        t[field.name] = v
      end
    elseif field and wire == 3 and field.kind == 11 then
      -- A group: its end is found first.
      local e = skip(s, i, 3, stop)
      local v = decode(field.child, s, i, e - #field.tag)
      t[field.name] = v
      i = e
    else
      i = skip(s, i, wire, stop)
    end
  end
  if i > stop then error "truncated" end
  return t
end

-- Encode --------------------------------------------------------------------------------------------------------------------------

local SHORT = {}
for i = 0, 127 do SHORT[i] = char(i) end

local function varint(v)
  if v < 128 then return SHORT[v] end
  if v < 16384 then return char(bor(band(v, 127), 128), rshift(v, 7)) end
  if v < 2097152 then return char(bor(band(v, 127), 128), bor(band(rshift(v, 7), 127), 128), rshift(v, 14)) end
  local out = {}
  while v >= 128 do
    out[#out + 1] = char(bor(band(v % 128, 127), 128))
    v = math.floor(v / 128)
  end
  out[#out + 1] = char(v)
  return concat(out)
end

local function varint_u64(v)
  v = ffi.cast("uint64_t", v)
  if v < 0x80000000ULL then return varint(tonumber(v)) end
  local out = {}
  while v >= 128 do
    out[#out + 1] = char(tonumber(bor(band(v, 127ULL), 128ULL)))
    v = rshift(v, 7)
  end
  out[#out + 1] = char(tonumber(v))
  return concat(out)
end

local function scalar_bytes(field, kind, v)
  if kind == 14 and type(v) == "string" then v = field.numbers[v] end
  if kind == 5 or kind == 14 then
    if v >= 0 then return varint(v) end
    return varint_u64(ffi.cast("int64_t", v))
  elseif kind == 13 then
    return varint(v)
  elseif kind == 8 then
    return v and "\1" or "\0"
  elseif kind == 17 then
    return varint(bxor(lshift(v, 1), bit.arshift(v, 31)) % 4294967296)
  elseif kind == 3 or kind == 4 then
    return varint_u64(v)
  elseif kind == 18 then
    v = ffi.cast("int64_t", v)
    return varint_u64(bxor(lshift(v, 1), bit.arshift(v, 63)))
  elseif kind == 1 then
    scratch.f64 = v
    return ffi.string(scratch.bytes, 8)
  elseif kind == 6 then
    scratch.u64 = v
    return ffi.string(scratch.bytes, 8)
  elseif kind == 16 then
    scratch.i64 = v
    return ffi.string(scratch.bytes, 8)
  elseif kind == 2 then
    scratch.f32 = v
  elseif kind == 7 then
    scratch.u32 = v
  else
    scratch.i32 = v
  end
  return ffi.string(scratch.bytes, 4)
end

local encode

-- Appends a field's value without its tag; gives the new end of `out`.
local function put_value(field, kind, v, out, n)
  if kind == 9 or kind == 12 then
    out[n + 1], out[n + 2] = varint(#v), v
    return n + 2
  elseif kind == 11 then
    local inner = encode(field.child, v)
    if field.group then
      out[n + 1], out[n + 2] = inner, field.end_tag
    else
      out[n + 1], out[n + 2] = varint(#inner), inner
    end
    return n + 2
  end
  out[n + 1] = scalar_bytes(field, kind, v)
  return n + 1
end

function encode(message, t)
  local out, n = {}, 0
  for _, field in ipairs(message.fields) do
    local v = t[field.name]
    if v ~= nil then
      local kind, tag = field.kind, field.tag
      if field.is_map then
        for key, value in pairs(v) do
          local entry, m = { "\10" }, 1
          m = put_value(field.key, field.key.kind, key, entry, m)
          entry[m + 1] = field.value_tag
          put_value(field.value, field.value.kind, value, entry, m + 1)
          local inner = concat(entry)
          out[n + 1], out[n + 2], out[n + 3] = tag, varint(#inner), inner
          n = n + 3
        end
      elseif field.packed then
        local inner = {}
        for i = 1, #v do inner[i] = scalar_bytes(field, kind, v[i]) end
        inner = concat(inner)
        out[n + 1], out[n + 2], out[n + 3] = field.packed_tag, varint(#inner), inner
        n = n + 3
      elseif field.repeated then
        for i = 1, #v do
          out[n + 1] = tag
          n = put_value(field, kind, v[i], out, n + 1)
        end
      else
        out[n + 1] = tag
        n = put_value(field, kind, v, out, n + 1)
      end
    end
  end
  return concat(out)
end

-- Schemas -------------------------------------------------------------------------------------------------------------------------

-- The codec of a message type of protojit's; `packed` and `groups` are sets of fields by "Message.field", `utf8` asks for checked strings.
function M.new(type_of, options)
  local made, layouts, enums = {}, type_of.layouts, type_of.enums
  local function value(kind, field)
    local of = { kind = kind }
    if field.enum and kind == 14 then of.names, of.numbers = enums[field.enum].names, enums[field.enum].numbers end
    return of
  end
  local function message(i)
    if made[i] then return made[i] end
    local layout = layouts[i]
    local of = { fields = {}, by_number = {}, utf8 = options.utf8 }
    made[i] = of
    for _, field in ipairs(layout.fields) do
      local full = layout.name .. "." .. field.name
      local entry = value(field.kind, field)
      entry.name, entry.repeated, entry.is_map = field.name, field.cell >= 5, field.cell == 6
      entry.explicit, entry.wire = field.presence ~= 3, WIRE[field.kind]
      entry.zero = field.kind == 8 and false or field.kind == 14 and enums[field.enum].names[0] or 0
      entry.packed = entry.repeated and not entry.is_map and (options.packed or {})[full]
      entry.group = (options.groups or {})[full]
      entry.tag = varint(field.number * 8 + (entry.is_map and 2 or entry.group and 3 or entry.wire))
      entry.end_tag, entry.packed_tag = varint(field.number * 8 + 4), varint(field.number * 8 + 2)
      if field.child then entry.child = message(field.child) end
      if entry.is_map then
        entry.key, entry.value = value(field.key_kind, {}), value(field.kind, field)
        entry.value.child = entry.child
        entry.value_tag = varint(16 + WIRE[field.kind])
      end
      of.fields[#of.fields + 1], of.by_number[field.number] = entry, entry
    end
    return of
  end
  local root = message(1)
  return {
    decode = function(bytes) return decode(root, bytes, 1, #bytes + 1) end,
    encode = function(t) return encode(root, t) end,
  }
end

return M
