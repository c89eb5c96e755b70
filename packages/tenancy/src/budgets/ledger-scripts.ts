import { ACCOUNT_GRACE_MS, ENTRY_TTL_MS, GRANT_TTL_MS } from "./budget-ledger.ts";

/*
 * `RedisLedger`'s calls as scripts, so that each is one round trip and atomic. They do the same as `MemoryLedger`. Time is Redis's own, since the processes'
 * clocks differ; a test may set another.
 *
 * An account is two keys: a hash, and a sorted set of its generations by the time at which their grant expires or, with `past:` before the name, at which they
 * are forgotten. The hash has `used`, `held`, `live` (number of generations that hold a grant), `epoch`, `restored` (below), and for each generation `g:<id>`:
 * `<used> <granted>`, followed by `settled` for one that has ended.
 *
 * A Redis that has lost its data has no epoch, or another one. Each process reports the use that it has seen of the account, and the account continues from
 * the highest report, `restored`.
 */

/**
 * Beginning of all scripts. ARGV: the time in ms or nothing, an epoch for an account that has none, the generation; then the arguments that `COMMON` reads for
 * each account from `at` on.
 */
const COMMON = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local generation = ARGV[3]

local function number(key, field) return tonumber(redis.call('HGET', key, field) or '0') end

local function entryOf(key, id)
  local used, granted, settled = string.match(redis.call('HGET', key, 'g:' .. id) or '', '^(%d+) (%d+) ?(%a*)$')
  return tonumber(used or '0'), tonumber(granted or '0'), settled == 'settled', used ~= nil
end

-- Takes a generation out of those that are live or past: what it has used, which stays in the account.
local function takeOut(key, set, id)
  local used, granted = entryOf(key, id)
  if redis.call('ZREM', set, id) == 1 then
    redis.call('HINCRBY', key, 'held', used - granted)
    redis.call('HINCRBY', key, 'live', -1)
  else
    redis.call('ZREM', set, 'past:' .. id)
  end
  return used
end

local function keepPast(key, set, id, used, settled)
  redis.call('HSET', key, 'g:' .. id, string.format('%.0f %.0f%s', used, used, settled and ' settled' or ''))
  redis.call('ZADD', set, now + ${ENTRY_TTL_MS}, 'past:' .. id)
end

-- Gives back the grants that have expired, and takes in what the caller has seen of an account that was lost.
local function open(key, set, epoch, seen, reported)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, 100)) do
    local past = string.match(id, '^past:(.*)$')
    if past then
      redis.call('ZREM', set, id)
      redis.call('HDEL', key, 'g:' .. past)
    else
      keepPast(key, set, id, takeOut(key, set, id), false)
    end
  end
  redis.call('HSETNX', key, 'epoch', ARGV[2])
  if epoch ~= '' and redis.call('HGET', key, 'epoch') ~= epoch then
    local more = seen - number(key, 'restored')
    if more > 0 then
      redis.call('HINCRBY', key, 'restored', more)
      redis.call('HINCRBY', key, 'used', more)
    end
  end
  -- Also with the epoch of now, which an earlier call for another generation may have told: what was reported is in the use that this has restored.
  local _, _, _, known = entryOf(key, generation)
  if not known and reported > 0 then keepPast(key, set, generation, reported, false) end
end

-- After all that a call writes: a set that loses its last member is gone, and is without an end when it is there again.
local function close(key, set, ends)
  if ends == '' then return end
  redis.call('PEXPIREAT', key, ends + ${ACCOUNT_GRACE_MS})
  redis.call('PEXPIREAT', set, ends + ${ACCOUNT_GRACE_MS})
end

local function left(key, limit) return math.max(0, limit - number(key, 'used') - number(key, 'held')) end

local function standing(key)
  return redis.call('HGET', key, 'epoch'), string.format('%.0f', number(key, 'used'))
end

