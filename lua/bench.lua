-- Measures the binding against the plain-Lua reference, in one run: Person from 10 bytes to 100 KB and BenchPayload, to tables and back, and views with
-- three fields read. Rounds go through all peers in turn; what is shown are medians of nanoseconds a message, garbage collection included.
--
--   PROTOJIT_LIBRARY=target/release/libprotojit_c.so luajit lua/bench.lua [ROUNDS [PATTERN]]
--
-- With 0 rounds it only checks that all codecs agree about all workloads.

local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local ffi = require "ffi"
local protojit = require "protojit"

ffi.cdef [[
typedef struct { long seconds; long nanoseconds; } BenchTime;
int clock_gettime(int clock, BenchTime *time);
]]
local time = ffi.new "BenchTime"
local function now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.seconds) * 1e9 + tonumber(time.nanoseconds)
end

local ROUNDS = tonumber(arg[1]) or 9
local ROUND_NANOSECONDS = 4e7

-- Workloads: the make-up of benches/src/workloads/people.rs ---------------------------------------------------------------------------

math.randomseed(7)
local random = math.random
local function pick(list) return list[random(#list)] end
local function word(from, to)
  local letters = {}
  for i = 1, random(from, to) do letters[i] = string.char(96 + random(26)) end
  return table.concat(letters)
end

local NAMES = { "Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Tony", "Frances", "Niklaus", "Margaret", "Dennis", "Ken", "Jean", "Zoë",
  "John", "Łucja" }
local SHORT_NAMES = { "Adam", "Brian", "Carla", "Dora", "Emil", "Fiona", "Gustav", "Helga", "Ingo", "Jonas", "Karla", "Lea", "Moritz", "Zoë",
  "Otto", "Paula" }
local STREETS = { "Main Street", "Elm Avenue", "Station Road", "Mill Lane", "Königsallee", "High Street" }
local CITIES = { "Boston", "Köln", "Lisbon", "Oslo", "Nairobi", "Quito", "Osaka", "Perth" }
local STATUS = { "ACTIVE", "SUSPENDED", "DELETED" }

local function email() return word(3, 6) .. "." .. word(5, 9) .. "@" .. pick { "example.com", "example.org", "mail.example", "post.example" } end
local function name() return pick(NAMES) .. " " .. word(5, 9) end
local function bits() return random(0, 2 ^ 31 - 1) * 2ULL ^ 32 + random(0, 2 ^ 31 - 1) end

local function tiny() return { name = pick(SHORT_NAMES), age = random(18, 99) } end
local function fifty() return { name = name(), age = random(18, 99), emails = { email() }, status = "ACTIVE" } end
local function small()
  return { name = name(), age = random(18, 99), emails = { email(), email() }, status = pick(STATUS),
    address = { city = pick(CITIES), zip = random(10000, 99999) }, user_id = bits() }
end

local function full(bytes, friends, friend, lucky, avatar, nicknames, encode)
  local t = {
    name = name(), age = random(18, 99), status = pick(STATUS), user_id = bits(), balance = random(-99999, 99999), weight_kg = random(400, 1200) / 10,
    address = { street = random(200) .. " " .. pick(STREETS), city = pick(CITIES), zip = random(10000, 99999), apartment = random(20) .. "b" },
    friends = {}, lucky_numbers = {}, ages_by_nickname = {}, emails = {},
  }
  for i = 1, friends do t.friends[i] = friend() end
  for i = 1, lucky do t.lucky_numbers[i] = random(0, 2 ^ random(3, 31) - 1) end
  local raw = {}
  for i = 1, avatar do raw[i] = string.char(random(0, 255)) end
  t.avatar = table.concat(raw)
  for i = 1, nicknames do t.ages_by_nickname[word(2, 3) .. i] = random(18, 99) end
  local rest = #encode(t)
  while rest + 15 < bytes do
    local one = email()
    t.emails[#t.emails + 1] = one
    rest = rest + #one + 2
  end
  return t
end

local function payload_min() return { id = random(1, 99999), name = word(4, 8) } end
local function payload_mid()
  return {
    id = random(1, 99999), name = word(6, 9), retries = random(0, 9), lucky_numbers = { 1, 22, 333, 4444, 55555, 666666, 7777777, 88888888 },
    tags = { word(3, 6), word(3, 6), word(3, 6), word(3, 6) }, inner = { key = word(3, 8), weight = random(1, 200) },
    stats = { latency_ns = random(1, 2 ^ 31) + 0LL, attempts = random(1, 9) }, ["[basic.priority]"] = random(1, 9), ["[basic.region]"] = "eu-west",
  }
end

local hello = assert(protojit.load(here .. "/../examples/hello.proto"))
local basic = assert(protojit.load(here .. "/../examples/proto2_basic.proto"))
local PERSON, PAYLOAD = { hello, "hello.Person", { "name", "age", "user_id" } }, { basic, "basic.BenchPayload", { "id", "name", "[basic.priority]" } }
local function sized(...)
  local plan = { ... }
  return function(encode)
    plan[7] = encode
    return full(unpack(plan, 1, 7))
  end
end
local WORKLOADS = {
  { "Person, 10 B", PERSON, 64, tiny }, { "Person, 100 B", PERSON, 64, small }, { "Person, 1 KB", PERSON, 32, sized(1000, 2, fifty, 8, 32, 4) },
  { "Person, 10 KB", PERSON, 8, sized(10000, 5, small, 20, 64, 10) }, { "Person, 100 KB", PERSON, 8, sized(100000, 20, small, 50, 256, 20) },
  { "BenchPayload, min", PAYLOAD, 64, payload_min }, { "BenchPayload, mid", PAYLOAD, 64, payload_mid },
}

-- Measuring --------------------------------------------------------------------------------------------------------------------------

-- A loop of its own for each case, so that no case runs in the traces of another.
local LOOP = "return function(work, inputs, n) local count = #inputs for i = 0, n - 1 do work(inputs[i % count + 1]) end end"

local function median(values)
  table.sort(values)
  return values[math.floor(#values / 2) + 1]
end

-- Medians of cases: { work, inputs }.
local function measure(cases)
  for _, case in ipairs(cases) do
    case.loop, case.n, case.times = loadstring(LOOP)(), #case.inputs, {}
    -- Warm, and find how many make a round.
    while true do
      local start = now()
      case.loop(case.work, case.inputs, case.n)
      local took = now() - start
      if took >= ROUND_NANOSECONDS then break end
      case.n = case.n * (took < ROUND_NANOSECONDS / 8 and 4 or 2)
    end
  end
  for _ = 1, ROUNDS do
    for _, case in ipairs(cases) do
      collectgarbage()
      local start = now()
      case.loop(case.work, case.inputs, case.n)
      case.times[#case.times + 1] = (now() - start) / case.n
    end
  end
  local medians = {}
  for i, case in ipairs(cases) do medians[i] = median(case.times) end
  return medians
end

-- Codecs of their own for each workload: what another one has compiled does not matter.
local function reference(type, utf8)
  return dofile(here .. "/bench/reference.lua").new(type, {
    utf8 = utf8, packed = { ["hello.Person.lucky_numbers"] = true, ["basic.BenchPayload.lucky_numbers"] = true },
    groups = { ["basic.BenchPayload.stats"] = true },
  })
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

local READ = "local has = ... return function(t) local a, b, c = t[%q], t[%q], t[%q] return a, b, c end"

local function run(title, of, count, make)
  jit.flush()
  local type = assert(of[1]:message(of[2]))
  local plain, checked = reference(type, false), reference(type, true)
  local function encode(t) return (assert(type:encode(t))) end
  local tables, inputs, size = {}, {}, 0
  for i = 1, count do
    inputs[i] = encode(make(encode))
    tables[i] = assert(type:decode(inputs[i]))
    size = size + #inputs[i] / count
    assert(same(plain.decode(inputs[i]), tables[i]) and same(checked.decode(inputs[i]), tables[i]), title)
    assert(same(type:decode(plain.encode(tables[i])), tables[i]), title)
  end
  if ROUNDS == 0 then return end
  local function three() return loadstring(READ:format(unpack(of[3])))() end
  local read_view, read_plain, read_checked = three(), three(), three()
  local decode_only, plain_only, checked_only = type.decode, plain.decode, checked.decode
  local decode = measure {
    { work = function(bytes) return decode_only(type, bytes) end, inputs = inputs }, { work = plain.decode, inputs = inputs },
    { work = checked.decode, inputs = inputs },
  }
  local view = type.view
  local views = measure {
    { work = function(bytes) return read_view(view(type, bytes)) end, inputs = inputs },
    { work = function(bytes) return read_plain(plain_only(bytes)) end, inputs = inputs },
    { work = function(bytes) return read_checked(checked_only(bytes)) end, inputs = inputs },
  }
  local encode_only = type.encode
  local encoded = measure { { work = function(t) return encode_only(type, t) end, inputs = tables }, { work = plain.encode, inputs = tables } }
  local function row(what, ours, ...)
    local cells = { ("%-18s %7.0f %-7s %9.0f"):format(title, size, what, ours) }
    for _, peer in ipairs { ... } do cells[#cells + 1] = ("%9.0f %5.1f"):format(peer, peer / ours) end
    print(table.concat(cells, "   "))
  end
  row("decode", decode[1], decode[2], decode[3])
  row("view", views[1], views[2], views[3])
  row("encode", encoded[1], encoded[2])
end

if ROUNDS > 0 then
  print("ns a message; the number behind a peer: how many times as fast protojit is")
  print(("%-18s %7s %-7s %9s   %9s %5s   %9s"):format("", "bytes", "", "protojit", "plain Lua", "", "plain Lua, UTF-8 checked"))
end
for _, workload in ipairs(WORKLOADS) do
  if workload[1]:find(arg[2] or "") then run(unpack(workload)) end
end
