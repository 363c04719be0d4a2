-- Making Lua source: what readers, writers and views have in common.

local ffi = require "ffi"
local L = require "protojit.layout"

local M = {}

local KEYWORDS = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true until while")
  :gmatch "%a+" do
  KEYWORDS[word] = true
end

-- `t.name`, or `t["[acme.name]"]`.
function M.member(of, name)
  if name:match "^[%a_][%w_]*$" and not KEYWORDS[name] then return of .. "." .. name end
  return ("%s[%q]"):format(of, name)
end

-- Addresses are numbers in generated code (they have 47 bits), and become pointers where memory is read or written: a number that is alive
-- where one compiled trace leads into another costs nothing, a pointer would be boxed there. `pi4[3]` stands for the int32 at offset 12 of the
-- part at the address `p`, `cast_pi4(a)` for a pointer to the address `a`.
M.types = {
  pb = ffi.typeof "uint8_t *", pi4 = ffi.typeof "int32_t *", pu4 = ffi.typeof "uint32_t *", pf4 = ffi.typeof "float *",
  pi8 = ffi.typeof "int64_t *", pu8 = ffi.typeof "uint64_t *", pf8 = ffi.typeof "double *", pp = ffi.typeof "uint8_t **",
  ps = ffi.typeof "struct PjStringCell *", pl = ffi.typeof "struct PjListCell *", pm = ffi.typeof "struct PjMapCell *",
}

local function expand(line)
  line = line:gsub("%f[%w_](p[bpiuf]%d?)%[", function(name) return M.types[name] and ("cast(T%s, p)["):format(name) end)
  return (line:gsub("%f[%w_]cast_(p%w+)%(", "cast(T%1, "))
end

-- The number of an address.
function M.address(pointer) return tonumber(ffi.cast("intptr_t", pointer)) end

-- The address in the n-th word, counted from 0, at an address.
function M.word(address, n) return tonumber(ffi.cast(M.types.pi8, address)[n]) end

-- Names that every piece of generated code may use.
local HEAD = [[
local X = ...
local cast, str, band, bor, new, type, pairs, floor = X.cast, X.str, X.band, X.bor, X.new, X.type, X.pairs, X.floor
local tonumber, Tpb, Tpi4, Tpu4, Tpf4, Tpi8, Tpu8, Tpf8, Tpp, Tps, Tpl, Tpm = X.tonumber, X.types.pb, X.types.pi4, X.types.pu4,
  X.types.pf4, X.types.pi8, X.types.pu8, X.types.pf8, X.types.pp, X.types.ps, X.types.pl, X.types.pm
]]

M.names = {
  cast = ffi.cast, str = ffi.string, band = bit.band, bor = bit.bor, new = require "table.new", type = type, pairs = pairs,
  floor = math.floor, tonumber = tonumber, types = M.types,
}

-- Compiles lines of source, to which `names` is `X`; gives what they return.
function M.compile(what, lines, names)
  local expanded = {}
  for i, line in ipairs(lines) do expanded[i] = expand(line) end
  local source = HEAD .. table.concat(expanded, "\n")
  local chunk, why = loadstring(source, "=protojit " .. what)
  if not chunk then error("protojit: generated code is not valid: " .. why) end
  return chunk(names)
end

-- A table of names for generated code: those above, and more.
function M.scope(more) return setmetatable(more, { __index = M.names }) end

-- The expression that tells whether a field is set (members of oneofs aside).
function M.is_set(field)
  if field.presence == L.BIT then
    return ("band(pu4[%d], %d) ~= 0"):format(field.presence_offset / 4, field.presence_mask)
  elseif field.presence == L.CASE then
    return ("pu4[%d] == %d"):format(field.presence_offset / 4, field.number)
  elseif field.cell == L.MESSAGE or field.cell == L.MAP then
    return ("pp[%d] ~= nil"):format(field.offset / 8)
  elseif field.cell == L.LIST or field.cell == L.STRING then
    return ("pu4[%d] ~= 0"):format(field.offset / 4 + 2)
  elseif field.cell == L.BOOL then
    return ("pb[%d] ~= 0"):format(field.offset)
  elseif field.cell == L.BITS32 then
    return ("pi4[%d] ~= 0"):format(field.offset / 4)
  end
  return ("pi8[%d] ~= 0"):format(field.offset / 8)
end

return M
