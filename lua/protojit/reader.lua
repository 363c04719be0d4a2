-- Tables from message memory. Each layout gets a function of its own, made as Lua source when it is first needed: it reads the fields by
-- offset, so that LuaJIT compiles it to loads and stores.

local ffi = require "ffi"
local L = require "protojit.layout"
local S = require "protojit.source"

local M = {}

-- Where a table keeps fields that its schema does not know: wire bytes.
M.UNKNOWN = "$unknown"

-- So many fields are read into locals, then put into a table by one constructor, whose size fits: a table that grows key by key costs more than
-- all else. The fields after them are put in one by one.
local CONSTRUCTED = 32

-- Keys of tables must be Lua's own: numbers where they are exact, else decimal strings.
function M.key64(key)
  if key < 9007199254740992LL and key > -9007199254740992LL then return tonumber(key) end
  return (tostring(key):gsub("U?LL$", ""))
end

function M.key_u64(key)
  if key < 9007199254740992ULL then return tonumber(key) end
  return (tostring(key):gsub("U?LL$", ""))
end

-- Runs of unknown fields in the cold part at an address, joined; nil where there are none.
function M.unknown(cold)
  local cell = ffi.cast(S.types.pl, cold)
  if cell.len == 0 then return nil end
  local runs = ffi.cast(S.types.ps, cell.data)
  if cell.len == 1 then return ffi.string(runs[0].data, runs[0].len) end
  local all = {}
  for i = 0, cell.len - 1 do all[i + 1] = ffi.string(runs[i].data, runs[i].len) end
  return table.concat(all)
end

-- The expression for a value of the field that lies at `cell`.
function M.value(field, cell, options)
  local kind = L.KINDS[field.kind]
  if field.kind == 8 then
    return cell .. " ~= 0"
  elseif field.kind == 9 or field.kind == 12 then
    return ("str(%s.data, %s.len)"):format(cell, cell)
  elseif field.kind == 11 then
    return ("D[%d](tonumber(%s))"):format(field.child, cell)
  elseif field.kind == 14 and options.enums == "names" then
    return ("(E[%d].names[%s] or %s)"):format(field.enum, cell, cell)
  elseif (kind.signed64 or kind.unsigned64) and options.int64 == "numbers" then
    return ("tonumber(%s)"):format(cell)
  end
  return cell
end

-- The expression for a singular field of the message at `p`.
function M.singular(field, options)
  if field.cell == L.STRING then
    return ("str(pp[%d], pu4[%d])"):format(field.offset / 8, field.offset / 4 + 2)
  end
  local kind = L.KINDS[field.kind]
  return M.value(field, ("%s[%d]"):format(kind.pointer, field.offset / kind.width), options)
end

-- Lines that put a list or a map into the local `v`. The field is not empty.
function M.plural(field, options, lines)
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  local kind = L.KINDS[field.kind]
  if field.cell == L.LIST then
    add("local n, a = pu4[%d], tonumber(pi8[%d])", field.offset / 4 + 2, field.offset / 8)
    add("local v = new(n, 0)")
    add("for i = 0, n - 1 do v[i + 1] = %s end", M.value(field, ("cast_%s(a)[i]"):format(kind.pointer), options))
    return
  end
  local key = L.KINDS[field.key_kind]
  add("local m = tonumber(pi8[%d])", field.offset / 8)
  add("local n, e = cast_pm(m).len, tonumber(cast_pi8(m)[0])")
  add("local v = new(0, n)")
  add("for i = 1, n do")
  local found = ("cast_%s(e)[0]"):format(key.pointer)
  if field.key_kind == 9 then
    add("local key = str(%s.data, %s.len)", found, found)
  elseif field.key_kind == 8 then
    add("local key = %s ~= 0", found)
  else
    add("local key = %s(%s)", key.signed64 and "X.key64" or key.unsigned64 and "X.key_u64" or "", found)
  end
  add("v[key] = %s", M.value(field, ("cast_%s(e + %d)[0]"):format(kind.pointer, field.value_offset), options))
  add("e = e + %d end", field.stride)
end

