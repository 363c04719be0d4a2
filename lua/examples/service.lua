-- A small service with dynamic schemas: it keeps message types by id, takes new versions while it runs, goes on decoding old ones, and frees
-- what nobody uses any more. Records are framed as schema registries do: a zero byte, the id in four bytes, the message.
--
--   local service = require("service").new()
--   local id = assert(service:add_proto("orders", text, "shop.Order"))
--   local record = assert(service:encode(id, { id = "a", count = 1 }))
--   local order = assert(service:decode(record))

local protojit = require "protojit"

local Service = {}
Service.__index = Service

-- `idle`: after so many sweeps without use a version that is not the latest of its subject is freed. `runtime`: a runtime of protojit's.
function Service.new(options)
  options = options or {}
  return setmetatable({
    runtime = options.runtime or assert(protojit.runtime()), idle = options.idle or 10, next_id = 1, clock = 0, versions = {}, latest_ids = {},
  }, Service)
end

local function add(self, subject, schema, why, message)
  if not schema then return nil, why end
  local type
  type, why = schema:message(message)
  -- The type keeps what it needs of its schema.
  schema:close()
  if not type then return nil, why end
  local id = self.next_id
  self.next_id = id + 1
  self.versions[id] = { type = type, subject = subject, used = self.clock }
  self.latest_ids[subject] = id
  return id
end

-- A new version of a subject: a serialized FileDescriptorSet, and the name of the record's message. Gives its id.
function Service:add(subject, set, message)
  local schema, why = self.runtime:register(set)
  return add(self, subject, schema, why, message)
end

-- The same from the text of a `.proto` file.
function Service:add_proto(subject, text, message)
  local name = subject .. ".proto"
  local schema, why = self.runtime:compile(name, { sources = { [name] = text } })
  return add(self, subject, schema, why, message)
end

-- The id of a subject's latest version.
function Service:latest(subject) return self.latest_ids[subject] end

-- The ids that can be decoded, ascending.
function Service:ids()
  local ids = {}
  for id in pairs(self.versions) do ids[#ids + 1] = id end
  table.sort(ids)
  return ids
end

local function failure(text) return { kind = "argument", text = text, path = "" } end

local function use(self, id)
  local version = self.versions[id]
  if not version then return nil, failure(("there is no schema %d"):format(id)) end
  version.used = self.clock
  return version.type
end

-- A record of the message, for decode.
function Service:encode(id, message)
  local type, why = use(self, id)
  if not type then return nil, why end
  local bytes
  bytes, why = type:encode(message)
  if not bytes then return nil, why end
  local a, b, c = bit.rshift(id, 24), bit.band(bit.rshift(id, 16), 255), bit.band(bit.rshift(id, 8), 255)
  return string.char(0, a, b, c, bit.band(id, 255)) .. bytes
end

-- The message of a record, by whatever version it was written.
function Service:decode(record)
  local zero, a, b, c, d = record:byte(1, 5)
  if zero ~= 0 or not d then return nil, failure "the record has no schema id" end
  local type, why = use(self, a * 16777216 + b * 65536 + c * 256 + d)
  if not type then return nil, why end
  return type:decode(record:sub(6))
end

-- To be called now and then: frees the versions that were not used for `idle` sweeps, the latest of each subject kept.
function Service:sweep()
  self.clock = self.clock + 1
  for id, version in pairs(self.versions) do
    if self.latest_ids[version.subject] ~= id and self.clock - version.used > self.idle then
      version.type:close()
      self.versions[id] = nil
    end
  end
end

-- What is compiled, and how often it ran.
function Service:trace() return self.runtime:trace() end

return Service
