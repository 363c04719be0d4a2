-- The tests of the binding. Run from anywhere: PROTOJIT_LIBRARY=target/debug/libprotojit_c.so luajit lua/tests/run.lua [FILE...]

local here = arg[0]:match "^(.*)/tests/[^/]*$" or "."
package.path = ("%s/?.lua;%s/tests/?.lua;%s/bench/?.lua;"):format(here, here, here) .. package.path

-- Counts the calls of every function of the library: generated code and modules all go through this table.
local F = require "protojit.ffi"
local library, calls = F.C, {}
F.C = setmetatable({}, {
  __index = function(_, name)
    calls[name] = (calls[name] or 0) + 1
    return library[name]
  end,
})

local T = { here = here, root = here .. "/..", failed = 0, passed = 0 }
T.protojit = require "protojit"

-- The calls that `work` makes, as "name name ...", sorted.
function T.calls_of(work)
  for name in pairs(calls) do calls[name] = nil end
  work()
  local all = {}
  for name, count in pairs(calls) do all[#all + 1] = count == 1 and name or name .. "*" .. count end
  table.sort(all)
  return table.concat(all, " ")
end

function T.read(path)
  local file = assert(io.open(T.root .. "/" .. path, "rb"))
  local bytes = file:read "*a"
  file:close()
  return bytes
end

-- A value in one line, keys sorted.
function T.show(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and type(a) ~= "boolean" then return a < b end
    return tostring(a) < tostring(b)
  end)
  local parts = {}
  for i, key in ipairs(keys) do
    parts[i] = (key == i and "" or tostring(key) .. "=") .. T.show(value[key])
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

function T.equal(found, wanted, what)
  local a, b = T.show(found), T.show(wanted)
  if a ~= b then error(("%s: found %s, wanted %s"):format(what or "differs", a, b), 2) end
end

-- Runs a test.
function T.test(name, work)
  local ok, why = xpcall(work, debug.traceback)
  if ok then
    T.passed = T.passed + 1
  else
    T.failed = T.failed + 1
    print("FAILED " .. name .. "\n  " .. tostring(why))
  end
end

local files = { "tables", "views", "wire", "border", "service", "readme" }
if #arg > 0 then files = arg end
for _, file in ipairs(files) do
  print(file)
  dofile(("%s/tests/%s.lua"):format(here, file))(T)
end
print(("%d passed, %d failed"):format(T.passed, T.failed))
os.exit(T.failed == 0 and T.passed > 0 and 0 or 1)
