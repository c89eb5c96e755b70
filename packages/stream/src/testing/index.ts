export {
  callAway,
  SHARDS,
  type World,
  completed,
  delta,
  newRef,
  openWorld,
  openWorldBehindProxy,
  openWorldToRollBack,
  requested,
  started,
  writeLog,
} from "./world.ts";
export { createFaultyPublish, FATES } from "./faulty-publish.ts";
export { denseSeqs, readBack } from "./read-back.ts";
export { LOGINS, TOPOLOGY, startWithUsers } from "./start-with-users.ts";
