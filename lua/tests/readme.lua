-- The examples of lua/README.md run, in their order.

return function(T)
  T.test("README", function()
    local readme, count = T.read "lua/README.md", 0
    local all = {}
    for block in readme:gmatch "```lua\n(.-)```" do
      -- Each sees the locals of those before it.
      all[#all + 1] = block
      count = count + 1
    end
    assert(count >= 7, count)
    local source = table.concat(all):gsub('"examples/', '"' .. T.root .. "/examples/"):gsub('"lua/', '"' .. T.root .. "/lua/")
    local printed = {}
    local names = setmetatable({
      print = function(...) printed[#printed + 1] = table.concat({ ... }, " ", 1, 2) end,
      io = { read = function() return T.read "examples/payloads/person_1k.binpb" end },
    }, { __index = _G })
    assert(setfenv(assert(loadstring(source, "=README")), names))()
    T.equal(printed[1], "Chloé Hopper Bergen")
    T.equal(#printed >= 3, true)
  end)
end
