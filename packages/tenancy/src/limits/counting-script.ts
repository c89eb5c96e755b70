import { MAX_WINDOWS, MAX_WINDOWS_OF_OTHER_CLOCK } from "./gcra.ts";

/**
 * Beginning of both scripts: the time, and the stored form of a rate, its theoretical arrival time and when that was written. They do the same as `gcra.ts`.
 * Rates that an earlier version has stored have only the first of the two.
 */
const RATES = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end

local function write(key, tat)
  redis.call('SET', key, string.format('%.3f %.3f', tat, now), 'PX', math.max(1, math.ceil(tat - now)))
end

local function read(key, span)
  local tat, written = string.match(redis.call('GET', key) or '', '^(%S+) ?(%S*)$')
  tat, written = tonumber(tat or now), tonumber(written) or now
  local most = now + (written > now + span and ${MAX_WINDOWS_OF_OTHER_CLOCK} or ${MAX_WINDOWS}) * span
  if tat > most then write(key, most) end
  return math.min(math.max(tat, now), most)
end
`;

/**
 * `RedisCounters.take` as one script, so that a request's checks are one round trip and nothing comes between them. It does what `MemoryCounters` does; time is Redis's own,
 * since the nodes' clocks differ; a test may name another. What rounding adds to a time, here and to the three decimals that are stored, is a millionth of a window at most.
 *
 * KEYS: one per check. ARGV: the time in ms or nothing, then four per check: `rate`, limit, window in ms, cost; or `lease`, limit, time to live in ms, member.
 * Answers the number of the first refused check (0: none), and for each check what remains, after how many ms all is back, and after
 * how many ms the check would be granted (-1: never).
 */
export const TAKE_SCRIPT = `${RATES}
local refused = 0
local tats = {}

for i, key in ipairs(KEYS) do
  local at = (i - 1) * 4 + 1
  local limit, span = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local granted
  if ARGV[at + 1] == 'rate' then
    tats[i] = read(key, span)
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
      write(key, tats[i])
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
export const SETTLE_SCRIPT = `${RATES}
local span = tonumber(ARGV[3])
local tat = math.min(read(KEYS[1], span) + ARGV[4] * span / ARGV[2], now + ${MAX_WINDOWS} * span)
if tat <= now then
  redis.call('DEL', KEYS[1])
else
  write(KEYS[1], tat)
end
return 0
`;
