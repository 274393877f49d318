//! What runs inside Redis. `KEYS` are rows, names and leases; nothing comes between two lines of one script.

/// Looks, and writes if all is well. Numbers are compared as the texts that this store itself has written.
pub(super) const COMMIT: &str = r"
local at = 3
if ARGV[1] ~= '' then
  local lease = redis.call('HMGET', KEYS[3], ARGV[1] .. '/epoch', ARGV[1] .. '/until')
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  if lease[1] ~= ARGV[2] or tonumber(lease[2] or '0') <= now then return {'stale'} end
end
local function take()
  at = at + 1
  return ARGV[at - 1]
end
for _ = 1, tonumber(take()) do
  local kind, key, value = take(), take(), take()
  local row = redis.call('HGET', KEYS[1], key)
  if kind == 'A' and row or kind == 'I' and row ~= value then return {'conflict', key} end
end
while at <= #ARGV do
  local kind, key, value = take(), take(), take()
  if kind == 'P' then
    redis.call('HSET', KEYS[1], key, value)
    redis.call('ZADD', KEYS[2], 0, key)
  else
    redis.call('HDEL', KEYS[1], key)
    redis.call('ZREM', KEYS[2], key)
  end
end
return {'committed'}
";

/// Reads names in order, and their rows.
pub(super) const SCAN: &str = r"
local keys = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, tonumber(ARGV[3]))
if #keys == 0 then return {} end
local rows = redis.call('HMGET', KEYS[1], unpack(keys))
local answer = {}
for i = 1, #keys do
  answer[2 * i - 1] = keys[i]
  answer[2 * i] = rows[i] or ''
end
return answer
";

/// Takes, renews or gives back a lease, by the server's clock.
pub(super) const LEASE: &str = r"
local name = ARGV[2]
local lease = redis.call('HMGET', KEYS[3], name .. '/epoch', name .. '/until', name .. '/holder')
local epoch, till, holder = lease[1] or '0', tonumber(lease[2] or '0'), lease[3] or ''
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local later = string.format('%.0f', now + tonumber(ARGV[4]))
if ARGV[1] == 'acquire' then
  if till > now and ARGV[5] ~= 'force' then return {'held', holder, string.format('%.0f', till)} end
  local risen = string.format('%.0f', tonumber(epoch) + 1)
  redis.call('HSET', KEYS[3], name .. '/epoch', risen, name .. '/until', later, name .. '/holder', ARGV[3])
  return {'taken', risen, later}
end
if epoch ~= ARGV[3] or till <= now then return {'lost'} end
if ARGV[1] == 'renew' then
  redis.call('HSET', KEYS[3], name .. '/until', later)
else
  redis.call('HSET', KEYS[3], name .. '/until', '0')
end
return {'kept'}
";
