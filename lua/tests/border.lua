-- How often the border is crossed, and that compiled code runs behind it; that the declarations are those of the header.

return function(T)
  local protojit, test, equal = T.protojit, T.test, T.equal

  local function normal(text)
    text = text:gsub("//[^\n]*", ""):gsub("/%*.-%*/", ""):gsub("\n#[^\n]*", "\n")
    return (text:gsub("%s+", " "):gsub(" ?([%(%){};,%*]) ?", "%1"))
  end

  test("declarations are those of the header", function()
    local header = normal(T.read "capi/include/protojit.h")
    local own = normal(require("protojit.ffi").declarations)
    local count = 0
    for declaration in own:gmatch "[%w_ %*]+%b();" do
      assert(header:find(declaration, 1, true), declaration)
      count = count + 1
    end
    for struct in own:gmatch "typedef struct %w+%b{}%w+;" do
      assert(header:find(struct, 1, true), struct)
      count = count + 1
    end
    assert(count > 30, count)
  end)

  local schema = assert(protojit.load(T.root .. "/examples/hello.proto"))
  local Person = assert(schema:message "hello.Person")
  for _, name in ipairs { "person_10", "person_1k", "person_10k" } do
    test("one call a message: " .. name, function()
      local bytes = T.read(("examples/payloads/%s.binpb"):format(name))
      local t, v = assert(Person:decode(bytes)), assert(Person:view(bytes))
      assert(Person:encode(t)) -- Memory is made.
      equal(T.calls_of(function() t = Person:decode(bytes) end), "pj_decode_in")
      equal(T.calls_of(function() assert(Person:encode(t)) end), "pj_encode_at")
      equal(T.calls_of(function() v = Person:view(bytes) end), "pj_decode_in")
      equal(T.calls_of(function()
        -- All fields of all messages.
        protojit.totable(v)
        local function visit(view, layout)
          for _, field in ipairs(Person.layouts[layout].fields) do
            local value = view[field.name]
            if field.cell == 4 and value then visit(value, field.child) end
            if field.cell == 5 then
              for _, element in value:each() do
                if field.child then visit(element, field.child) end
              end
            end
          end
        end
        visit(v, 1)
        protojit.has(v, "age")
        protojit.clear(v, "age")
      end), "")
      equal(T.calls_of(function() assert(Person:encode(v)) end), "pj_encode_at")
      equal(T.calls_of(function() assert(Person:to_json(v)) end), "pj_to_json_at")
      local json = Person:to_json(t)
      equal(T.calls_of(function() assert(Person:from_json(json)) end), "pj_from_json_in")
    end)
  end

  test("compiled calls are all calls", function()
    local runtime = assert(protojit.runtime { engine = "jit" })
    local own = assert(runtime:load(T.root .. "/examples/hello.proto"))
    local type = assert(own:message "hello.Person")
    local bytes = T.read "examples/payloads/person_1k.binpb"
    local t
    for _ = 1, 250 do t = assert(type:decode(bytes)) end
    for _ = 1, 250 do assert(type:view(bytes)) end
    for _ = 1, 300 do assert(type:encode(t)) end
    local trace, seen = assert(runtime:trace()), {}
    for _, program in ipairs(trace.programs) do
      equal({ program.engine, program.reason }, { "jit" }, program.message)
      equal({ program.interpreted_calls, program.finished_bytes, program.disagreements }, { 0, 0, 0 }, program.message)
      if program.message == "hello.Person" then seen[program.direction] = program.compiled_calls end
    end
    equal(seen, { decode = 500, encode = 300 })
    local interp = assert(protojit.runtime { engine = "interp" })
    local slow = assert(assert(interp:load(T.root .. "/examples/hello.proto")):message "hello.Person")
    equal(slow:decode(bytes), t)
    slow:decode "\8" -- An error is a call, too.
    local rows = assert(interp:trace()).programs
    equal({ rows[1].engine, rows[1].compiled_calls, rows[1].interpreted_calls }, { "interp", 0, 2 })
    assert(assert(runtime:trace_json()):find '"programs"')
    assert(not pcall(protojit.runtime, { engine = "magic" }))
  end)

  test("what is freed is gone", function()
    local own = assert(protojit.load(T.root .. "/examples/hello.proto"))
    local type = assert(own:message "hello.Person")
    own:close()
    local v = assert(type:view "\16\5") -- A type outlives its schema.
    equal(v.age, 5)
    type:close()
    assert(not pcall(function() return v.age end))
    local t, why = type:decode ""
    equal({ t, why.kind }, { nil, "argument" })
    -- A view in an arena of the caller's outlives its type, but nothing new is learnt of it.
    local arena = assert(protojit.arena())
    local other = assert(assert(protojit.load(T.root .. "/examples/hello.proto")):message "hello.Person")
    local kept = assert(other:view("\16\5\42\2\24\7", arena))
    equal(kept.age, 5)
    other:close()
    equal(kept.age, 5)
    local ok, told = pcall(function() return kept.address.zip end)
    assert(not ok and tostring(told):find "closed", told)
    assert(not pcall(protojit.has, {}, "age") and not pcall(protojit.unknown, 5) and not pcall(protojit.totable, nil))
  end)
end
