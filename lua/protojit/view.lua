-- Views: messages read in place. A view knows where its message lies; reading a field of it is a load at an offset, by a function made as Lua
-- source when the field is first read. Nothing is called, nothing is copied but strings.
--
-- A view of a message is { address, root }, that of the whole message { address, itself, arena, generation, input }: each access compares the
-- generation with the arena's, which a reset changes. The root keeps the arena and the input alive. So whoever makes more than one thing from a
-- message's memory has the view or the root still in use behind that: Lua may collect what is used no more, and what it alone refers to.

local ffi = require "ffi"
local L = require "protojit.layout"
local S = require "protojit.source"
local reader = require "protojit.reader"

local M = {}

local setmetatable, getmetatable, rawget = setmetatable, getmetatable, rawget

-- The metatables of views, by themselves: so others are told from them.
local ours = setmetatable({}, { __mode = "k" })

local function stale() error("protojit: the view's message is gone: its arena was used for another, or reset", 3) end

local function no_field(layout, name) error(("protojit: %s has no field %q"):format(layout.name, tostring(name)), 3) end

-- Lists: { address, root, n } under names that no index meets.
local List = {}

-- The number of elements.
function List.len(list) return list.n end

local function next_element(list, i)
  if i < list.n then return i + 1, list[i + 1] end
end

-- For `for i, element in list:each() do`.
function List.each(list) return next_element, list, 0 end

-- The elements as a table; messages as tables, too.
function List.totable(list) return getmetatable(list).totable(list) end

-- The metatable of views of a list: `element(a, i, root)` reads one, `values(a, n)` all.
local function list_metatable(element, values)
  return {
    __index = function(list, i)
      local root = rawget(list, "root")
      if root[3].generation ~= root[4] then stale() end
      if type(i) == "number" then
        if i >= 1 and i <= rawget(list, "n") then return element(rawget(list, "data"), i - 1, root) end
        return nil
      end
      return List[i]
    end,
    __newindex = function() error("protojit: views of lists cannot be written to", 2) end,
    totable = function(list)
      local root = rawget(list, "root")
      if root[3].generation ~= root[4] then stale() end
      local all = values(list.data, list.n, root)
      return all
    end,
  }
end

