-- Message memory from tables. Each layout gets a function of its own, made as Lua source when it is first needed, that writes the fields to
-- where the layout says. The library then encodes what lies there: one call for the whole message. Strings are not copied: the memory
-- points to Lua's own, which the table keeps alive meanwhile.

local ffi = require "ffi"
local L = require "protojit.layout"
local S = require "protojit.source"
local F = require "protojit.ffi"
local reader = require "protojit.reader"

local M = {}

-- As deep as the library's own limit.
local MOST_LEVELS = 100

-- The memory that messages are written to, from `base` on; `used` bytes of it are taken. A writer that cannot go on notes why in `failed` and
-- returns; those around it return when they look there. No error is thrown: LuaJIT compiles no return through a pcall.
local Memory = {}
Memory.__index = Memory

-- The failure of a memory that is too small: the message is written again from its beginning, to more of it.
local GROW = {}

function M.memory()
  return setmetatable({ size = 0, used = 0, failed = GROW }, Memory):grow(4096)
end

function Memory:grow(size)
  self.owner = ffi.new("uint64_t[?]", size / 8)
  self.base, self.size, self.used = S.address(self.owner), size, 0
  return self
end

local function fail_with(memory, failure)
  if memory.failed == nil then memory.failed = failure end
  return 0
end

local function full(memory) return fail_with(memory, GROW) end

local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"
local istype, floor, type, tonumber = ffi.istype, math.floor, type, tonumber

-- The digits of a 64-bit integer; nil where they are none, or too many.
local function parse(text)
  local sign, digits = text:match "^(%-?)0*(%d+)$"
  if not digits or #digits > 20 then return nil end
  if #digits == 20 and digits > "18446744073709551615" then return nil end
  local value = 0ULL
  for i = 1, #digits do value = value * 10 + (digits:byte(i) - 48) end
  return value, sign == "-"
end

-- A number, a 64-bit cdata or decimal digits as int64; nil where it is none.
local function to_i64(v)
  if type(v) == "number" then
    if v >= -9223372036854775808 and v < 9223372036854775808 and floor(v) == v then return int64(v) end
  elseif type(v) == "cdata" then
    if istype(int64, v) then return v end
    if istype(uint64, v) and v < 0x8000000000000000ULL then return int64(v) end
  elseif type(v) == "string" then
    local bits, negative = parse(v)
    if bits and not negative and bits < 0x8000000000000000ULL then return int64(bits) end
    if bits and negative and bits <= 0x8000000000000000ULL then return -int64(bits) end
  end
end

local function to_u64(v)
  if type(v) == "number" then
    if v >= 0 and v < 18446744073709551616 and floor(v) == v then return uint64(v) end
  elseif type(v) == "cdata" then
    if istype(uint64, v) then return v end
    if istype(int64, v) and v >= 0 then return uint64(v) end
  elseif type(v) == "string" then
    local bits, negative = parse(v)
    if bits and not negative then return bits end
  end
end

