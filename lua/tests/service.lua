-- The service example does what lua/README.md says of it.

return function(T)
  local test, equal = T.test, T.equal
  package.path = T.here .. "/examples/?.lua;" .. package.path

  test("the service", function()
    local Service = require "service"
    local service = Service.new { idle = 2 }
    local function set(fields) return ('syntax = "proto3"; package shop; message Order { %s }'):format(fields) end
    local one = assert(service:add_proto("orders", set "string id = 1; int32 count = 2;", "shop.Order"))
    local two = assert(service:add_proto("orders", set "string id = 1; int32 count = 2; string note = 3;", "shop.Order"))
    assert(one ~= two)
    local old = assert(service:encode(one, { id = "a", count = 1 }))
    local new = assert(service:encode(two, { id = "b", count = 2, note = "new" }))
    equal(service:decode(old), { id = "a", count = 1 })
    equal(service:decode(new), { id = "b", count = 2, note = "new" })
    equal(service:latest "orders", two)
    equal(select(2, service:decode "\0\0\0\0\99x").kind, "argument")
    equal(select(2, service:decode "\0").kind, "argument")
    equal(select(2, service:add_proto("orders", "nonsense", "shop.Order")).kind, "source")
    -- What nobody used for two sweeps, and is not the latest, is freed; what is in use stays.
    service:sweep()
    assert(service:decode(old))
    service:sweep()
    service:sweep()
    equal(service:ids(), { one, two })
    service:sweep()
    equal(service:ids(), { two })
    equal(select(2, service:decode(old)).kind, "argument")
    equal(service:decode(new), { id = "b", count = 2, note = "new" })
    -- Versions come and go while it runs; memory does not grow.
    for i = 1, 300 do
      local id = assert(service:add_proto("orders", set(("string id = 1; int32 f%d = 2;"):format(i)), "shop.Order"))
      equal(service:decode(assert(service:encode(id, { id = "x" }))), { id = "x" })
      service:sweep()
    end
    assert(#service:ids() <= 4, #service:ids())
    collectgarbage()
    collectgarbage()
    local trace = assert(service:trace())
    assert(#trace.programs <= 40, #trace.programs)
  end)
end
