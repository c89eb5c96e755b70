/**
 * `RedisCounters.take` as one script, so that a request's checks are one round trip and nothing comes between them. It does what `MemoryCounters` does; time is Redis's own,
 * since the nodes' clocks differ; a test may name another. What rounding adds to a time, here and to the three decimals that are stored, is a millionth of a window at most.
 *
 * KEYS: one per check. ARGV: the time in ms or nothing, then four per check: `rate`, limit, window in ms, cost; or `lease`, limit, time to live in ms, member.
 * Answers the number of the first refused check (0: none), and for each check what remains, after how many ms all is back, and after
 * how many ms the check would be granted (-1: never).
 */
export const TAKE_SCRIPT = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
local refused = 0
local tats = {}

for i, key in ipairs(KEYS) do
  local at = (i - 1) * 4 + 1
  local limit, span = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local granted
  if ARGV[at + 1] == 'rate' then
    local stored, most = tonumber(redis.call('GET', key) or now), now + 2 * span
    tats[i] = math.min(math.max(stored, now), most)
    if stored > most then redis.call('SET', key, string.format('%.3f', most), 'PX', math.ceil(2 * span)) end
    granted = tats[i] + ARGV[at + 4] * span / limit - now <= span * (1 + 1e-6)
  else
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    granted = redis.call('ZSCORE', key, ARGV[at + 4]) or redis.call('ZCARD', key) < limit
  end
  if not granted and refused == 0 then refused = i end
end

local answer = { refused }
for i, key in ipairs(KEYS) do
  local at = (i - 1) * 4 + 1
  local limit, span = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  if ARGV[at + 1] == 'rate' then
    local cost, wait = tonumber(ARGV[at + 4]), 0
    if refused == 0 then
      tats[i] = tats[i] + cost * span / limit
      redis.call('SET', key, string.format('%.3f', tats[i]), 'PX', math.max(1, math.ceil(tats[i] - now)))
    elseif cost > limit then
      wait = -1
    else
      wait = math.max(0, math.ceil(tats[i] + cost * span / limit - now - span))
    end
    local reset = tats[i] - now
    table.insert(answer, math.max(0, math.floor((span - reset) * limit / span + 1e-6)))
    table.insert(answer, math.ceil(reset))
    table.insert(answer, wait)
  else
    if refused == 0 then
      redis.call('ZADD', key, now + span, ARGV[at + 4])
      redis.call('PEXPIRE', key, math.max(span, redis.call('PTTL', key)))
    end
    table.insert(answer, math.max(0, limit - redis.call('ZCARD', key)))
    table.insert(answer, 0)
    table.insert(answer, 0)
  end
end
return answer
`;

/** KEYS: one. ARGV: the time in ms or nothing, limit, window in ms, units. */
export const SETTLE_SCRIPT = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
local most = now + 2 * ARGV[3]
local tat = math.min(math.max(tonumber(redis.call('GET', KEYS[1]) or now), now), most)
tat = math.min(tat + ARGV[4] * ARGV[3] / ARGV[2], most)
if tat <= now then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], string.format('%.3f', tat), 'PX', math.max(1, math.ceil(tat - now)))
end
return 0
`;
