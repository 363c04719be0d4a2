-- Tables: every kind there and back, presence, enums, 64 bits, errors.

return function(T)
  local protojit, test, equal = T.protojit, T.test, T.equal
  local schema = assert(protojit.compile("everything.proto", { sources = require "schemas" }))
  local All = assert(schema:message "all.Everything")

  local function there_and_back(t, type)
    type = type or All
    local bytes = assert(type:encode(t))
    return assert(type:decode(bytes)), bytes
  end

  test("every scalar", function()
    local t = {
      i32 = -2147483648, i64 = -9223372036854775807LL - 1, u32 = 4294967295, u64 = 18446744073709551615ULL, s32 = -5, s64 = -6LL,
      f32 = 4000000000, f64 = 7ULL, sf32 = -8, sf64 = -9LL, f = 0.5, d = -0.1, b = true, s = "zoë", y = "\0\255", color = "BLUE",
      inner = { note = "n", level = 0 }, ["end"] = 1,
    }
    equal(there_and_back(t), t)
  end)

  test("lists and maps", function()
    local t = {
      li32 = { 1, -1, 300 }, li64 = { 1LL, -1LL }, lu32 = { 0, 4294967295 }, lu64 = { 5ULL }, ls32 = { -3, 3 }, ls64 = { -4LL },
      lf32 = { 6 }, lf64 = { 7ULL, 8ULL }, lsf32 = { -9 }, lsf64 = { -10LL }, lf = { 1.5, -2.5 }, ld = { 0.1, 1e300 },
      lb = { true, false, true }, ls = { "", "a", ("x"):rep(300) }, ly = { "\255", "" }, lcolor = { "RED", "BLUE", 77 },
      linner = { {}, { note = "a" }, { inner = { inner = { level = 3 } } } },
      ms = { a = 1, b = -2, [""] = 0 }, mi32 = { [-1] = "m", [7] = "" }, mi64 = { [-5] = "\1" }, mu64 = { [3] = { note = "v" } },
      mb = { [true] = "GREEN", [false] = "RED" }, mf32 = { [4000000000] = 0.25 }, ms64 = { [9007199254740991] = true }, mu32 = { [1] = 0.5 },
    }
    equal(there_and_back(t), t)
  end)

  test("map keys that no number holds are digits", function()
    local keys = { ["9007199254740993"] = "", ["-9223372036854775808"] = "x" }
    equal(there_and_back { mi64 = keys }, { mi64 = keys })
    equal(there_and_back { mu64 = { ["18446744073709551615"] = {} } }, { mu64 = { ["18446744073709551615"] = {} } })
    equal(All:decode((All:encode { mi64 = { [5LL] = "cdata" } })), { mi64 = { [5] = "cdata" } })
  end)

  test("presence", function()
    -- Implicit presence: zero is unset. Explicit presence: zero is set.
    equal(there_and_back { i32 = 0, s = "", b = false, d = 0, color = "RED", li32 = {}, ms = {} }, {})
    local t = { oi32 = 0, oi64 = 0LL, ob = false, os = "", od = 0, ocolor = "RED", oy = "" }
    equal(there_and_back(t), t)
    assert(1 / there_and_back({ d = -0.0 }).d < 0)
    equal(All:has(t, "ob"), true)
    All:clear(t, "ob")
    equal({ All:has(t, "ob"), All:has(t, "i32") }, { false, false })
    assert(not pcall(All.has, All, t, "typo"))
  end)

  test("oneofs", function()
    for _, t in ipairs { { pick_i32 = 0 }, { pick_s = "" }, { pick_inner = {} }, { pick_b = false }, { pick_d = 2 } } do
      local back = there_and_back(t)
      equal(back, t)
      equal(All:which(back, "pick"), (next(t)))
    end
    equal(All:which({}, "pick"), nil)
    local bytes, why = All:encode { pick_i32 = 1, pick_s = "x" }
    equal({ bytes, why.kind, why.path }, { nil, "encode", "Everything.pick_s" })
  end)

  test("enums by name and by number", function()
    equal(there_and_back { color = 5, lcolor = { 0, 1 } }, { color = "BLUE", lcolor = { "RED", "GREEN" } })
    equal(there_and_back { color = 1234 }, { color = 1234 })
    local numbers = assert(schema:message("all.Everything", { enums = "numbers", int64 = "numbers" }))
    equal(there_and_back({ color = "BLUE", mb = { [true] = "GREEN" }, i64 = 7LL, lu64 = { 8 } }, numbers),
      { color = 5, mb = { [true] = 1 }, i64 = 7, lu64 = { 8 } })
    assert(not pcall(schema.message, schema, "all.Everything", { enums = "symbols" }))
  end)

  test("64-bit integers in", function()
    for _, v in ipairs { 5, 5LL, 5ULL, "5", "005" } do equal(there_and_back { i64 = v, u64 = v }, { i64 = 5LL, u64 = 5ULL }) end
    equal(there_and_back { i64 = "-9223372036854775808", u64 = "18446744073709551615" },
      { i64 = -9223372036854775807LL - 1, u64 = 18446744073709551615ULL })
  end)

  test("what does not fit is told", function()
    local bad = {
      { i32 = 2147483648 }, { i32 = 0.5 }, { i32 = "1" }, { i32 = 0 / 0 }, { u32 = -1 }, { u32 = 4294967296 }, { u32 = 1.5 },
      { i64 = 2 ^ 63 }, { i64 = 0.5 }, { i64 = "x" }, { i64 = "9223372036854775808" }, { i64 = 0x8000000000000000ULL }, { u64 = -1 },
      { u64 = -1LL }, { u64 = "18446744073709551616" }, { f = "1" }, { d = {} }, { b = 1 }, { s = 5 }, { s = "\255" }, { y = false },
      { color = "PINK" }, { color = {} }, { inner = 5 }, { inner = { note = 1 } }, { li32 = 5 }, { li32 = { 1, "x" } }, { ls = { "\xc0\x80" } },
      { ms = 1 }, { ms = { [1] = 1 } }, { ms = { a = "x" } }, { ms = { ["\255"] = 1 } }, { mb = { x = "RED" } }, { mi32 = { [0.5] = "" } },
      { linner = { "x" } }, { [protojit.UNKNOWN] = "\8" }, { [protojit.UNKNOWN] = 5 },
    }
    for _, t in ipairs(bad) do
      local bytes, why = All:encode(t)
      assert(bytes == nil and why.kind == "encode" and #tostring(why) > 0, T.show(t))
      assert(why.path:match "^%u%l+", why.path)
    end
    equal(select(2, All:encode { inner = { note = 1 } }).path, "Inner.note")
    equal(select(2, All:encode { ls = { "\255" } }).path, "Everything.ls")
    equal(select(2, All:encode(5)).kind, "encode")
    local cycle = {}
    cycle.inner = cycle
    equal(select(2, assert(schema:message "all.Inner"):encode(cycle)).kind, "encode")
    -- Afterwards all is well.
    equal(there_and_back { i32 = 1 }, { i32 = 1 })
  end)

  test("bytes that are no message", function()
    local t, why = All:decode "\114\2a"
    equal({ t, why.kind, why.path, why.offset ~= nil }, { nil, "decode", "Everything.s", true })
    equal(select(2, All:decode "\114\1\255").offset, 1) -- Where the value begins: at its length.
    assert(tostring(why):find "Everything.s")
  end)

  test("unknown fields are kept", function()
    local unknown = "\xf8\x3f\x05\xfa\x3f\x02hi"
    local t = assert(All:decode("\8\1" .. unknown))
    equal(t, { i32 = 1, [protojit.UNKNOWN] = unknown })
    equal(All:encode(t), "\8\1" .. unknown)
    -- Runs that lie apart in the input.
    equal(All:decode("\xf8\x3f\x05\8\1\xfa\x3f\x02hi")[protojit.UNKNOWN], unknown)
    equal(assert(All:decode(assert(All:encode { inner = { [protojit.UNKNOWN] = unknown } }))).inner, { [protojit.UNKNOWN] = unknown })
  end)

  test("proto2: defaults, closed enums, groups, extensions", function()
    local old = assert(protojit.compile("old.proto", { sources = require "schemas" }))
    local Order = assert(old:message "old.Order")
    local t = {
      id = 0, name = "", state = "DONE", states = { "NEW", "DONE" }, gift = false, stats = { ns = 5LL, tries = { 1, 2 } },
      ["[old.region]"] = "EU", ["[old.marks]"] = { 7, 8 }, ["[old.parent]"] = { id = 9 },
    }
    equal(there_and_back(t, Order), t)
    equal(there_and_back({ id = 1, state = "ALSO_DONE" }, Order).state, "ALSO_DONE")
    equal(select(2, Order:encode {}).kind, "encode") -- The id is required.
    equal(select(2, Order:encode { id = 1, state = 99 }).path, "Order.state")
    equal(select(2, Order:decode "").kind, "decode")
    equal(Order:decode "\8\1\24\99", { id = 1, [protojit.UNKNOWN] = "\24\99" }) -- No value of a closed enum.
    local With = assert(old:message("old.Order", { defaults = true }))
    local d = assert(With:decode "\8\1")
    equal({ d.name, d.state, d.price, d.gift, d.big, d.raw, d.states }, { "nobody", "NEW", 1.5, true, -9000000000000000000LL, "\1\255" })
    equal(With:has(d, "name"), false)
    equal(With:encode(d), "\8\1")
  end)

  test("JSON", function()
    local t = { i32 = 1, i64 = 2LL, s = "x", color = "BLUE", linner = { { note = "n" } }, ms = { k = 3 }, oi32 = 0, y = "\255" }
    local text = assert(All:to_json(t))
    equal(All:from_json(text), t)
    equal(All:to_json { i64 = 5 }, '{"i64":"5"}')
    local none, why = All:from_json '{"i32": "x"}'
    equal({ none, why.kind, why.path, why.offset ~= nil }, { nil, "json", "Everything.i32", true })
    equal(select(2, All:to_json { s = "\255" }).kind, "encode")
  end)

  test("schemas: names, index paths, sets, what is missing", function()
    equal(schema:messages(), { "all.Inner", "all.Everything" })
    equal(schema:message_at({ 1 }).name, "all.Everything")
    equal({ schema:message_at({ 9 }) == nil, select(2, schema:message "all.None").kind }, { true, "schema" })
    equal(select(2, protojit.register "\10").kind, "schema")
    equal(select(2, protojit.compile "missing.proto").kind, "source")
    equal(select(2, protojit.load "missing.binpb").kind, "source")
    local set = assert(protojit.load(T.root .. "/examples/payloads/descriptor.binpb"))
    assert(#set:messages() > 0)
  end)

  test("memory is bounded", function()
    local small = assert(schema:message("all.Everything", { memory = 20000 }))
    local t = { li32 = {} }
    for i = 1, 100 do t.li32[i] = i end
    equal(there_and_back(t, small), t)
    for i = 1, 20000 do t.li32[i] = i end
    local bytes = assert(small:encode(t))
    for _, none in ipairs { { small:decode(bytes) }, { small:view(bytes) }, { All:view(bytes, assert(protojit.arena { memory = 20000 })) } } do
      equal({ none[1], none[2].kind }, { nil, "decode" })
    end
    equal(#assert(All:decode(bytes)).li32, 20000)
  end)

  test("messages that outgrow the memory they are written to", function()
    for _, n in ipairs { 10, 1000, 100000 } do
      local t = { li32 = {}, ls = {}, linner = {} }
      for i = 1, n do t.li32[i], t.ls[i], t.linner[i] = i, "s" .. i, { level = i } end
      local back = there_and_back(t)
      equal({ #back.li32, back.ls[n], back.linner[n] }, { n, "s" .. n, { level = n } })
    end
  end)
end