local function shown(v)
  if type(v) == "string" then return ("%q"):format(#v > 40 and v:sub(1, 37) .. "..." or v) end
  return type(v) == "table" and "a table" or tostring(v)
end

local function path_of(layout, name) return layout.name:match "[^.]+$" .. (name and "." .. name or "") end

-- Notes that a value does not fit.
local function bad(memory, layout, name, wanted, v)
  local path = path_of(layout, name)
  return fail_with(memory, F.new_error("encode", ("%s: %s is no %s"):format(path, shown(v), wanted), path))
end

local function fail(memory, layout, name, text)
  local path = path_of(layout, name)
  return fail_with(memory, F.new_error("encode", path .. ": " .. text, path))
end

-- Lines that check the local `v` and store it at `cell`, which is a number's, a bool's or an enum's.
local function store_number(field, cell, lines, wrong)
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  local kind = L.KINDS[field.kind]
  if field.kind == 8 then
    add("if type(v) ~= 'boolean' then %s end", wrong "bool")
    add("%s = v and 1 or 0", cell)
  elseif field.kind == 14 then
    add("local n = v if type(v) ~= 'number' then n = E[%d].numbers[v] or 0.5 end", field.enum)
    add("if X.tobit(n) ~= n or E[%d].closed and not E[%d].names[n] then %s end", field.enum, field.enum, wrong "value of the enum")
    add("%s = n", cell)
  elseif kind.signed64 or kind.unsigned64 then
    add("local n = %s(v) if n == nil then %s end", kind.signed64 and "X.to_i64" or "X.to_u64", wrong(kind.name))
    add("%s = n", cell)
  elseif field.kind == 1 or field.kind == 2 then
    add("if type(v) ~= 'number' then %s end", wrong(kind.name))
    add("%s = v", cell)
  elseif kind.unsigned then
    add("if type(v) ~= 'number' or not (v >= 0 and v <= 4294967295 and floor(v) == v) then %s end", wrong(kind.name))
    add("%s = v", cell)
  else
    add("if type(v) ~= 'number' or X.tobit(v) ~= v then %s end", wrong(kind.name))
    add("%s = v", cell)
  end
end

-- Lines that take `bytes` of memory as `o`.
local function take(bytes, lines)
  lines[#lines + 1] = ("local o = M.used; local e = o + %s; if e > M.size then return X.full(M) end; M.used = e"):format(bytes)
end

-- Lines that store the local `v` at the string cell `s`.
local function store_string(s, lines, wrong, kind)
  lines[#lines + 1] = ("if type(v) ~= 'string' then %s end"):format(wrong(kind))
  lines[#lines + 1] = ("%s.data = v; %s.len = #v"):format(s, s)
end

-- Lines that store the local `v` at `cell` in an array of this kind.
local function store_element(field, kind_number, cell, lines, wrong)
  local kind = L.KINDS[kind_number]
  if kind_number == 9 or kind_number == 12 then
    store_string(cell, lines, wrong, kind.name)
    lines[#lines + 1] = cell .. ".cap = 0"
  elseif kind_number == 11 then
    lines[#lines + 1] = ("%s = base + D[%d](v, depth + 1)"):format(cell, field.child)
  else
    store_number({ kind = kind_number, enum = field.enum }, cell, lines, wrong)
  end
end

local function list_lines(field, lines, wrong)
  local kind = L.KINDS[field.kind]
  lines[#lines + 1] = ("if type(v) ~= 'table' then %s end local l, n = v, #v if n > 0 then"):format(wrong "list")
  take(kind.width == 1 and "n + 7 - (n + 7) % 8" or kind.width == 4 and "4 * (n + n % 2)" or kind.width .. " * n", lines)
  lines[#lines + 1] = "local a = base + o"
  lines[#lines + 1] = "for i = 0, n - 1 do local v = l[i + 1]"
  store_element(field, field.kind, ("cast_%s(a)[i]"):format(kind.pointer), lines, wrong)
  lines[#lines + 1] = ("end pi8[%d] = a; pu4[%d] = n end"):format(field.offset / 8, field.offset / 4 + 2)
end

local function map_lines(field, lines, wrong)
  local key, kind = L.KINDS[field.key_kind], L.KINDS[field.kind]
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  add("if type(v) ~= 'table' then %s end local m, n = v, 0 for _ in pairs(m) do n = n + 1 end if n > 0 then", wrong "map")
  take(("32 + n * %d"):format(field.stride), lines)
  add("local entry = base + o + 32")
  add("local table = base + o X.fill(cast_pb(table), 32) cast_pi8(table)[0] = entry cast_pm(table).len = n")
  add("for k, value in pairs(m) do")
  add("do local v = k")
  if field.key_kind ~= 9 and field.key_kind ~= 8 and not key.signed64 and not key.unsigned64 then
    add("if type(v) == 'string' then v = X.tonumber(v) end")
  end
  store_element({ kind = field.key_kind }, field.key_kind, ("cast_%s(entry)[0]"):format(key.pointer), lines, wrong)
  add("end do local v = value")
  store_element(field, field.kind, ("cast_%s(entry + %d)[0]"):format(kind.pointer, field.value_offset), lines, wrong)
  add("end entry = entry + %d end", field.stride)
  add("pi8[%d] = table end", field.offset / 8)
end

-- Lines that store the field `v`, which is not nil, in the part at `p`.
local function field_lines(field, lines)
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  local function wrong(wanted) return ("return X.bad(M, X.layout, %q, %q, v)"):format(field.name, wanted) end
  local kind = L.KINDS[field.kind]
  if field.presence == L.CASE then
    add("if pu4[%d] ~= 0 then return X.fail(M, X.layout, %q, 'another member of its oneof is set, too') end", field.presence_offset / 4, field.name)
    add("pu4[%d] = %d", field.presence_offset / 4, field.number)
  elseif field.presence == L.BIT then
    add("pu4[%d] = bor(pu4[%d], %d)", field.presence_offset / 4, field.presence_offset / 4, field.presence_mask)
  end
  if field.cell == L.LIST then
    list_lines(field, lines, wrong)
  elseif field.cell == L.MAP then
    map_lines(field, lines, wrong)
  elseif field.cell == L.STRING then
    store_string(("cast_ps(p + %d)"):format(field.offset), lines, wrong, kind.name)
  elseif field.cell == L.MESSAGE then
    add("pi8[%d] = base + D[%d](v, depth + 1)", field.offset / 8, field.child)
  else
    store_number(field, ("%s[%d]"):format(kind.pointer, field.offset / kind.width), lines, wrong)
  end
end

-- The expression for a field of the table `t`; without its metatable where that gives defaults.
function M.get(field, raw)
  return raw and ("X.rawget(t, %q)"):format(field.name) or S.member("t", field.name)
end

-- The function that writes the table `t` and gives where its message begins, in bytes from `base`.
local function writer(layout, names)
  local body = {}
  local function add(...) body[#body + 1] = (...):format(select(2, ...)) end
  for _, field in ipairs(layout.fields) do
    if field.page == 0 then
      add("do local v = %s if v ~= nil then", M.get(field, names.raw))
      field_lines(field, body)
      add("end end")
    end
  end
  local lines = { "local D, E, M, view, getmetatable = X.D, X.E, X.M, X.view, X.getmetatable", "return function(t, depth)" }
  lines[#lines + 1] = "if type(t) ~= 'table' then return X.fail(M, X.layout, nil, X.shown(t) .. ' is no table') end"
  lines[#lines + 1] = ("if depth > %d then return X.fail(M, X.layout, nil, 'is nested too deeply') end"):format(MOST_LEVELS)
  lines[#lines + 1] = "if M.failed ~= nil then return 0 end local base = M.base"
  lines[#lines + 1] = "if getmetatable(t) == view then return X.viewed(t) - base end"
  take(layout.size, lines)
  lines[#lines + 1] = ("local p = base + o X.fill(cast_pb(p), %d)"):format(layout.size)
  for _, line in ipairs(body) do lines[#lines + 1] = line end
  for page = 1, #layout.pages do lines[#lines + 1] = ("X.pages[%d](t, depth, p)"):format(page) end
  lines[#lines + 1] = ("if t[%q] ~= nil then X.unknown(t[%q], p) end"):format(reader.UNKNOWN, reader.UNKNOWN)
  lines[#lines + 1] = "return o end"
  return S.compile(layout.name, lines, names)
end

-- The functions that write the fields of cold pages, by page.
local function page_writers(layout, names)
  return setmetatable({}, {
    __index = function(pages, page)
      local lines = {}
      local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
      for _, field in ipairs(layout.fields) do
        if field.page == page then
          local body = {}
          field_lines(field, body)
          add("do local v = %s if v ~= nil then local p = X.part(message, %d) if p == 0 then return 0 end", M.get(field, names.raw), page)
                  for _, line in ipairs(body) do lines[#lines + 1] = line end
          add("end end")
        end
      end
      table.insert(lines, 1, "local D, E, M = X.D, X.E, X.M return function(t, depth, message) local base = M.base")
      add("end")
          local made = S.compile(layout.name, lines, names)
      rawset(pages, page, made)
      return made
    end,
  })
end

-- The writers of layouts, each made when it is first used: `writers[i](table, 0)` gives an offset in `memory`. `views[i]` is the metatable of
-- the layout's views, which may stand for tables; `viewed` gives the address of one.
function M.new(layouts, enums, options, memory, views, viewed)
  local D = {}

  local function zeroed(bytes)
    local o = memory.used
    if o + bytes > memory.size then return full(memory) end
    memory.used = o + bytes
    ffi.fill(ffi.cast(S.types.pb, memory.base + o), bytes)
    return memory.base + o
  end

  local function cold(layout, message)
    local word = ffi.cast(S.types.pi8, message)
    if word[0] == 0 then word[0] = zeroed(layout.cold_size) end
    return tonumber(word[0]) -- 0 where the memory is full.
  end

  return setmetatable(D, {
    __index = function(_, i)
      local layout = layouts[i]
      local names = S.scope {
        D = D, E = enums, M = memory, layout = layout, view = views[i], viewed = viewed, bad = bad, fail = fail, shown = shown,
        full = full, to_i64 = to_i64, to_u64 = to_u64, tobit = bit.tobit, fill = ffi.fill, getmetatable = getmetatable,
        rawget = rawget, raw = options.defaults,
      }
      names.pages = page_writers(layout, names)
      function names.part(message, page)
        local at = cold(layout, message)
        if at == 0 then return 0 end
        local words = ffi.cast(S.types.pi8, at)
        if words[page + 1] == 0 then words[page + 1] = zeroed(layout.pages[page]) end
        return tonumber(words[page + 1])
      end
      function names.unknown(bytes, message)
        if type(bytes) ~= "string" then return bad(memory, layout, reader.UNKNOWN, "string of wire bytes", bytes) end
        if #bytes == 0 then return end
        local list, run = cold(layout, message), zeroed(16)
        if list == 0 or run == 0 then return end
        ffi.cast(S.types.pi8, list)[0] = run
        ffi.cast(S.types.pl, list).len = 1
        run = ffi.cast(S.types.ps, run)
        run.data, run.len = bytes, #bytes
      end
      local made = writer(layout, names)
      rawset(D, i, made)
      return made
    end,
  })
end

-- Writes `t`; gives the address of its message, or nil and an error.
function M.write(write, memory, t)
  memory.used, memory.failed = 0, nil
  local o = write(t, 0)
  if memory.failed == nil then return memory.base + o end
  -- No loop: traces of the caller's loop go through this function.
  if memory.failed == GROW then return M.write(write, memory:grow(memory.size * 2), t) end
  return nil, memory.failed
end

return M