-- The fields of a part: of the message itself (0), or of a page.
local function fields_of(layout, page)
  local fields = {}
  for _, field in ipairs(layout.fields) do
    if field.page == page then fields[#fields + 1] = field end
  end
  return fields
end

-- Adds lines that put those of the fields that are set, in the part at `p`, to where `target(field)` says.
local function field_lines(fields, options, target, lines)
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  local cases = {}
  for _, field in ipairs(fields) do
    if field.presence == L.CASE then
      -- A oneof is told apart once, where its first member stands.
      local case = field.presence_offset
      if not cases[case] then
        cases[case] = true
        add("do local case = pu4[%d]", case / 4)
        local word = "if"
        for _, member in ipairs(fields) do
          if member.presence == L.CASE and member.presence_offset == case then
            add("%s case == %d then %s = %s", word, member.number, target(member), M.singular(member, options))
            word = "elseif"
          end
        end
        add("end end")
      end
    elseif field.cell >= L.LIST then
      add("if %s then", S.is_set(field))
      M.plural(field, options, lines)
      add("%s = v end", target(field))
    else
      add("if %s then %s = %s end", S.is_set(field), target(field), M.singular(field, options))
    end
  end
end

local function member_of_t(field) return S.member("t", field.name) end

-- Lines that make the table `t` of the locals `v1` and so on: with room for two fields where no later one is set, else for four, and so on.
local function constructor_lines(fields, lines)
  local room, word = 2, "if"
  lines[#lines + 1] = "local t"
  while true do
    local rest, members = {}, {}
    for i, field in ipairs(fields) do
      if i > room then rest[#rest + 1] = ("v%d == nil"):format(i) else members[i] = ("[%q] = v%d"):format(field.name, i) end
    end
    local made = ("t = { %s }"):format(table.concat(members, ", "))
    if #rest == 0 then
      lines[#lines + 1] = word == "if" and made or ("else %s end"):format(made)
      return
    end
    lines[#lines + 1] = ("%s %s then %s"):format(word, table.concat(rest, " and "), made)
    room, word = room * 2, "elseif"
  end
end

-- Adds lines that go through the cold pages that are there: `add_lines(page)` adds those that use the one at `p`.
local function page_lines(layout, lines, add_lines)
  if #layout.pages == 0 then return end
  lines[#lines + 1] = "if cold ~= 0 then"
  for page = 1, #layout.pages do
    lines[#lines + 1] = ("do local p = tonumber(cast_pi8(cold)[%d]) if p ~= 0 then"):format(page + 1)
    add_lines(page)
    lines[#lines + 1] = "end end"
  end
  lines[#lines + 1] = "end"
end

-- The function that makes a table of the message at `p`.
local function reader(layout, options, names)
  -- Fields of cold pages are put in by functions of their own, unless all fields of the message are few.
  local few = #layout.fields <= CONSTRUCTED
  local first, locals, here, later = {}, {}, {}, {}
  for page = 0, few and #layout.pages or 0 do
    for _, field in ipairs(fields_of(layout, page)) do
      if #first == CONSTRUCTED then
        later[#later + 1] = field
      else
        first[#first + 1] = field
        locals[#first], locals[field] = "v" .. #first, "v" .. #first
        if page == 0 then here[#here + 1] = field end
      end
    end
  end
  local function local_of(field) return locals[field] end
  local lines = { "local D, E, pages, defaults = X.D, X.E, X.pages, X.defaults", "return function(p)" }
  if #first > 0 then lines[#lines + 1] = "local " .. table.concat(locals, ", ") end
  lines[#lines + 1] = "local cold = tonumber(pi8[0])"
  field_lines(here, options, local_of, lines)
  if few then
    page_lines(layout, lines, function(page) field_lines(fields_of(layout, page), options, local_of, lines) end)
  end
  constructor_lines(first, lines)
  field_lines(later, options, member_of_t, lines)
  if not few then page_lines(layout, lines, function(page) lines[#lines + 1] = ("pages[%d](t, p)"):format(page) end) end
  lines[#lines + 1] = ("if cold ~= 0 and cast_pu4(cold)[2] ~= 0 then t[%q] = X.unknown(cold) end"):format(M.UNKNOWN)
  lines[#lines + 1] = options.defaults and "return X.setmetatable(t, defaults) end" or "return t end"
  return S.compile(layout.name, lines, names)
end

-- The functions that read the fields of cold pages into `t`, by page, each made when it is first needed.
local function page_readers(layout, options, names)
  return setmetatable({}, {
    __index = function(pages, page)
      local lines = { "local D, E = X.D, X.E", "return function(t, p)" }
      field_lines(fields_of(layout, page), options, member_of_t, lines)
      lines[#lines + 1] = "end"
      local made = S.compile(layout.name, lines, names)
      pages[page] = made
      return made
    end,
  })
end

function M.default_values(layout, enums, options)
  local values = {}
  for _, field in ipairs(layout.fields) do
    local default = field.default
    if field.enum and default and options.enums == "names" then default = enums[field.enum].names[default] or default end
    if type(default) == "cdata" and options.int64 == "numbers" then default = tonumber(default) end
    if not field.oneof then values[field.name] = default end
  end
  return values
end

-- The readers of layouts, each made when it is first used: `readers[i](p)` gives a table.
function M.new(layouts, enums, options)
  local D = {}
  return setmetatable(D, {
    __index = function(_, i)
      local layout = layouts[i]
      local names = S.scope {
        D = D, E = enums, key64 = M.key64, key_u64 = M.key_u64, unknown = M.unknown, setmetatable = setmetatable,
        defaults = options.defaults and { __index = M.default_values(layout, enums, options) } or nil,
      }
      names.pages = page_readers(layout, options, names)
      local made = reader(layout, options, names)
      rawset(D, i, made)
      return made
    end,
  })
end

return M
