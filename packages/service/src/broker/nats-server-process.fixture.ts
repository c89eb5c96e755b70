import { startNatsServer } from "./nats-server-process.ts";

/*
 * A platform in small, for the test beside it: starts a server, says where on one line, and then only waits.
 * On SIGINT it says "draining" and goes on, as a platform does that has readers to send home first.
 */
const [binary, storeDir] = process.argv.slice(2);
const { port, pid } = await startNatsServer({ binary: binary!, storeDir: storeDir! });
process.on("SIGINT", () => console.log("draining"));
console.log(JSON.stringify({ port, pid }));
