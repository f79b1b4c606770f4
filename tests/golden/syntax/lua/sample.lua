--- A small event bus with weak listeners.
local json = require("dkjson")
local class = require "middleclass"
local insert = require('table.new').insert
local log <const> = require("bus.log")
require "bus.compat"

local M = { _VERSION = "0.3", strict = true }
local Queue = {}
Queue.__index = Queue

local MAX_DEPTH, MIN_DEPTH = 32, 1
local pending
DEBUG = false
M.levels = {
  info = 1,
  ["warn"] = 2,
  name = function(level) return tostring(level) end,
}

--- Makes a queue.
-- @param size how many events it holds
function Queue.new(size)
  local self = setmetatable({}, Queue)
  self.size = size or MAX_DEPTH
  self.push = function(event) insert(self, event) end
  return self
end

--- Takes the oldest event, or nil.
function Queue:pop()
  return table.remove(self, 1)
end

local function matches(pattern, name)
  return name:match("^" .. pattern .. "$") ~= nil
end

--[[
Listens to a pattern.
Returns a function that stops listening.
]]
function M.on(
  pattern, -- with %w and friends
  listener
)
  local entry = { pattern = pattern, listener = listener }
  insert(M.listeners, entry)
  local function stop()
    M.off(entry)
  end
  return stop
end

M.off = function(entry)
  for i, known in ipairs(M.listeners) do
    if known == entry then table.remove(M.listeners, i) end
  end
end

function M:emit(name, ...)
  for _, entry in ipairs(self.listeners) do
    if matches(entry.pattern, name) then
      local ok, problem = pcall(entry.listener, ...)
      if not ok then log.warn(json.encode({ name = name, problem = problem })) end
    end
  end
end

function M.levels.parse(text)
  return M.levels[text:lower()]
end

local once = function(listener)
  local done = false
  return function(...)
    if not done then done = true; listener(...) end
  end
end

function describe_bus()
  return ("bus %s"):format(M._VERSION)
end

M.Queue, M.once = Queue, once
M.listeners = {}

return M
