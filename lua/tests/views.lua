-- Views say what tables say.

return function(T)
  local protojit, test, equal = T.protojit, T.test, T.equal
  local schema = assert(protojit.compile("everything.proto", { sources = require "schemas" }))
  local All = assert(schema:message "all.Everything")

  local full = {
    i32 = -1, i64 = -2LL, u32 = 4294967295, u64 = 4ULL, s32 = -5, s64 = -6LL, f32 = 7, f64 = 8ULL, sf32 = -9, sf64 = -10LL, f = 0.5, d = 1.5,
    b = true, s = "text", y = "\255", color = "BLUE", inner = { note = "in", inner = { level = 3 } },
    li32 = { 1, 2, 3 }, li64 = { 1LL, 2LL }, lb = { true, false }, ls = { "a", "b" }, ld = { 0.5 }, lcolor = { "GREEN" },
    linner = { { note = "x" }, { level = 4 } }, ms = { k = 1 }, mu64 = { [3] = { note = "v" } }, mi32 = { [-1] = "x" }, oi32 = 0, pick_s = "picked",
    ["end"] = 9,
  }
  local bytes = assert(All:encode(full))

  -- A view's field as a table.
  local function plain(value)
    if protojit.is_view(value) then return protojit.totable(value) end
    if type(value) == "table" and value.totable then return value:totable() end
    return value
  end

  test("every field", function()
    local v = assert(All:view(bytes))
    for _, field in ipairs(All.layouts[1].fields) do
      local name = field.name
      if field.cell >= 5 and full[name] == nil then
        equal(plain(v[name]), {}, name)
      else
        equal(plain(v[name]), full[name], name)
      end
      equal(All:has(v, name), full[name] ~= nil, name)
    end
    equal(protojit.totable(v), full)
    equal({ v.inner.inner.level, v.linner[2].level, v.linner:len(), v.linner[3], v.linner[0], v.li32[3] }, { 3, 4, 2, nil, nil, 3 })
    local found = {}
    for i, text in v.ls:each() do found[i] = text end
    equal(found, { "a", "b" })
    equal({ All:which(v, "pick"), protojit.which(v, "pick"), protojit.has(v.inner, "level") }, { "pick_s", "pick_s", false })
    assert(not pcall(function() return v.typo end) and not pcall(function() v.i32 = 5 end) and not pcall(protojit.which, v, "typo"))
  end)

  test("defaults", function()
    local With = assert(schema:message("all.Everything", { defaults = true }))
    local v = assert(With:view "")
    equal({ v.i32, v.u64, v.s, v.b, v.color, v.oi32, v.inner }, { 0, 0ULL, "", false, "RED", 0 })
    equal(assert(All:view "").i32, nil)
    equal({ With:has(v, "i32"), v.ls:len() }, { false, 0 })
  end)

  test("clear, then encode", function()
    local v = assert(All:view(bytes))
    local left = assert(All:decode(bytes))
    for _, name in ipairs { "i32", "i64", "b", "s", "color", "inner", "ls", "ms", "oi32", "pick_s", "linner", "d", "y" } do
      All:clear(v, name)
      left[name] = nil
      equal(All:has(v, name), false, name)
      equal(All:decode((All:encode(v))), left, name)
    end
    protojit.clear(v, "i32") -- Once more is nothing.
    local deep = assert(All:view(bytes))
    protojit.clear(deep.inner.inner, "level")
    equal(protojit.totable(deep).inner, { note = "in", inner = {} })
  end)

  test("views stand for tables", function()
    local v = assert(All:view(bytes))
    equal(All:decode((All:encode { linner = { v.linner[1], { note = "own" }, v.inner } })).linner,
      { { note = "x" }, { note = "own" }, { note = "in", inner = { level = 3 } } })
    equal(All:to_json(v), All:to_json(full) and All:to_json(v))
    equal(All:from_json((All:to_json(v))), full)
  end)

  test("unknown fields", function()
    equal(protojit.unknown(assert(All:view "\xf8\x3f\x05\8\1\xf8\x3f\x06")), "\xf8\x3f\x05\xf8\x3f\x06")
    equal(protojit.unknown(assert(All:view "\8\1")), "")
  end)

  test("a view whose memory is gone says so", function()
    local first = assert(All:view(bytes))
    local inner, list = first.inner, first.ls
    assert(All:view "\8\7")
    for _, read in ipairs {
      function() return first.i32 end, function() return inner.note end, function() return list[1] end, function() return list:totable() end,
      function() return protojit.has(first, "i32") end, function() return protojit.totable(inner) end, function() return All:encode(first) end,
      function() return protojit.clear(first, "i32") end, function() return protojit.unknown(first) end,
    } do
      local ok, why = pcall(read)
      assert(not ok and tostring(why):find "is gone", tostring(why))
    end
  end)

  test("views side by side in an arena", function()
    local arena = assert(protojit.arena())
    local views = {}
    for i = 1, 100 do views[i] = assert(All:view(assert(All:encode { i32 = i, s = ("s"):rep(i) }), arena)) end
    collectgarbage()
    for i = 1, 100 do equal({ views[i].i32, views[i].s }, { i, ("s"):rep(i) }) end
    arena:reset()
    assert(not pcall(function() return views[1].i32 end))
    equal(assert(All:view("\8\5", arena)).i32, 5)
  end)

  test("the input is kept while a view needs it", function()
    local arena = assert(protojit.arena())
    local big = assert(All:view(assert(All:encode { ls = { ("x"):rep(5000), ("y"):rep(5000) } }), arena)).ls
    for _ = 1, 20 do
      collectgarbage()
      local _ = ("z"):rep(10000) .. os.clock()
    end
    equal({ big[1], big[2] }, { ("x"):rep(5000), ("y"):rep(5000) })
  end)
end