-- Lines that find the part `p` of a field; `unset` is what to give where it does not exist.
local function to_part(field, unset, lines)
  if field.page == 0 then return end
  lines[#lines + 1] = ("p = tonumber(pi8[0]) if p == 0 then %s end"):format(unset)
  lines[#lines + 1] = ("p = tonumber(pi8[%d]) if p == 0 then %s end"):format(field.page + 1, unset)
end

local function finish(layout, field, lines, body, names)
  for _, line in ipairs(body) do lines[#lines + 1] = line end
  return S.compile(layout.name .. "." .. field.name, lines, names)
end

-- The function that reads a field of the message at `p`.
local function getter(layout, field, type)
  local options = type.options
  local names = S.scope { D = type.readers, E = type.enums, V = type.views, setmetatable = setmetatable,
    key64 = reader.key64, key_u64 = reader.key_u64 }
  local lines, body = { "local D, E, V, setmetatable = X.D, X.E, X.V, X.setmetatable return function(p, root)" }, {}
  local function add(...) body[#body + 1] = (...):format(select(2, ...)) end
  if field.cell == L.LIST then
    local kind = L.KINDS[field.kind]
    local cell = ("cast_%s(a)[i]"):format(kind.pointer)
    local element = field.kind == 11 and ("setmetatable({ tonumber(%s), root }, V[%d])"):format(cell, field.child)
      or reader.value(field, cell, options)
    local get = S.compile(layout.name, {
      "local E, V, setmetatable = X.E, X.V, X.setmetatable return function(a, i, root)", "return " .. element .. " end",
    }, names)
    local all = S.compile(layout.name, {
      "local D, E = X.D, X.E return function(a, n, root)",
      ("local v = new(n, 0) for i = 0, n - 1 do v[i + 1] = %s end return v, root end"):format(reader.value(field, cell, options)),
    }, names)
    names.list = list_metatable(get, all)
    to_part(field, "return setmetatable({ root = root, n = 0 }, X.list)", lines)
    add("return setmetatable({ data = tonumber(pi8[%d]), root = root, n = pu4[%d] }, X.list) end", field.offset / 8, field.offset / 4 + 2)
    return finish(layout, field, lines, body, names)
  end
  names.default = type.defaults_of(layout)[field.name]
  local unset = field.cell == L.MAP and "return {}" or names.default ~= nil and "return X.default" or "return nil"
  to_part(field, unset, lines)
  add("if %s then", S.is_set(field))
  if field.cell == L.MAP then
    reader.plural(field, options, body)
    add("return v, root end %s end", unset)
  elseif field.cell == L.MESSAGE then
    add("return setmetatable({ tonumber(pi8[%d]), root }, V[%d]) end %s end", field.offset / 8, field.child, unset)
  else
    add("return %s end %s end", reader.singular(field, options), unset)
  end
  return finish(layout, field, lines, body, names)
end

-- The function that tells whether a field of the message at `p` is set.
local function tester(layout, field)
  local lines, body = { "return function(p)" }, {}
  to_part(field, "return false", lines)
  body[1] = ("return %s end"):format(S.is_set(field))
  return finish(layout, field, lines, body, S.scope {})
end

-- Functions by field name, each made when it is first needed.
local function by_name(layout, make)
  return setmetatable({}, {
    __index = function(made, name)
      local field = layout.by_name[name]
      if not field then return nil end
      local of_field = make(field)
      rawset(made, name, of_field)
      return of_field
    end,
  })
end

-- The metatables of a message type's views, one a layout, each made when it is first needed.
function M.metatables(type)
  return setmetatable({}, {
    __index = function(views, i)
      local layout = type.layouts[i]
      local get = by_name(layout, function(field) return getter(layout, field, type) end)
      local made = {
        layout = layout, index = i, type = type,
        has = by_name(layout, function(field) return tester(layout, field) end),
        __index = function(view, name)
          local root = view[2]
          if root[3].generation ~= root[4] then stale() end
          local read = get[name]
          if not read then no_field(layout, name) end
          local value = read(view[1], root)
          return value
        end,
        __newindex = function() error("protojit: views cannot be written to; clear clears a field", 2) end,
      }
      ours[made] = made
      rawset(views, i, made)
      return made
    end,
  })
end

-- A view of a whole message.
function M.new(metatable, address, arena, input)
  local root = { address, false, arena, arena.generation, input }
  root[2] = root
  return setmetatable(root, metatable)
end

-- What is known of a view: its metatable; nil where it is none.
function M.of(view)
  return ours[getmetatable(view)]
end

-- The address of a view's message, which must still be there.
function M.address(view)
  local root = view[2]
  if root[3].generation ~= root[4] then stale() end
  return view[1]
end

-- The same of what must be a view.
local function known(view) return M.of(view) or error("protojit: this is no view", 3) end

function M.has(view, name)
  local of = known(view)
  local has = of.has[name] or no_field(of.layout, name)
  return has(M.address(view))
end

-- The part of a field that is set.
local function part(message, page)
  if page == 0 then return message end
  return S.word(S.word(message, 0), page + 1)
end

local WIDTHS = { [L.BOOL] = 1, [L.BITS32] = 4, [L.BITS64] = 8, [L.STRING] = 16, [L.MESSAGE] = 8, [L.LIST] = 16, [L.MAP] = 8 }

-- Makes a field unset in the message itself: it is not encoded any more.
function M.clear(view, name)
  local layout = known(view).layout
  local field = layout.by_name[name] or no_field(layout, name)
  if not M.has(view, name) then return end
  local at = part(M.address(view), field.page)
  local words = ffi.cast(S.types.pu4, at)
  if field.presence == L.BIT then
    local word = field.presence_offset / 4
    words[word] = bit.band(words[word], bit.bnot(field.presence_mask))
  elseif field.presence == L.CASE then
    words[field.presence_offset / 4] = 0
  end
  ffi.fill(ffi.cast(S.types.pb, at + field.offset), WIDTHS[field.cell])
end

-- The name of the member of a oneof that is set, nil where none is.
function M.which(view, oneof)
  local layout = known(view).layout
  local number = layout.oneofs[oneof] or error(("protojit: %s has no oneof %q"):format(layout.name, tostring(oneof)), 2)
  for _, field in ipairs(layout.fields) do
    if field.oneof == number and M.has(view, field.name) then return field.name end
  end
end

-- The fields that the schema does not know, as wire bytes.
function M.unknown(view)
  known(view)
  local cold = S.word(M.address(view), 0)
  local found = cold ~= 0 and reader.unknown(cold) or ""
  if view then return found end
end

function M.totable(view)
  local of = known(view)
  local t = of.type.readers[of.index](M.address(view))
  if view then return t end
end

return M
