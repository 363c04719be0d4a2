-- Against other codecs: the payloads of examples/, the library's own encoder, the plain-Lua reference; wide messages; random tables.

return function(T)
  local protojit, test, equal = T.protojit, T.test, T.equal
  local hello = assert(protojit.load(T.root .. "/examples/hello.proto"))
  local basic = assert(protojit.load(T.root .. "/examples/proto2_basic.proto"))
  local payloads = {
    { hello, "hello.Person", "person_10" }, { hello, "hello.Person", "person_100" }, { hello, "hello.Person", "person_1k" },
    { hello, "hello.Person", "person_10k" }, { basic, "basic.BenchPayload", "bench_min" }, { basic, "basic.BenchPayload", "bench_mid" },
    { basic, "basic.BenchPayload", "bench_unknown" },
  }

  test("payloads", function()
    for _, payload in ipairs(payloads) do
      local type, name = assert(payload[1]:message(payload[2])), payload[3]
      local bytes = T.read(("examples/payloads/%s.binpb"):format(name))
      local t = assert(type:decode(bytes))
      local again = assert(type:encode(t))
      equal(#again, #bytes, name)
      equal(type:decode(again), t, name)
      local v = assert(type:view(bytes))
      equal(protojit.totable(v), t, name)
      local json = assert(type:to_json(v))
      local from = assert(type:from_json(json))
      local function drop_unknown(of) -- JSON has none.
        of[protojit.UNKNOWN] = nil
        for _, value in pairs(of) do
          if _G.type(value) == "table" then drop_unknown(value) end
        end
      end
      drop_unknown(t)
      equal(from, t, name)
      local file = io.open(T.root .. ("/examples/payloads/%s.json"):format(name))
      if file then
        equal(type:from_json((file:read "*a")), from, name)
        file:close()
      end
    end
  end)

  test("the plain-Lua reference", function()
    local Person = assert(hello:message "hello.Person")
    local reference = require("reference").new(Person, { utf8 = true, packed = { ["hello.Person.lucky_numbers"] = true } })
    for i = 1, 4 do
      local bytes = T.read(("examples/payloads/%s.binpb"):format(payloads[i][3]))
      local t = assert(Person:decode(bytes))
      equal(reference.decode(bytes), t)
      equal(Person:decode(reference.encode(t)), t)
    end
    assert(not pcall(reference.decode, "\10\1\255"))
  end)

  test("wide messages", function()
    -- So many fields that most lie on cold pages.
    local lines = { 'syntax = "proto3"; message Wide {' }
    local types = { "int32", "string", "double", "bool", "optional int64", "repeated int32", "Wide", "optional bool" }
    for i = 1, 700 do lines[#lines + 1] = ("%s f%d = %d;"):format(types[i % #types + 1], i, i) end
    lines[#lines + 1] = "oneof far { int32 far_a = 801; string far_b = 802; } map<string, int32> far_map = 803; }"
    local Wide = assert(assert(protojit.compile("w.proto", { sources = { ["w.proto"] = table.concat(lines, "\n") } })):message "Wide")
    assert(#Wide.layouts[1].pages > 5)
    local values = { 7, "text", 0.5, true, 5LL, { 1, 2 }, { f8 = 1 }, false }
    local all = { far_b = "far", far_map = { k = 1 } }
    for i = 1, 700 do
      local one = { ["f" .. i] = values[i % #types + 1] }
      all["f" .. i] = one["f" .. i]
      local bytes = assert(Wide:encode(one))
      equal(Wide:decode(bytes), one)
      local v = assert(Wide:view(bytes))
      equal({ Wide:has(v, "f" .. i), Wide:has(v, "f" .. (i % 700 + 1)) }, { true, false })
      equal(protojit.totable(v), one)
      Wide:clear(v, "f" .. i)
      equal(Wide:encode(v), "")
    end
    equal(Wide:decode((Wide:encode(all))), all)
    local v = assert(Wide:view((Wide:encode(all))))
    equal({ v.far_b, v.far_map, v.f697, Wide:which(v, "far"), v.f6 ~= nil }, { "far", { k = 1 }, all.f697, "far_b", true })
  end)

  test("random tables", function()
    local schema = assert(protojit.compile("everything.proto", { sources = require "schemas" }))
    local All = assert(schema:message "all.Everything")
    local layouts = All.layouts
    math.randomseed(4)
    local random = math.random
    local make
    local function scalar(kind)
      if kind == 9 or kind == 12 then return ("ab"):rep(random(0, 9)) end
      if kind == 8 then return random(2) == 1 end
      if kind == 1 or kind == 2 then return random(-8, 8) / 4 end
      if kind == 14 then return ({ "RED", "GREEN", "BLUE", 77 })[random(4)] end
      if kind == 3 or kind == 16 or kind == 18 then return (random(2) == 1 and -1LL or 1LL) * 2LL ^ random(0, 62) end
      if kind == 4 or kind == 6 then return 2ULL ^ random(0, 63) end
      if kind == 13 or kind == 7 then return 2 ^ random(0, 31) end
      return random(-2147483648, 2147483647)
    end
    local function value(field, depth)
      if field.kind == 11 then return make(field.child, depth + 1) end
      return scalar(field.kind)
    end
    function make(i, depth)
      local t, picked = {}, false
      for _, field in ipairs(layouts[i].fields) do
        local wanted = random(4) == 1 and (field.child == nil or depth < 4) and not (field.oneof and picked)
        if wanted and field.cell == 5 then
          local list = {}
          for n = 1, random(1, 20) do list[n] = value(field, depth) end
          t[field.name] = list
        elseif wanted and field.cell == 6 then
          local map = {}
          for _ = 1, random(1, 20) do
            local key = random(0, 9999)
            if field.key_kind == 9 then key = "k" .. key elseif field.key_kind == 8 then key = key % 2 == 1 end
            map[key] = value(field, depth)
          end
          t[field.name] = map
        elseif wanted then
          local v = value(field, depth)
          picked = picked or field.oneof ~= nil
          -- Zero is unset where presence is implicit.
          if field.presence ~= 3 or not (v == 0 or v == "" or v == false or v == "RED") then t[field.name] = v end
        end
      end
      return t
    end
    for _ = 1, 120 do
      local t = make(1, 0)
      local bytes = assert(All:encode(t))
      equal(All:decode(bytes), t)
      equal(protojit.totable(assert(All:view(bytes))), t)
      equal(All:from_json((All:to_json(t))), t)
    end
  end)

  test("mutated payloads: tables and views agree, or both fail in the same way", function()
    math.randomseed(9)
    local random, good, bad = math.random, 0, 0
    for _, payload in ipairs { payloads[3], payloads[6], payloads[7] } do
      local type = assert(payload[1]:message(payload[2]))
      local bytes = T.read(("examples/payloads/%s.binpb"):format(payload[3]))
      for _ = 1, 300 do
        local at, n = random(#bytes), random(0, 2)
        local mutated = bytes:sub(1, at - 1) .. string.char(random(0, 255)):rep(n) .. bytes:sub(at + random(0, 3))
        local t, why = type:decode(mutated)
        local v, why_not = type:view(mutated)
        if t then
          equal(protojit.totable(v), t)
          local again = assert(type:encode(t))
          equal(type:decode(again), t)
          equal(type:decode((type:encode(v))), t)
          good = good + 1
        else
          equal({ v, why.kind, why.text, why.path }, { nil, "decode", why_not.text, why_not.path })
          assert(why.offset <= #mutated and #why.text > 0)
          bad = bad + 1
        end
      end
    end
    assert(good > 100 and bad > 100, good .. " " .. bad)
  end)

  test("messages and inputs that nobody else keeps, while memory is collected", function()
    local Person = assert(hello:message "hello.Person")
    -- Inputs beyond 512 bytes are not copied.
    local function fresh(i)
      local emails = {}
      for n = 1, 60 do emails[n] = ("%d.%d@example.org"):format(i, n) end
      local ages = {}
      for n = 1, 20 do ages[i .. "." .. n] = n end
      return { name = "n" .. i, emails = emails, ages_by_nickname = ages, [protojit.UNKNOWN] = "\xfa\x3f\x05" .. ("%05d"):format(i % 99999) }
    end
    collectgarbage "collect"
    local pause, multiplier = collectgarbage("setpause", 10), collectgarbage("setstepmul", 1000)
    local ok, why = pcall(function()
      for i = 1, 200 do
        local t = assert(Person:decode(assert(Person:encode(fresh(i)))))
        if t.name ~= "n" .. i or #t.emails ~= 60 then error("name " .. i) end
        for n = 1, 60 do
          if t.emails[n] ~= ("%d.%d@example.org"):format(i, n) then error(("email %d of %d"):format(n, i)) end
        end
        local v = assert(Person:view(assert(Person:encode(fresh(-i)))))
        local text = Person:to_json(fresh(i))
        local function view() return assert(Person:view(assert(Person:encode(fresh(i))), assert(protojit.arena()))) end
        if view().ages_by_nickname[i .. ".20"] ~= 20 or view().emails:totable()[60] ~= ("%d.60@example.org"):format(i) then error("map " .. i) end
        if protojit.totable(view()).emails[60] ~= ("%d.60@example.org"):format(i) then error("totable " .. i) end
        if not assert(Person:encode(view())):find(("%d.60@example.org"):format(i), 1, true) then error("encode " .. i) end
        if protojit.unknown(view()) ~= "\xfa\x3f\x05" .. ("%05d"):format(i) then error("unknown " .. i) end
        if v.emails[60] ~= ("%d.60@example.org"):format(-i) or v.name ~= "n-" .. i then error("view " .. i) end
        if not text:find(("%d.60@example.org"):format(i), 1, true) then error("JSON " .. i) end
      end
    end)
    collectgarbage("setpause", pause)
    collectgarbage("setstepmul", multiplier)
    assert(ok, why)
  end)
end