local function claim(key, set, limit, said, want, need, least)
  local _, promised, settled = entryOf(key, generation)
  if settled then return said end
  local isLive = redis.call('ZSCORE', set, generation)
  local before = takeOut(key, set, generation)
  local used = math.max(before, said)
  redis.call('HINCRBY', key, 'used', used - before)
  local remaining = left(key, limit)
  local fair = math.max(least, need, math.floor(remaining / (number(key, 'live') + 1)))
  local granted = used + math.min(want, fair, remaining)
  -- While it asks, the generation continues with what it was granted before.
  if isLive and want > 0 then granted = math.max(granted, promised) end
  redis.call('HSET', key, 'g:' .. generation, string.format('%.0f %.0f', used, granted))
  redis.call('ZADD', set, now + ${GRANT_TTL_MS}, generation)
  redis.call('HINCRBY', key, 'held', granted - used)
  redis.call('HINCRBY', key, 'live', 1)
  return granted
end
`;

/** Fields of an account in ARGV: when its period ends in ms or nothing, the epoch, the use and the generation's use that the caller has seen, limit, use, want, need, the least slice. */
const FIELDS = `
local function fieldsOf(i)
  local at = 3 + (i - 1) * 9
  return ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]),
    tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7]), tonumber(ARGV[at + 8]),
    tonumber(ARGV[at + 9])
end
for i = 1, #KEYS / 2 do
  local _, epoch, seen, reported = fieldsOf(i)
  open(KEYS[2 * i - 1], KEYS[2 * i], epoch, seen, reported)
end
`;

/**
 * KEYS: two for each account. Answers the number of the first account that was refused (0: none; those without a need never are), and for each account its epoch, its use, what is
 * granted and what remains.
 */
export const CLAIM_SCRIPT = `${COMMON}${FIELDS}
local refused = 0
for i = 1, #KEYS / 2 do
  local key, set = KEYS[2 * i - 1], KEYS[2 * i]
  local _, _, _, _, limit, _, _, need = fieldsOf(i)
  local own = 0
  if redis.call('ZSCORE', set, generation) then
    local used, granted = entryOf(key, generation)
    own = granted - used
  end
  if refused == 0 and need > 0 and limit - number(key, 'used') - number(key, 'held') + own < need then refused = i end
end
local answer = { refused }
for i = 1, #KEYS / 2 do
  local key, set = KEYS[2 * i - 1], KEYS[2 * i]
  local ends, _, _, _, limit, said, want, need, least = fieldsOf(i)
  local granted = said
  if refused == 0 then granted = claim(key, set, limit, said, want, need, least) end
  close(key, set, ends)
  local epoch, used = standing(key)
  for _, value in ipairs({ epoch, used, string.format('%.0f', granted), string.format('%.0f', left(key, limit)) }) do
    table.insert(answer, value)
  end
end
return answer
`;

/**
 * Same arguments as `CLAIM_SCRIPT`; the use is that of all generations that have ended. The added use counts as restored, so that a process that saw the
 * account before it was lost does not add it again. Returns the used amount of each account, before and after.
 */
export const SEED_SCRIPT = `${COMMON}${FIELDS}
local answer = {}
for i = 1, #KEYS / 2 do
  local key, set = KEYS[2 * i - 1], KEYS[2 * i]
  local ends, _, _, _, _, due = fieldsOf(i)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', now + ${GRANT_TTL_MS})) do
    if not string.match(id, '^past:') then due = due + entryOf(key, id) end
  end
  local before = number(key, 'used')
  if due > before then
    redis.call('HINCRBY', key, 'used', due - before)
    redis.call('HINCRBY', key, 'restored', due - before)
  end
  close(key, set, ends)
  table.insert(answer, string.format('%.0f', before))
  table.insert(answer, string.format('%.0f', number(key, 'used')))
end
return answer
`;

/** Same arguments as `CLAIM_SCRIPT`; limit, want, need and the least slice are not read. Returns each account's epoch and use. */
export const SETTLE_SCRIPT = `${COMMON}${FIELDS}
local answer = {}
for i = 1, #KEYS / 2 do
  local key, set = KEYS[2 * i - 1], KEYS[2 * i]
  local ends, _, _, _, _, said = fieldsOf(i)
  redis.call('HINCRBY', key, 'used', said - takeOut(key, set, generation))
  keepPast(key, set, generation, said, true)
  close(key, set, ends)
  local epoch, used = standing(key)
  table.insert(answer, epoch)
  table.insert(answer, used)
end
return answer
`;
