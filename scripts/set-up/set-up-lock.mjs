import { mkdirSync, rmdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const TOUCH_EVERY_MS = 1_000;
/** A holder that was killed can't let go; one that lives has touched its lock long before this. */
const STALE_AFTER_MS = 10_000;
const LOOK_AGAIN_MS = 200;

/**
 * Lets one set-up at a time work in a clone; others wait. The lock is a folder, since making one either succeeds or finds it there.
 *
 * @param {string} root
 * @param {() => Promise<void>} work must not block the event loop for seconds: that is when the lock is touched
 */
export async function withSetUpLock(root, work) {
  const lock = join(root, ".set-up-lock");
  if (!take(lock)) {
    console.error("Waiting for another set-up of this folder…");
    while (!take(lock)) {
      dropStale(lock);
      await delay(LOOK_AGAIN_MS);
    }
  }
  const touch = setInterval(() => utimesSync(lock, new Date(), new Date()), TOUCH_EVERY_MS);
  try {
    await work();
  } finally {
    clearInterval(touch);
    rmdirSync(lock);
  }
}

/** @param {string} lock */
function take(lock) {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST") return false;
    throw error;
  }
}

/** @param {string} lock */
function dropStale(lock) {
  const stat = statSync(lock, { throwIfNoEntry: false });
  if (stat !== undefined && Date.now() - stat.mtimeMs > STALE_AFTER_MS) rmdirSync(lock);
}
